//! The load of map tiles in a separate process, so that its CPU can be measured: this program, started with a
//! hidden argument.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use engine::StopFlag;
use protocol::Address;
use protocol::postgres::{Login, Place};
use server::control::Control;
use server::managed::SUPERUSER;
use workloads::tiles::{Tiles, TilesOptions, Zooms};
use workloads::{ClientWorkload, Clients, Places, Site, Workload};

use crate::redis_load::plan;
use crate::served::DATABASE;

pub(crate) const WORD: &str = "tile-load";

/// Runs the load: `SOCKET QUERY_FILE CLIENTS SECONDS`. Prints tiles and tiles per second.
pub(crate) fn main(arguments: &[OsString]) -> anyhow::Result<()> {
    let word = |index: usize| arguments.get(index).and_then(|word| word.to_str()).context("arguments");
    let login = Arc::new(Login::new(SUPERUSER, DATABASE));
    let place = Place::new(Address::Unix(Path::new(word(0)?).to_owned()), login);
    let options = TilesOptions {
        query: Some(word(1)?.into()),
        zooms: Zooms::Range([15, 15]),
        tiles_per_zoom: 500,
        ..TilesOptions::default()
    };
    let mut workload = Tiles::open(&options, Path::new("."))?;
    let mut control = Control::open(&place, Some(Duration::from_secs(10)))?;
    workload.prepare(&mut Site::postgres(&mut control), 1)?;
    let wanted = Clients { count: word(2)?.parse()?, threads: 1, seed: 1, statements: false };
    let load = workload.clients(&Places::from(place), wanted)?;
    let plan = engine::RunPlan {
        scripts: workload.scripts().len(),
        items: workload.items().len(),
        ..plan(word(3)?.parse()?)
    };
    let measured = engine::run(&plan, load, &mut (), &StopFlag::new())?;
    let totals = measured.totals();
    anyhow::ensure!(totals.failed == 0, "{} tiles failed: {:?}", totals.failed, measured.messages);
    let done = totals.processed();
    println!("{done} {}", done as f64 * 1e9 / measured.elapsed as f64);
    Ok(())
}
