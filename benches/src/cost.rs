//! Client CPU per transaction and tps, compared with pgbench on the same server.

use std::ffi::OsString;
use std::path::Path;

use crate::child::{self, Ran, processed, tps};
use crate::pairs::{CostSample, compare};

use crate::served::{PrivateServer, Way};
use crate::{Args, MissingRequirement, What, page};

/// From this many clients on, connecting is subtracted: pgbench's `-T` includes it.
const MANY: u32 = 256;
/// Shortest run then, s.
const LONG: u32 = 20;
/// pgdyno's error if the kernel forbids io_uring.
const REFUSED: &str = "requested driver io_uring is not available";
/// Scale of pgbench's tables.
const SCALE: u32 = 10;

pub(crate) struct Manner {
    what: What,
    title: &'static str,
    way: Way,
    /// Drivers of pgdyno; `None` leaves the choice to it.
    drivers: &'static [Option<&'static str>],
    modes: &'static [&'static str],
    /// Numbers of clients by default.
    clients: &'static [u32],
    /// Transactions per second; unlimited when `None`.
    rate: Option<u32>,
}

impl Manner {
    pub(crate) fn usual() -> Self {
        Self {
            what: What::Cost,
            title: "Unix socket, one thread",
            way: Way::Socket,
            drivers: &[None],
            modes: &["prepared", "simple"],
            clients: &[1, 8, 64, 512],
            rate: None,
        }
    }

    /// With epoll only.
    pub(crate) fn epoll() -> Self {
        let title = "Unix socket, one thread, portable driver";
        Self { what: What::Epoll, title, drivers: &[Some("portable")], modes: &["prepared"], ..Self::usual() }
    }

    /// Over the loopback network.
    pub(crate) fn tcp() -> Self {
        Self {
            what: What::Tcp,
            title: "TCP on 127.0.0.1, one thread, connecting subtracted",
            way: Way::Tcp,
            modes: &["prepared"],
            clients: &[8, 16, 64],
            ..Self::usual()
        }
    }

    pub(crate) fn tls() -> Self {
        let title = "TLS over TCP on 127.0.0.1, one thread, connecting subtracted";
        Self { what: What::Tls, title, way: Way::Tls, ..Self::tcp() }
    }

    /// Open load.
    pub(crate) fn open() -> Self {
        Self {
            what: What::Open,
            title: "Open load of 5,000 transactions/s, Unix socket, one thread",
            drivers: &[Some("io_uring"), Some("portable")],
            modes: &["prepared"],
            clients: &[16],
            rate: Some(5000),
            ..Self::usual()
        }
    }
}

/// A table row for each mode, driver and number of clients.
pub(crate) fn by_clients(options: &Args, manner: &Manner) -> anyhow::Result<()> {
    let clients = options.clients_or(manner.clients);
    println!("{}", page::title(options, manner.what, manner.title, &page::clients_option(&clients)));
    let most = clients.iter().copied().max().unwrap_or_default();
    let server = PrivateServer::start(options, manner.way, SCALE, most)?;
    println!("{}", page::COST_HEAD);
    for mode in manner.modes {
        for driver in manner.drivers {
            for clients in &clients {
                let load = RowLoad { server: &server, manner, driver: *driver, mode, clients: *clients };
                match row(options, &load) {
                    Err(error) if format!("{error:#}").contains(REFUSED) => {
                        println!("| {} | {clients} | {} |", load.name(), MissingRequirement(REFUSED.into()));
                    }
                    row => row?,
                }
            }
        }
    }
    Ok(())
}

fn row(options: &Args, load: &RowLoad<'_>) -> anyhow::Result<()> {
    let compared = compare(
        options.pairs(),
        options.patience(),
        || load.sample(&options.pgdyno, true, options.seconds),
        || load.sample(&load.server.pgbench, false, options.seconds),
    )?;
    println!("{}", page::cost_row(&load.name(), load.clients, &compared));
    Ok(())
}

/// The load of a row, for either program.
struct RowLoad<'a> {
    server: &'a PrivateServer,
    manner: &'a Manner,
    driver: Option<&'static str>,
    mode: &'a str,
    clients: u32,
}

impl RowLoad<'_> {
    fn name(&self) -> String {
        match self.driver {
            Some(driver) => format!("{}, {driver}", self.mode),
            None => self.mode.to_owned(),
        }
    }

    fn sample(&self, program: &Path, ours: bool, seconds: u32) -> anyhow::Result<CostSample> {
        let (many, seconds) = length(self.clients, seconds);
        // Passwords and handshakes cost much more than a Unix socket.
        let subtract = many || self.manner.way != Way::Socket;
        without_connecting(seconds, subtract, |length| self.run(program, ours, length))
    }

    fn run(&self, program: &Path, ours: bool, length: &[String]) -> anyhow::Result<Ran> {
        let mut arguments: Vec<OsString> = Vec::new();
        if ours {
            arguments.push("pgbench".into());
            if let Some(driver) = self.driver {
                arguments.extend(["--driver".into(), driver.into()]);
            }
        }
        arguments.extend(select_only(self.mode, self.clients));
        if let Some(rate) = self.manner.rate.filter(|_| length[0] == "-T") {
            arguments.extend(["-R".into(), rate.to_string().into()]);
        }
        arguments.extend(length.iter().map(OsString::from));
        child::run(program, &arguments, &self.server.env)
    }
}

/// Arguments of the load, except for its length.
fn select_only(mode: &str, clients: u32) -> Vec<OsString> {
    ["-n", "-S", "-M", mode, "-j", "1", "-c", &clients.to_string()].map(OsString::from).to_vec()
}

/// Cost and speed of a run of `seconds`; if requested, minus a run of one transaction per client.
fn without_connecting(
    seconds: u32,
    subtract: bool,
    run: impl Fn(&[String]) -> anyhow::Result<Ran>,
) -> anyhow::Result<CostSample> {
    let whole = run(&["-T".to_owned(), seconds.to_string()])?;
    let (mut cpu_s, mut count) = (whole.cpu_s, processed(&whole)?);
    if subtract {
        let start = run(&["-t".to_owned(), "1".to_owned()])?;
        cpu_s -= start.cpu_s;
        count -= processed(&start)?;
    }
    Ok(CostSample { cost: cpu_s * 1e6 / count, speed: tps(&whole)? })
}

/// Whether connecting so many clients is subtracted, and the length of a run then, s.
fn length(clients: u32, seconds: u32) -> (bool, u32) {
    if clients >= MANY { (true, seconds.max(LONG)) } else { (false, seconds) }
}
