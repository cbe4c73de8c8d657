//! The load on a web server in its own process, so that its CPU can be told apart: this program, called with a hidden
//! word.

use std::ffi::OsString;

use anyhow::Context;
use engine::Stop;
use workloads::http::{Http, Options};
use workloads::{ClientWorkload, Clients, Places};

use crate::redis_load::plan;

pub(crate) const WORD: &str = "http-load";

/// Puts the load on: `URL CLIENTS SECONDS`. Prints requests and requests per second.
pub(crate) fn main(arguments: &[OsString]) -> anyhow::Result<()> {
    let word = |index: usize| arguments.get(index).and_then(|word| word.to_str()).context("arguments");
    let options = Options { gzip: false, ..Options::new(word(0)?) };
    let workload = Http::open(&options, "".as_ref())?;
    let wanted = Clients { count: word(1)?.parse()?, threads: 1, seed: 1, statements: false };
    let load = workload.clients(&Places::default(), wanted)?;
    let measured = engine::run(&plan(word(2)?.parse()?), load, &mut (), &Stop::new())?;
    let totals = measured.totals();
    anyhow::ensure!(totals.failed == 0, "{} requests failed: {:?}", totals.failed, measured.messages);
    let done = totals.processed();
    println!("{done} {}", done as f64 * 1e9 / measured.elapsed as f64);
    Ok(())
}
