//! What many scripts cost: memory of a run, and the time around a run of one transaction compared with the drop-in's.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context;

use crate::child::Ran;
use crate::served::{PrivateServer, Way};
use crate::slices::table::title;
use crate::{Args, child, pairs};

const SCRIPTS: [usize; 4] = [1, 128, 500, 1_000];
const THREADS: [u32; 2] = [1, 2];
const CLIENTS: u32 = 8;
const SCALE: u32 = 2;

/// Rows of memory by the number of scripts, then the times of `-t 1`.
///
/// # Errors
/// The program or its server fails.
pub(crate) fn tables(options: &Args) -> anyhow::Result<()> {
    println!("{}", title("Many scripts"));
    let bench = Bench::start(options)?;
    println!(
        "| scripts | threads | memory | more for each script | time after the run's own |\n| ---: | ---: | ---: | ---: | ---: |"
    );
    for threads in THREADS {
        let mut alone = None;
        for scripts in SCRIPTS {
            pairs::wait_until_quiet(options.patience());
            let ran = bench.run(
                "bench",
                scripts,
                &["-j", &threads.to_string(), "-T", &options.seconds.to_string()],
            )?;
            let first = *alone.get_or_insert(ran.peak_bytes);
            let each = ran.peak_bytes.saturating_sub(first) as f64 / (scripts as f64 - 1.0) / 1e3;
            let each = if scripts > 1 { format!("{each:.0} kB") } else { String::new() };
            let after_s = ran.wall_s - f64::from(options.seconds);
            let memory = ran.peak_bytes as f64 / 1e6;
            println!("| {scripts} | {threads} | {memory:.0} MB | {each} | {after_s:.2} s |");
        }
    }
    let mut times: [Vec<f64>; 2] = Default::default();
    for _ in 0..options.pairs() {
        pairs::wait_until_quiet(options.patience());
        for (times, command) in times.iter_mut().zip(["bench", "pgbench"]) {
            times.push(bench.run(command, 1, &["-t", "1"])?.wall_s);
        }
    }
    let [ours, theirs] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    let pairs = options.pairs();
    println!(
        "\n`bench -t 1` took {ours:.3} s from start to end, the drop-in {theirs:.3} s (medians of {pairs} pairs, one script)."
    );
    Ok(())
}

struct Bench {
    server: PrivateServer,
    program: PathBuf,
    folder: tempfile::TempDir,
}

impl Bench {
    fn start(options: &Args) -> anyhow::Result<Self> {
        let program = options.pgdyno.canonicalize().context("build it first: cargo build --release")?;
        let server = PrivateServer::start(options, Way::Socket, SCALE, CLIENTS)?;
        let folder = tempfile::Builder::new().prefix("pgdyno-benches").tempdir()?;
        for script in 1..=SCRIPTS.into_iter().max().unwrap_or_default() {
            let text = format!(
                "\\set a random(1, 100000 * {SCALE})\nSELECT abalance + {script} FROM pgbench_accounts WHERE aid = :a;\n"
            );
            std::fs::write(folder.path().join(format!("{script}.sql")), text)?;
        }
        Ok(Self { server, program, folder })
    }

    fn run(&self, command: &str, scripts: usize, more: &[&str]) -> anyhow::Result<Ran> {
        let mut words: Vec<OsString> = [command, "-n", "-c", &CLIENTS.to_string()].map(Into::into).into();
        for script in 1..=scripts {
            words.extend(["-f".into(), self.folder.path().join(format!("{script}.sql")).into()]);
        }
        words.extend(more.iter().map(Into::into));
        if command == "bench" {
            words.extend(["--results".into(), self.folder.path().join("results.sqlite").into()]);
        }
        words.push(self.server.dsn()?.into());
        let env = [("PGDYNO_HOME".to_owned(), self.folder.path().join("home").display().to_string())];
        child::run_until(&self.program, &words, &env, 0..=3)
    }
}
