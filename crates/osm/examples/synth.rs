//! Writes a synthetic extract and says how fast and in how much memory: `synth SCALE SEED THREADS FILE`.

use std::fs::File;
use std::io::BufWriter;
use std::time::Instant;

#[expect(clippy::print_stdout, reason = "an example has nothing else to do")]
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, scale, seed, threads, file] = &args[..] else { panic!("synth SCALE SEED THREADS FILE") };
    let options = osm::synth::Options {
        scale: scale.parse().expect("a scale"),
        seed: seed.parse().expect("a number"),
        threads: threads.parse().expect("at least one thread"),
    };
    let mut out = BufWriter::with_capacity(1 << 20, File::create(file).expect("a file to write"));
    let start = Instant::now();
    let made = osm::synth::write(&options, &mut out, &mut |_| (), &|| false).expect("a whole extract");
    let seconds = start.elapsed().as_secs_f64();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    println!(
        "{made:?}\n{seconds:.2} s, {:.0} nodes/s, peak memory {}",
        made.nodes as f64 / seconds,
        peak.trim()
    );
}
