//! What it costs an OSM load to be measured, beside osm2pgsql started by hand.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Context;

use crate::pairs::{Sample, compare, spread};
use crate::server::{DATABASE, Server, Way};
use crate::{Args, Missing, What, child, page};

/// Memory for node locations, MB: the same for both.
const CACHE_MB: &str = "800";
const TABLES: [&str; 7] = ["point", "line", "polygon", "roads", "nodes", "ways", "rels"];

/// The same slim load by both: the program's own time from its start to its end.
pub(crate) fn beside_osm2pgsql(options: &Args) -> anyhow::Result<()> {
    let extract =
        options.data.as_deref().ok_or_else(|| Missing("no extract: give one with --data".to_owned()))?;
    println!("{}", page::title(options, What::Load, "An OSM load measured, and done by hand", ""));
    let server = Server::start(options, Way::Socket, 1, 1)?;
    server.execute("CREATE EXTENSION postgis").map_err(|error| Missing(format!("no PostGIS: {error}")))?;
    let results = tempfile::Builder::new().prefix("pgdyno-benches").tempdir()?;
    let results = results.path().join("loads.sqlite");
    let anew = || -> anyhow::Result<()> {
        let tables = TABLES.map(|table| format!("planet_osm_{table}")).join(", ");
        server.execute(&format!("DROP TABLE IF EXISTS {tables}"))?;
        server.checkpoint()
    };
    println!("{}", page::LOAD_HEAD);
    let mut shares = Vec::new();
    let compared = compare(
        options.pairs(What::Load),
        options.patience(),
        || {
            anew()?;
            let (sample, own_cpu_s) = measured(options, &server, extract, &results)?;
            shares.push(own_cpu_s / sample.cost);
            Ok(sample)
        },
        || {
            anew()?;
            by_hand(&server, extract)
        },
    )?;
    println!("{}", page::load_row(&compared, spread(shares)));
    Ok(())
}

/// By pgdyno: the time that it stores, that of the whole command, and the CPU that it used itself while osm2pgsql ran.
fn measured(
    options: &Args,
    server: &Server,
    extract: &Path,
    results: &Path,
) -> anyhow::Result<(Sample, f64)> {
    let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    let mut load =
        words(&["osm", "load", "--cache", CACHE_MB, "--replace", "--url", server.dsn()?, "--results"]);
    load.extend([results.into(), extract.into()]);
    let ran = child::run(&options.pgdyno, &load, &[], None)?;
    let newest = "SELECT measured_s, value FROM run JOIN run_figure USING (run_id) WHERE name = 'pgdyno_cpu_s' \
                  ORDER BY run_id DESC LIMIT 1";
    let mut asked = words(&["sql", newest, "--format", "csv", "--results"]);
    asked.push(results.into());
    let told = child::run(&options.pgdyno, &asked, &[], None)?.output;
    let stored = told.lines().nth(1).and_then(|line| line.trim().split_once(','));
    let stored = stored.and_then(|(took, own)| Some((took.parse().ok()?, own.parse().ok()?)));
    let (took_s, own_cpu_s) = stored.context("no load was stored")?;
    Ok((Sample { cost: took_s, speed: ran.wall_s }, own_cpu_s))
}

/// By osm2pgsql, started as one does.
fn by_hand(server: &Server, extract: &Path) -> anyhow::Result<Sample> {
    let processes = std::thread::available_parallelism().map_or(1, usize::from).min(8).to_string();
    let folder = server.socket_folder().display().to_string();
    let port = server.port().to_string();
    let words = [
        "--create",
        "--slim",
        "-C",
        CACHE_MB,
        "--number-processes",
        &processes,
        "-H",
        &folder,
        "-P",
        &port,
        "-U",
        target::managed::SUPERUSER,
        "-d",
        DATABASE,
    ];
    let mut words: Vec<OsString> = words.iter().map(OsString::from).collect();
    words.push(extract.into());
    let ran = child::run(Path::new("osm2pgsql"), &words, &[], None)?;
    Ok(Sample { cost: ran.wall_s, speed: ran.wall_s })
}
