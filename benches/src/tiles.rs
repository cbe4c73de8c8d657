//! Map tiles by clients, compared with pgbench and the same query.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::bail;

use crate::child::{self, processed, tps};
use crate::pairs::{CostSample, compare};

use crate::served::{PrivateServer, Way};
use crate::{Args, What, page, tile_load};

const CLIENTS: &str = "4";
/// The data: 200,000 boxes on a square of about 30 km.
const DATA: &str = "CREATE EXTENSION IF NOT EXISTS postgis; \
    CREATE TABLE boxes AS SELECT n AS id, 'box ' || n AS name, ST_MakeEnvelope(x, y, x + 20, y + 20, 3857) AS geom \
    FROM (SELECT n, 1600000 + n::bigint * 7919 % 30011 AS x, 4270000 + n::bigint * 104729 % 30013 AS y FROM generate_series(1, 200000) AS n) AS places; \
    CREATE INDEX ON boxes USING gist (geom); ANALYZE boxes; CHECKPOINT";
/// Columns and rows of zoom 15 inside it.
const COLUMNS: [u32; 2] = [17_693, 17_715];
const ROWS: [u32; 2] = [12_871, 12_892];
const QUERY: &str = "SELECT ST_AsMVT(t, 'boxes', 4096, 'geom') FROM (SELECT id, name, ST_AsMVTGeom(geom, \
    ST_TileEnvelope(:z, :x, :y)) AS geom FROM boxes WHERE geom && ST_TileEnvelope(:z, :x, :y)) AS t";

/// Client CPU per tile and tiles per second.
pub(crate) fn by_clients(options: &Args) -> anyhow::Result<()> {
    let title = format!("Map tiles, {CLIENTS} clients, one thread");
    println!("{}", page::title(options, What::Tiles, &title, ""));
    let server = PrivateServer::start(options, Way::Socket, 1, 64)?;
    server.execute(DATA)?;
    let folder = tempfile::Builder::new().prefix("pgdyno-benches").tempdir()?;
    let files = Files::write(folder.path())?;
    println!("{}", page::COST_HEAD.replace("per tx", "per tile"));
    let compared = compare(
        options.pairs(),
        options.patience(),
        || ours(options, &server, &files),
        || by_pgbench(options, &server, &files),
    )?;
    println!("{}", page::cost_row("prepared", 4, &compared));
    Ok(())
}

/// The query in each program's form.
struct Files {
    ours: PathBuf,
    pgbench: PathBuf,
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
        Ok(Self { ours: write("tile.sql", QUERY.to_owned())?, pgbench: write("pgbench.sql", draws)? })
    }
}

fn ours(options: &Args, server: &PrivateServer, files: &Files) -> anyhow::Result<CostSample> {
    let socket = server.socket_folder().join(format!(".s.PGSQL.{}", server.port())).display().to_string();
    let seconds = options.seconds.to_string();
    let words = [tile_load::WORD, &socket, &files.ours.display().to_string(), CLIENTS, &seconds];
    let ran = child::run(&std::env::current_exe()?, &words.map(OsString::from), &[])?;
    let mut numbers = ran.output.split_whitespace().filter_map(|word| word.parse::<f64>().ok());
    let (Some(tiles), Some(speed)) = (numbers.next(), numbers.next()) else {
        bail!("the load printed: {}", ran.output);
    };
    Ok(CostSample { cost: ran.cpu_s * 1e6 / tiles, speed })
}

fn by_pgbench(options: &Args, server: &PrivateServer, files: &Files) -> anyhow::Result<CostSample> {
    let seconds = options.seconds.to_string();
    let script = files.pgbench.display().to_string();
    let words = ["-n", "-M", "prepared", "-c", CLIENTS, "-j", "1", "-T", &seconds, "-f", &script];
    let ran = child::run(&server.pgbench, &words.map(OsString::from), &server.env)?;
    Ok(CostSample { cost: ran.cpu_s * 1e6 / processed(&ran)?, speed: tps(&ran)? })
}
