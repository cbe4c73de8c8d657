//! Does a client that waits cost anything? The same rate over 50 and over 5,000 clients of one thread, against a server
//! that answers at once.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::Options;
use crate::child::{self, Ran};
use crate::page;
use crate::pairs::{Sample, compare};

const FEW: u32 = 50;
const MANY: u32 = 5000;
/// Transactions per second.
const RATE: u32 = 10_000;
/// Length of a run, s.
const SECONDS: u32 = 20;

/// CPU per transaction of both, connecting subtracted.
pub(crate) fn clients(options: &Options) -> anyhow::Result<()> {
    let sink = Sink::start(options)?;
    println!(
        "\n## {MANY} clients on one thread, {RATE} transactions/s, against the null sink\n\n{}",
        page::MANY_HEAD
    );
    let measure = |clients: u32| -> anyhow::Result<Sample> {
        let whole = sink.load(options, clients, SECONDS)?;
        let start = sink.load(options, clients, 1)?;
        let transactions = f64::from(RATE) * f64::from(SECONDS - 1);
        Ok(Sample { cost: (whole.cpu_s() - start.cpu_s()) * 1e6 / transactions, speed: f64::from(RATE) })
    };
    let compared =
        compare(options.pairs, Duration::from_secs(options.patience), || measure(MANY), || measure(FEW))?;
    println!("{}", page::many_row(&compared));
    Ok(())
}

/// A server of ours that answers at once.
struct Sink {
    child: Child,
    folder: tempfile::TempDir,
    script: PathBuf,
}

impl Sink {
    fn start(options: &Options) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("pgdyno-benches").tempdir()?;
        let socket = folder.path().join(".s.PGSQL.5432");
        let child = Command::new(&options.pgdyno)
            .args(["sink".into(), socket.clone().into_os_string(), OsString::from("none")])
            .stdout(Stdio::null())
            .spawn()
            .context("build it first: cargo build --release")?;
        let script = folder.path().join("one.sql");
        std::fs::write(&script, "SELECT 1;\n")?;
        let sink = Self { child, folder, script };
        let start = Instant::now();
        while !socket.exists() {
            if start.elapsed() > Duration::from_secs(5) {
                bail!("the sink did not start");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(sink)
    }

    fn load(&self, options: &Options, clients: u32, seconds: u32) -> anyhow::Result<Ran> {
        let (clients, rate, seconds) = (clients.to_string(), RATE.to_string(), seconds.to_string());
        let mut words: Vec<OsString> =
            ["pgbench", "-n", "-j", "1", "-c", &clients, "-R", &rate, "-T", &seconds, "-h"]
                .map(Into::into)
                .to_vec();
        words.push(self.folder.path().into());
        words.extend(["-U", "sink", "-d", "sink", "-f"].map(OsString::from));
        words.push(self.script.clone().into());
        child::run(&options.pgdyno, &words, &[], None)
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
