//! Client CPU per transaction and tps, beside pgbench on the same server.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;

use crate::Options;
use crate::child::{self, Ran};
use crate::page;
use crate::pairs::{Sample, compare};
use crate::server::Server;

/// From this many clients on connecting is subtracted: pgbench does it inside its `-T`.
const MANY: u32 = 256;
/// Shortest run then, s.
const LONG: u32 = 20;

/// How the client runs.
pub(crate) struct Manner {
    title: &'static str,
    driver: Option<&'static str>,
    /// CPUs of the server and of the client.
    cpus: Option<(&'static str, &'static str)>,
    modes: &'static [&'static str],
}

impl Manner {
    /// As it comes.
    pub(crate) fn usual() -> Self {
        let modes = &["prepared", "simple"];
        Self { title: "Unix socket, one thread", driver: None, cpus: None, modes }
    }

    /// Where io_uring is forbidden.
    pub(crate) fn epoll() -> Self {
        Self {
            title: "Unix socket, one thread, portable driver",
            driver: Some("portable"),
            modes: &["prepared"],
            ..Self::usual()
        }
    }

    /// Client and server on CPUs of their own.
    pub(crate) fn pinned() -> Self {
        let title = "Unix socket, one thread, server on CPU 0, client on CPU 1";
        Self { title, cpus: Some(("0", "1")), ..Self::usual() }
    }
}

/// A table row for each number of clients and each mode.
pub(crate) fn by_clients(options: &Options, manner: &Manner) -> anyhow::Result<()> {
    let server = Server::start(options, 10)?;
    if let Some((cpus, _)) = manner.cpus {
        server.pin(cpus)?;
    }
    println!("\n## {}\n\n{}", manner.title, page::COST_HEAD);
    for mode in manner.modes {
        for clients in &options.clients {
            row(options, &server, manner, mode, *clients)?;
        }
    }
    Ok(())
}

fn row(options: &Options, server: &Server, manner: &Manner, mode: &str, clients: u32) -> anyhow::Result<()> {
    let measure = |program: &Path, ours: bool| -> anyhow::Result<Sample> {
        let run = |length: &[&str]| {
            let mut arguments: Vec<OsString> = Vec::new();
            if ours {
                arguments.push("pgbench".into());
                if let Some(driver) = manner.driver {
                    arguments.extend(["--driver".into(), driver.into()]);
                }
            }
            let clients = clients.to_string();
            arguments.extend(["-n", "-S", "-M", mode, "-j", "1", "-c", &clients].map(OsString::from));
            arguments.extend(length.iter().map(OsString::from));
            child::run(program, &arguments, &server.env, manner.cpus.map(|(_, client)| client))
        };
        let seconds = if clients >= MANY { options.seconds.max(LONG) } else { options.seconds };
        let whole = run(&["-T", &seconds.to_string()])?;
        let (mut cpu_s, mut count) = (whole.cpu_s(), processed(&whole)?);
        let speed = tps(&whole)?;
        if clients >= MANY {
            let start = run(&["-t", "1"])?;
            cpu_s -= start.cpu_s();
            count -= processed(&start)?;
        }
        Ok(Sample { cost: cpu_s * 1e6 / count, speed })
    };
    let compared = compare(
        options.pairs,
        Duration::from_secs(options.patience),
        || measure(&options.pgdyno, true),
        || measure(&server.pgbench, false),
    )?;
    println!("{}", page::cost_row(mode, clients, &compared));
    Ok(())
}

fn processed(ran: &Ran) -> anyhow::Result<f64> {
    number(&ran.output, "number of transactions actually processed: ")
}

fn tps(ran: &Ran) -> anyhow::Result<f64> {
    number(&ran.output, "tps = ")
}

fn number(output: &str, before: &str) -> anyhow::Result<f64> {
    let rest = output.lines().find_map(|line| line.strip_prefix(before));
    let digits =
        rest.map(|rest| rest.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default());
    digits.and_then(|digits| digits.parse().ok()).with_context(|| format!("no \"{before}\" in:\n{output}"))
}
