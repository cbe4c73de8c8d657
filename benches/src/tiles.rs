//! Map tiles by clients, beside pgbench with the same query and a loop in Python with psycopg, as people write it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::child::{self, Ran};
use crate::pairs::{Sample, compare};
use crate::printed::{processed, tps};
use crate::server::{Server, Way};
use crate::{Args, Missing, What, daemon, or_told, page, tile_load};

const CLIENTS: &str = "4";
/// What tiles are made of: 200,000 boxes on a square of about 30 km.
const DATA: &str = "CREATE EXTENSION IF NOT EXISTS postgis; \
    CREATE TABLE boxes AS SELECT n AS id, 'box ' || n AS name, ST_MakeEnvelope(x, y, x + 20, y + 20, 3857) AS geom \
    FROM (SELECT n, 1600000 + n::bigint * 7919 % 30011 AS x, 4270000 + n::bigint * 104729 % 30013 AS y FROM generate_series(1, 200000) AS n) AS places; \
    CREATE INDEX ON boxes USING gist (geom); ANALYZE boxes; CHECKPOINT";
/// Columns and rows of zoom 15 that lie in it.
const COLUMNS: [u32; 2] = [17_693, 17_715];
const ROWS: [u32; 2] = [12_871, 12_892];
const QUERY: &str = "SELECT ST_AsMVT(t, 'boxes', 4096, 'geom') FROM (SELECT id, name, ST_AsMVTGeom(geom, \
    ST_TileEnvelope(:z, :x, :y)) AS geom FROM boxes WHERE geom && ST_TileEnvelope(:z, :x, :y)) AS t";

/// Client CPU per tile and tiles per second.
pub(crate) fn beside(options: &Args) -> anyhow::Result<()> {
    let title = format!("Map tiles, {CLIENTS} clients, one thread");
    println!("{}", page::title(options, What::Tiles, &title, ""));
    let server = Server::start(options, Way::Socket, 1, 64)?;
    server.execute(DATA)?;
    let folder = tempfile::Builder::new().prefix("pgdyno-benches").tempdir()?;
    let files = Files::write(folder.path())?;
    println!("{}", page::COST_HEAD.replace("pgbench", "other").replace("per tx", "per tile"));
    or_told(row(
        options,
        "pgbench, prepared",
        || ours(options, &server, &files),
        || by_pgbench(options, &server, &files),
    ))?;
    let python = python()?;
    row(
        options,
        "loop with psycopg",
        || ours(options, &server, &files),
        || by_psycopg(options, &server, &files, &python),
    )
}

fn row(
    options: &Args,
    name: &str,
    ours: impl FnMut() -> anyhow::Result<Sample>,
    theirs: impl FnMut() -> anyhow::Result<Sample>,
) -> anyhow::Result<()> {
    let compared = compare(options.pairs(What::Tiles), options.patience(), ours, theirs)?;
    println!("{}", page::cost_row(name, 4, &compared));
    Ok(())
}

/// The query as each of them reads it.
struct Files {
    ours: PathBuf,
    pgbench: PathBuf,
    python: PathBuf,
}

impl Files {
    fn write(folder: &Path) -> anyhow::Result<Self> {
        let write = |name: &str, text: String| -> anyhow::Result<PathBuf> {
            let path = folder.join(name);
            std::fs::write(&path, text)?;
            Ok(path)
        };
        let ([first_x, last_x], [first_y, last_y]) = (COLUMNS, ROWS);
        let draws = format!(
            "\\set z 15\n\\set x random({first_x}, {last_x})\n\\set y random({first_y}, {last_y})\n{QUERY};\n"
        );
        Ok(Self {
            ours: write("tile.sql", QUERY.to_owned())?,
            pgbench: write("pgbench.sql", draws)?,
            python: write("loop.py", include_str!("tiles/loop.py").to_owned())?,
        })
    }
}

fn ours(options: &Args, server: &Server, files: &Files) -> anyhow::Result<Sample> {
    let socket = server.socket_folder().join(format!(".s.PGSQL.{}", server.port())).display().to_string();
    let seconds = options.seconds.to_string();
    let words = [tile_load::WORD, &socket, &files.ours.display().to_string(), CLIENTS, &seconds];
    two_numbers(&child::run(&std::env::current_exe()?, &words.map(OsString::from), &[], None)?)
}

fn by_pgbench(options: &Args, server: &Server, files: &Files) -> anyhow::Result<Sample> {
    let seconds = options.seconds.to_string();
    let script = files.pgbench.display().to_string();
    let words = ["-n", "-M", "prepared", "-c", CLIENTS, "-j", "1", "-T", &seconds, "-f", &script];
    let ran = child::run(&server.pgbench, &words.map(OsString::from), &server.env, None)?;
    Ok(Sample { cost: ran.cpu_s() * 1e6 / processed(&ran)?, speed: tps(&ran)? })
}

fn by_psycopg(options: &Args, server: &Server, files: &Files, python: &Path) -> anyhow::Result<Sample> {
    let seconds = options.seconds.to_string();
    let query = QUERY.replace(":z", "%s").replace(":x", "%s").replace(":y", "%s");
    let numbers = COLUMNS.iter().chain(&ROWS).map(u32::to_string);
    let mut words: Vec<OsString> = vec![files.python.clone().into(), server.dsn()?.into(), query.into()];
    words.extend([CLIENTS.into(), seconds.into()]);
    words.extend(numbers.map(OsString::from));
    two_numbers(&child::run(python, &words, &[], None)?)
}

/// Tiles and tiles per second.
fn two_numbers(ran: &Ran) -> anyhow::Result<Sample> {
    let mut numbers = ran.output.split_whitespace().filter_map(|word| word.parse::<f64>().ok());
    let (Some(tiles), Some(speed)) = (numbers.next(), numbers.next()) else {
        bail!("the load printed: {}", ran.output);
    };
    Ok(Sample { cost: ran.cpu_s() * 1e6 / tiles, speed })
}

/// A Python that has psycopg 3.
fn python() -> anyhow::Result<PathBuf> {
    let found = ["/usr/bin/python3"].map(PathBuf::from).into_iter().chain(daemon::found("python3"));
    let has = |python: &PathBuf| {
        child::run(python, &["-c", "import psycopg"].map(OsString::from), &[], None).is_ok()
    };
    let python = found.into_iter().find(has);
    python.with_context(|| Missing("no psycopg 3; setup/install psycopg".into()))
}
