//! The overhead of measuring an OSM load, compared with osm2pgsql started by hand.

use std::ffi::OsString;
use std::path::Path;

use anyhow::bail;

use crate::child::Ran;
use crate::pairs::{CostSample, compare, spread};
use crate::served::{DATABASE, PrivateServer, Way};
use crate::{Args, MissingRequirement, What, child, page};

/// Memory for node locations, MB; the same for both.
const CACHE_MB: &str = "800";
const TABLES: [&str; 7] = ["point", "line", "polygon", "roads", "nodes", "ways", "rels"];

/// The same slim load by both: the program's wall time.
pub(crate) fn against_osm2pgsql(options: &Args) -> anyhow::Result<()> {
    let extract = options
        .data
        .as_deref()
        .ok_or_else(|| MissingRequirement("no extract: give one with --data".to_owned()))?;
    println!("{}", page::title(options, What::Load, "An OSM load measured, and done by hand", ""));
    let server = PrivateServer::start(options, Way::Socket, 1, 1)?;
    server
        .execute("CREATE EXTENSION postgis")
        .map_err(|error| MissingRequirement(format!("no PostGIS: {error}")))?;
    let results = tempfile::Builder::new().prefix("pgdyno-benches").tempdir()?;
    let results = results.path().join("loads.sqlite");
    let prepare_again = || -> anyhow::Result<()> {
        let tables = TABLES.map(|table| format!("planet_osm_{table}")).join(", ");
        server.execute(&format!("DROP TABLE IF EXISTS {tables}"))?;
        server.checkpoint()
    };
    println!("{}", page::LOAD_HEAD);
    let (mut shares, mut cpu, mut cpu_by_hand) = (Vec::new(), Vec::new(), Vec::new());
    let compared = compare(
        options.pairs(),
        options.patience(),
        || {
            prepare_again()?;
            let (sample, used) = measured(options, &server, extract, &results)?;
            shares.push(used.own_s / sample.cost);
            cpu.push(used.program_s);
            Ok(sample)
        },
        || {
            prepare_again()?;
            let ran = by_hand(&server, extract)?;
            cpu_by_hand.push(ran.cpu_s);
            Ok(CostSample { cost: ran.wall_s, speed: ran.wall_s })
        },
    )?;
    let ratios = cpu.iter().zip(&cpu_by_hand).map(|(ours, theirs)| ours / theirs).collect();
    println!("{}", page::load_row(&compared, spread(shares), spread(ratios)));
    Ok(())
}

struct Used {
    own_s: f64,
    program_s: f64,
}

/// By pgdyno: the stored time, the time of the whole command, and the CPU used.
fn measured(
    options: &Args,
    server: &PrivateServer,
    extract: &Path,
    results: &Path,
) -> anyhow::Result<(CostSample, Used)> {
    let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    let mut load =
        words(&["osm", "load", "--cache", CACHE_MB, "--replace", "--url", server.dsn()?, "--results"]);
    load.extend([results.into(), extract.into()]);
    let ran = child::run(&options.pgdyno, &load, &[])?;
    let newest = "SELECT measured_s, sum(value) FILTER (WHERE name = 'pgdyno_cpu_s'), \
                         sum(value) FILTER (WHERE name IN ('child_user_cpu_s', 'child_system_cpu_s')) \
                  FROM run JOIN run_figure USING (run_id) GROUP BY run_id ORDER BY run_id DESC LIMIT 1";
    let mut asked = words(&["sql", newest, "--format", "csv", "--results"]);
    asked.push(results.into());
    let printed = child::run(&options.pgdyno, &asked, &[])?.output;
    let stored = printed.lines().nth(1).unwrap_or_default().split(',');
    let stored: Vec<f64> = stored.filter_map(|figure| figure.trim().parse().ok()).collect();
    let [took_s, own_s, program_s] = stored[..] else { bail!("no load was stored") };
    Ok((CostSample { cost: took_s, speed: ran.wall_s }, Used { own_s, program_s }))
}

/// By osm2pgsql, with a usual command line.
fn by_hand(server: &PrivateServer, extract: &Path) -> anyhow::Result<Ran> {
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
        server::managed::SUPERUSER,
        "-d",
        DATABASE,
    ];
    let mut words: Vec<OsString> = words.iter().map(OsString::from).collect();
    words.push(extract.into());
    child::run(Path::new("osm2pgsql"), &words, &[])
}
