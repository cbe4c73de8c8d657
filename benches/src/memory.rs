//! Memory per client: the most a process ever had with 5,000 clients and with 50, against a server that answers at once.

use std::ffi::OsString;

use crate::pairs::{Sample, rounds};
use crate::printed::tps;
use crate::sink::Sink;
use crate::{Args, Missing, What, child, limits, page};

const FEW: u32 = 50;
const MANY: u32 = 5000;
/// What a client may take, KiB.
const AIM_KIB: f64 = 64.0;

/// The table.
///
/// # Errors
/// [`Missing`] when so many files cannot be open, or we are too large ourselves to tell; else when a run fails.
pub(crate) fn per_client(options: &Args) -> anyhow::Result<()> {
    let more = format!(" --minutes {}", options.minutes);
    println!("{}", page::title(options, What::Memory, "Memory per client, against the null sink", &more));
    limits::need_open_files(MANY)?;
    let sink = Sink::start(options)?;
    let peak = |clients: u32| -> anyhow::Result<Sample> {
        let mut words = sink.select_one(clients);
        let seconds = options.seconds.to_string();
        words.extend(["-M", "prepared", "-T", &seconds].map(OsString::from));
        let ran = child::run(&options.pgdyno, &words, &[], None)?;
        Ok(Sample { cost: ran.peak_kib as f64, speed: tps(&ran)? })
    };
    let taken = rounds(
        options.pairs(crate::What::Memory),
        options.patience(),
        &mut [&mut || peak(MANY), &mut || peak(FEW)],
    )?;
    let (many, few) = (taken.median(0), taken.median(1));
    // What a child begins with is what its parent had.
    if few.cost <= own_peak_kib() {
        return Err(Missing("this process is larger than the one it measures".into()).into());
    }
    let (median, least, greatest) =
        taken.spread(|samples| (samples[0].cost - samples[1].cost) / f64::from(MANY - FEW));
    let within = if median <= AIM_KIB { "yes" } else { "**no**" };
    println!(
        "| peak memory: {MANY} clients | {FEW} clients | **KiB per client** (range) | at most {AIM_KIB} | tps: {MANY} | {FEW} |"
    );
    println!("| ---: | ---: | --- | --- | ---: | ---: |");
    println!(
        "| {:.1} MiB | {:.1} MiB | **{median:.1}** ({least:.1}-{greatest:.1}) | {within} | {:.0} | {:.0} |",
        many.cost / 1024.0,
        few.cost / 1024.0,
        many.speed,
        few.speed
    );
    Ok(())
}

/// Most memory this process has had so far, KiB.
fn own_peak_kib() -> f64 {
    // SAFETY: all-zero bytes are a valid value of the struct, and the pointer is valid during the call.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let _ = unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    usage.ru_maxrss as f64
}
