//! Cost per transaction at a rate that is the same for many clients and for few.

use std::ffi::OsString;

use crate::child::{self, Ran};
use crate::pairs::{Sample, compare};
use crate::printed::{processed, tps};
use crate::{Args, limits, page};

/// Length of a run, s, and of the one that is subtracted for connecting.
const LONG: u32 = 20;
const SHORT: u32 = 1;

/// What is compared.
pub(crate) struct Crowd<'a> {
    /// Clients of either side.
    pub(crate) many: u32,
    /// The smaller number.
    pub(crate) few: u32,
    /// Transactions per second over all clients.
    pub(crate) rate: u32,
    /// Arguments of pgdyno for so many clients, but for rate and length.
    pub(crate) arguments: &'a dyn Fn(u32) -> Vec<OsString>,
    /// Its environment.
    pub(crate) env: &'a [(String, String)],
}

/// Prints the table.
///
/// # Errors
/// [`crate::Missing`] when so many files cannot be open; else when a run fails.
pub(crate) fn table(options: &Args, crowd: &Crowd<'_>) -> anyhow::Result<()> {
    limits::need_open_files(crowd.many)?;
    println!("{}", page::MANY_HEAD);
    let compared = compare(
        options.pairs(crate::What::Many),
        options.patience(),
        || crowd.sample(options, crowd.many),
        || crowd.sample(options, crowd.few),
    )?;
    println!("{}", page::many_row(crowd.many, crowd.few, &compared));
    Ok(())
}

impl Crowd<'_> {
    fn sample(&self, options: &Args, clients: u32) -> anyhow::Result<Sample> {
        let whole = self.run(options, clients, options.seconds.max(LONG))?;
        let start = self.run(options, clients, SHORT)?;
        let count = processed(&whole)? - processed(&start)?;
        Ok(Sample { cost: (whole.cpu_s() - start.cpu_s()) * 1e6 / count, speed: tps(&whole)? })
    }

    fn run(&self, options: &Args, clients: u32, seconds: u32) -> anyhow::Result<Ran> {
        let mut words = (self.arguments)(clients);
        words.extend(["-R", &self.rate.to_string(), "-T", &seconds.to_string()].map(OsString::from));
        child::run(&options.pgdyno, &words, self.env, None)
    }
}
