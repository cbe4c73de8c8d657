//! Does memory stay the same over a long run? Each command at full speed, looked at each second.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::server::{Server, Way};
use crate::sink::Sink;
use crate::{Args, Missing, child};

const CLIENTS: u32 = 64;
/// Of the server's tables.
const SCALE: u32 = 10;
/// Seconds of the run that its end is compared with: what is set up at the start is there by then.
const EARLY: (usize, usize) = (30, 60);
/// Seconds at its end.
const LATE: usize = 30;
/// What the run may grow by, KiB.
const AIM_KIB: f64 = 1024.0;

/// Memory of the process in one second, KiB.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Seen {
    now: f64,
    most: f64,
}

/// A command whose memory is watched.
struct Command {
    /// As the heading says it.
    name: &'static str,
    words: Vec<OsString>,
}

/// A table for the drop-in, which asks a server that answers at once, and for each command that stores what it measured.
///
/// # Errors
/// [`Missing`] where the kernel does not tell a process's memory; else when a run fails.
pub(crate) fn over_time(options: &Args) -> anyhow::Result<()> {
    let seconds = options.minutes as usize * 60;
    let sink = Sink::start(options)?;
    let mut words = sink.select_one(CLIENTS);
    words.extend(["-M", "prepared", "-T", &seconds.to_string()].map(OsString::from));
    watched(options, &Command { name: "pgdyno pgbench, against the null sink", words })?;
    drop(sink);
    let server = Server::start(options, Way::Socket, SCALE, CLIENTS)?;
    let folder = tempfile::Builder::new().prefix("pgdyno-benches").tempdir()?;
    for command in storing(&server, folder.path(), seconds)? {
        watched(options, &command)?;
    }
    Ok(())
}

/// `bench` and `run` of two scripts each, as long as that.
fn storing(server: &Server, folder: &Path, seconds: usize) -> anyhow::Result<[Command; 2]> {
    let script = folder.join("one.sql");
    std::fs::write(&script, "SELECT 1;\n")?;
    let target = server.env.iter().find(|(name, _)| name == "PGDATABASE").map(|(_, dsn)| dsn);
    let target = target.context("a server without an address")?;
    let file = folder.join("long.toml");
    let text = format!(
        "question = \"Does memory grow?\"\n[target]\nurl = \"{target}\"\n[workload.two]\n\
         pgbench = {{ builtin = \"select-only\", files = \"one.sql\", mode = \"prepared\" }}\n\
         [factors]\nclients = [{CLIENTS}]\n[measure]\nduration = \"{seconds}s\"\nrounds = 1\n"
    );
    std::fs::write(&file, text)?;
    let results: [OsString; 2] = ["--results".into(), folder.join("results.sqlite").into()];
    let (clients, length) = (CLIENTS.to_string(), seconds.to_string());
    let mut bench: Vec<OsString> =
        ["bench", "-n", "-S", "-M", "prepared", "-c", &clients, "-T", &length, "-f"].map(Into::into).to_vec();
    bench.extend([script.into(), target.into()]);
    bench.extend(results.clone());
    let mut run: Vec<OsString> = vec!["run".into(), file.into()];
    run.extend(results);
    Ok([
        Command { name: "pgdyno bench, two scripts", words: bench },
        Command { name: "pgdyno run, two scripts", words: run },
    ])
}

/// Runs a command and prints its memory by the minute.
fn watched(options: &Args, command: &Command) -> anyhow::Result<()> {
    let minutes = options.minutes;
    println!("\n### Over {minutes} minutes: {}, {CLIENTS} clients at full speed, prepared\n", command.name);
    let started = child::start(&options.pgdyno, &command.words, &[], None)?;
    let seen = watch(started.pid());
    started.finish()?;
    let growth = growth(&seen).ok_or_else(|| {
        let length = minutes * 60;
        Missing(format!("the kernel told the memory of the process in {} of {length} s", seen.len()))
    })?;
    let within = if growth < AIM_KIB { "yes" } else { "**no**" };
    let ends = minute_ends(&seen);
    let row = |cell: &dyn Fn(&(usize, Seen)) -> String| ends.iter().map(cell).collect::<Vec<_>>().join(" | ");
    println!("| second | {} |", row(&|(second, _)| second.to_string()));
    println!("| --- |{}", " ---: |".repeat(ends.len()));
    println!("| memory, MiB | {} |", row(&|(_, seen)| format!("{:.2}", seen.now / 1024.0)));
    println!("| most so far, MiB | {} |", row(&|(_, seen)| format!("{:.2}", seen.most / 1024.0)));
    let (from, to) = EARLY;
    println!(
        "\nFrom the median of seconds {from} to {to} to that of the last {LATE} s: **{growth:+.0} KiB**, less than 1 MiB: {within}."
    );
    Ok(())
}

/// Each second until the process has ended.
fn watch(pid: u32) -> Vec<Seen> {
    let start = Instant::now();
    let mut seen = Vec::new();
    loop {
        let due = Duration::from_secs(seen.len() as u64 + 1);
        std::thread::sleep(due.saturating_sub(start.elapsed()));
        match look(pid) {
            Some(second) => seen.push(second),
            None => return seen,
        }
    }
}

/// `None` when it has ended: a zombie has no memory.
fn look(pid: u32) -> Option<Seen> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    parse(&status).ok()
}

fn parse(status: &str) -> anyhow::Result<Seen> {
    let field = |name: &str| -> anyhow::Result<f64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).context("no such line")?;
        Ok(line.trim().trim_end_matches(" kB").trim().parse()?)
    };
    Ok(Seen { now: field("VmRSS:")?, most: field("VmHWM:")? })
}

/// KiB from the early part to the last; `None` when the run was too short for both.
fn growth(seen: &[Seen]) -> Option<f64> {
    let (from, to) = EARLY;
    let early = seen.get(from..to)?;
    let late = seen.get(to..)?.last_chunk::<LATE>()?;
    Some(median(late) - median(early))
}

fn median(seen: &[Seen]) -> f64 {
    let mut values: Vec<f64> = seen.iter().map(|seen| seen.now).collect();
    values.sort_by(f64::total_cmp);
    (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0
}

/// The last second of each minute; of the last minute it may be missed.
fn minute_ends(seen: &[Seen]) -> Vec<(usize, Seen)> {
    let minutes = seen.chunks(60).enumerate().filter(|(_, seconds)| seconds.len() >= 59);
    minutes.map(|(minute, seconds)| (minute * 60 + seconds.len(), seconds[seconds.len() - 1])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_between_medians() {
        let at = |now: f64| Seen { now, most: now };
        // Set-up until second 30, then 2 KiB per second, and one second out of line.
        let mut seen: Vec<Seen> = (0..120).map(|second| at(f64::from(second.max(30)) * 2.0)).collect();
        seen[100] = at(1e9);
        let growth = growth(&seen).unwrap();
        assert!((growth - 120.0).abs() <= 2.0, "{growth}");
        assert_eq!(super::growth(&seen[..89]), None);
        assert_eq!(minute_ends(&seen[..119]), [(60, at(118.0)), (119, at(236.0))]);
        assert_eq!(minute_ends(&seen[..80]).len(), 1);
    }

    #[test]
    fn status_is_read() {
        let status = "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n";
        assert_eq!(parse(status).unwrap(), Seen { now: 1024.0, most: 2048.0 });
        assert!(parse("Name:\tx\nState:\tZ (zombie)\n").is_err());
    }

    #[test]
    fn this_process_can_be_seen() {
        if cfg!(target_os = "linux") {
            assert!(look(std::process::id()).unwrap().now > 0.0);
        }
    }
}
