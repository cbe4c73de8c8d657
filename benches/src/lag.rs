//! How late do the arrivals of an open load start? The engine with either driver, and a bare loop that does nothing but send to
//! the same server and read its replies; each beside a timer that does nothing but sleep to its next arrival, at the same time:
//! what the machine does to one it does to the other.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use engine::{Arrivals, DriverChoice, Load, Plan, Rate, Stop, Timeline};
use protocol::Address;
use stats::Histogram;
use target::child::Watchdog;
use target::home::Home;
use target::sink::{Delay, Sink};
use workloads::pgbench::{self, Pgbench, ScriptSource};
use workloads::{ClientWorkload, Clients, Places};

use crate::lag_loop::{self, Arriving};
use crate::pairs::{Sample, rounds};
use crate::{Args, What, page, stop, truth};

/// Arrivals per second.
const RATE: f64 = 5000.0;
/// The aim: p99 no more above that of the bare timer, µs.
const AIM_US: f64 = 50.0;

/// A row for each number of clients and each driver.
///
/// # Errors
/// When a run fails.
pub(crate) fn of_arrivals(options: &Args) -> anyhow::Result<()> {
    let program = options.pgdyno.canonicalize().context("build it first: cargo build --release")?;
    let clients = options.clients_or(&[16]);
    let title = format!("How late {RATE} arrivals a second start, null sink, one thread");
    println!("{}", page::title(options, What::Lag, &title, &page::clients_option(&clients)));
    println!("Aim: p99 at most {AIM_US} µs above that of the bare timer.\n\n{}", page::LAG_HEAD);
    let home = tempfile::Builder::new().prefix("pgdyno-benches").tempdir()?;
    let sink = Sink::start(&Home::at(home.path()), &program, &Watchdog::current()?, Delay::None)?;
    for clients in clients {
        let bed = Bed { sink: &sink, clients, seconds: options.seconds };
        let taken = rounds(
            options.pairs(What::Lag),
            options.patience(),
            &mut [
                &mut || bed.beside_timer(|| bed.engine(DriverChoice::IoUring)),
                &mut || bed.beside_timer(|| bed.engine(DriverChoice::Portable)),
                &mut || bed.beside_timer(|| lag_loop::run(bed.arriving(), Some(bed.socket()?))),
            ],
        )?;
        for (side, name) in ["io_uring", "epoll", "bare loop"].into_iter().enumerate() {
            println!("{}", page::lag_row(name, clients, &taken, side));
        }
    }
    Ok(())
}

/// Where all sides run.
struct Bed<'a> {
    sink: &'a Sink,
    clients: u32,
    seconds: u32,
}

impl Bed<'_> {
    fn socket(&self) -> anyhow::Result<&Path> {
        match &self.sink.place().address {
            Address::Unix(path) => Ok(path),
            Address::Tcp(_) => anyhow::bail!("the sink listens on a socket"),
        }
    }

    fn arriving(&self) -> Arriving {
        Arriving { per_second: RATE, seconds: self.seconds, clients: self.clients }
    }

    /// The 99th percentiles of the lag of something, and of a timer that ran at the same time, µs.
    fn beside_timer(&self, what: impl Fn() -> anyhow::Result<Histogram>) -> anyhow::Result<Sample> {
        let arriving = self.arriving();
        let (lag, timer) = std::thread::scope(|scope| {
            let timer = scope.spawn(move || lag_loop::run(arriving, None));
            (what(), timer.join())
        });
        stop::check()?;
        let timer = timer.map_err(|_| anyhow::anyhow!("the timer panicked"))??;
        let p99 = |lag: &Histogram| lag.quantile_ns(0.99).map_or(f64::NAN, |ns| ns as f64 / 1e3);
        Ok(Sample { cost: p99(&lag?), speed: p99(&timer) })
    }

    fn engine(&self, driver: DriverChoice) -> anyhow::Result<Histogram> {
        let source = ScriptSource::Text { name: "one".into(), text: b"SELECT 1;".to_vec(), weight: 1 };
        let options = pgbench::Options { vacuum: false, ..pgbench::Options::default() };
        let workload = Pgbench::with_scripts(&options, &[source])?;
        let places = Places::from(self.sink.place().clone());
        let crew = Clients { count: self.clients as usize, threads: 1, seed: 1, statements: false };
        let rate = Rate { profile: RATE.into(), arrivals: Arrivals::Poisson, timeline: Timeline::Global };
        let length = Duration::from_secs(self.seconds.into());
        let plan = Plan { driver, ..truth::plan(Load::Rate(rate), length) };
        let stop = Stop::from(stop::switch().flag());
        Ok(engine::run(&plan, workload.clients(&places, crew)?, &mut (), &stop)?.own.start_lag)
    }
}
