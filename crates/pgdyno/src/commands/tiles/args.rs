//! The arguments of `pgdyno tiles`: layers and tiles, with `bench`'s options for load and comparison.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};
use toml::Value;
use workloads::tiles::Via;

use super::ways::way;
use super::zooms::zooms;
use crate::commands::bench::against_args::{BuildArgs, Compare, margin};
use crate::options::{AnswerMetric, KnownValues, OutputArgs, WrittenSlices};

/// `pgdyno tiles`.
#[derive(Debug, Args)]
#[command(version, disable_help_flag = true, args_override_self = true, infer_long_args = true)]
#[command(
    after_help = "How fast are my tiles, and where does the time go?\n  pgdyno tiles -d gis --zooms 8-16 planet_osm_polygon\n\
    Which of my two queries is faster, and at which zoom?\n  pgdyno tiles -d gis old.sql --against new.sql\n\
    Without a database, from an extract:\n  pgdyno tiles --osm malta.osm.pbf planet_osm_polygon --report tiles.html\n\
    How long would a seed of all tiles take?\n  pgdyno tiles -d gis --once --zooms 0-12 -c 4 planet_osm_polygon\n\
    How tiles are chosen, placeholders of queries, and traps: docs/how-to/tiles.md"
)]
pub(crate) struct TilesArgs {
    /// Print help
    #[arg(long, short = '?', action = ArgAction::Help)]
    help: Option<bool>,
    /// Source of the tiles: a table, a function such as `roads()`, or a file with a query. Several are measured together
    #[arg(value_name = "LAYER", required = true)]
    pub(super) layers: Vec<String>,
    /// Also write this as an experiment file, for `pgdyno run FILE`
    #[arg(long, value_name = "FILE")]
    pub(super) save: Option<PathBuf>,
    /// Show the plan, and run nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Measure again what is finished, as a new experiment
    #[arg(long)]
    pub(super) again: bool,
    /// Also write the HTML report to this file
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    // Last: what follows a heading is under it.
    #[command(flatten)]
    pub(super) tiles: Which,
    #[command(flatten)]
    pub(super) load: TilesLoadArgs,
    #[command(flatten)]
    pub(super) server: Where,
    #[command(flatten)]
    pub(super) arms: Arms,
}

/// Which tiles are asked for.
#[derive(Debug, Args)]
#[command(next_help_heading = "Tiles")]
pub(super) struct Which {
    /// Lowest and highest zoom, such as 12-16. Or zooms with their frequencies: 12=1,14=6 [default: 12-16]
    #[arg(short = 'z', long, value_name = "ZOOMS", value_parser = zooms)]
    pub(super) zooms: Option<Value>,
    /// How to choose tiles: data (tiles of random features), uniform (any tile within the bounds), sessions (users who
    /// pan and zoom) [default: data]
    #[arg(long, value_name = "HOW", value_parser = PICKERS, hide_possible_values = true)]
    pub(super) picker: Option<String>,
    /// Read the tiles from this list: lines of z/x/y or z/x/y N (N requests), or a web server's access log; also with
    /// gzip, or through a pipe (-)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["picker", "zooms"])]
    pub(super) trace: Option<PathBuf>,
    /// Choose tiles by the features of this table, where layers are not tables
    #[arg(long, value_name = "TABLE")]
    pub(super) pick_from: Option<String>,
    /// Columns in tiles of tables, separated by commas; may be empty [default: all; of osm2pgsql's tables those that
    /// styles use]
    #[arg(long, value_name = "NAMES", value_parser = columns)]
    pub(super) columns: Option<Columns>,
    /// Choose tiles within west, south, east and north, in degrees [default: the bounds of the data]
    #[arg(long, value_name = "W,S,E,N", value_parser = bounds, allow_hyphen_values = true)]
    pub(super) bounds: Option<Bounds>,
    /// Tiles to choose for each layer and zoom; clients draw among them [default: 200]
    #[arg(long, value_name = "N")]
    pub(super) tiles: Option<u32>,
    /// Leave out polygons smaller than this, in square pixels. 0 keeps all [default: 4]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(super) min_pixels: Option<f64>,
    /// Query for tiles of tables: modern, unfiltered (all polygons) or historic (from a study of 2021) [default:
    /// modern]
    #[arg(long, value_name = "VARIANT", value_parser = VARIANTS, hide_possible_values = true)]
    pub(super) variant: Option<String>,
    /// How to get tiles: sql, tipg or martin (tile servers that pgdyno starts), redis (a cache), or the URL of a web
    /// server with {z}, {x}, {y} and {layer} [default: sql]
    #[arg(long, value_name = "WAY", value_parser = way)]
    pub(super) via: Option<Via>,
    /// HTTP statuses that mean an empty tile, such as 404,410; 204 always does
    #[arg(long, value_name = "STATUS", value_delimiter = ',')]
    pub(super) empty_status: Vec<u16>,
    /// Put all layers into one tile, with one statement
    #[arg(long)]
    pub(super) together: bool,
    /// Accept layers without any feature
    #[arg(long)]
    pub(super) may_be_empty: bool,
    /// Request every tile of --zooms and --bounds, or of --trace, once, and time it as a whole. Continues after an
    /// interruption; with -T, the rest is estimated
    #[arg(long)]
    pub(super) once: bool,
    /// Write the tiles into this MBTiles file
    #[arg(long, value_name = "FILE", requires = "once")]
    pub(super) mbtiles: Option<PathBuf>,
}

/// How hard they are asked for, and how long.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(super) struct TilesLoadArgs {
    /// Number of clients. In sessions each client is a user with six connections
    #[arg(short = 'c', long, alias = "client", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) clients: u32,
    /// Number of threads, at most one for each client
    #[arg(short = 'j', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) jobs: u32,
    /// Seconds of each round, shared by all sides; with --once, the maximum [default: 10; with --once no limit]
    #[arg(short = 'T', long, alias = "time", value_name = "SEC", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) duration: Option<u64>,
    /// Warm-up in seconds, which does not count
    #[arg(long, value_name = "SEC", default_value_t = 1.0, allow_negative_numbers = true)]
    pub(super) warmup: f64,
    /// Maximum seconds for the check of each workload before its runs, and for the plans after one [default: 10]
    #[arg(long, value_name = "SEC", value_parser = crate::options::check_time)]
    pub(super) check_time: Option<Duration>,
    /// Number of rounds. A larger number extends a finished comparison [default: 3; with --against 12; with --once 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) rounds: Option<u32>,
    /// Rate in tiles (with sessions: views) per second over all clients; or a rate that changes, as in pgdyno bench
    #[arg(short = 'R', long, value_name = "TPS")]
    pub(super) rate: Option<String>,
    /// Latency limit in milliseconds. Slower tiles count as late
    #[arg(short = 'L', long, alias = "promise", value_name = "MS", allow_negative_numbers = true)]
    pub(super) latency_limit: Option<f64>,
    /// Seed of all random numbers [default: derived from the plan]
    #[arg(long, value_name = "N")]
    pub(super) random_seed: Option<String>,
}

/// Where the server is, and what is put on it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connection")]
pub(super) struct Where {
    /// Database name, connection string or URI [default: a private server]
    #[arg(short = 'd', long, alias = "url", value_name = "DBNAME|URI")]
    pub(super) dbname: Option<String>,
    /// Host or socket folder of the server
    #[arg(short = 'h', long, value_name = "HOST")]
    pub(super) host: Option<String>,
    /// Port of the server
    #[arg(short = 'p', long, value_name = "PORT")]
    pub(super) port: Option<String>,
    /// User name
    #[arg(short = 'U', long, value_name = "NAME")]
    pub(super) username: Option<String>,
    /// Use the private server of this name [name: default]
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "default")]
    pub(super) managed: Option<String>,
    /// Load this extract (.osm.pbf) into the private server first, if it is not loaded
    #[arg(long, value_name = "FILE")]
    pub(super) osm: Option<PathBuf>,
    /// SQL file, or plain dump of pg_dump, to load into the private server first, after --osm (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(super) sql: Vec<PathBuf>,
}

impl Where {
    /// Database, host, port and user.
    pub(super) fn given(&self) -> [Option<&str>; 4] {
        [&self.dbname, &self.host, &self.port, &self.username].map(Option::as_deref)
    }
}

/// What is compared.
#[derive(Debug, Args)]
#[command(next_help_heading = "Comparison")]
pub(super) struct Arms {
    /// Compare with another table, function() or file.sql (repeatable), with a change ('settings: jit=off', 'version:
    /// 18', 'url: postgres://…', 'sql: create index …'), or with other ways to get the tiles ('via: tipg, martin')
    #[arg(long, value_name = "LAYER|CHANGE", allow_hyphen_values = true)]
    pub(super) against: Vec<String>,
    /// SQL that undoes 'sql: …'. Required, except on a private server
    #[arg(long, value_name = "SQL", requires = "against")]
    undo: Option<String>,
    /// Allow changes of the whole server: settings by a reload, and SQL. They are undone at the end
    #[arg(long, requires = "against")]
    change_server: bool,
    /// Differences below this count as "the same", in percent [default: 3]
    #[arg(long, value_name = "PCT", value_parser = margin, allow_negative_numbers = true, requires = "against")]
    margin: Option<f64>,
    #[command(flatten)]
    pub(super) builds: BuildArgs,
    /// Whether both sides take turns in short slices: auto, true, false or a length such as 100ms [default: auto]
    #[arg(long, value_name = "WHICH", value_parser = WrittenSlices::VALUES, hide_possible_values = true, requires = "against")]
    pub(super) slices: Option<WrittenSlices>,
    /// Metric that decides the verdict [default: tps]
    #[arg(long, value_enum, value_name = "METRIC", requires = "against")]
    pub(super) metric: Option<AnswerMetric>,
    /// Allow both arms to be the same, to see random differences alone
    #[arg(long, requires = "against")]
    pub(super) same: bool,
}

impl Arms {
    /// As in `bench`, without the change.
    pub(super) fn compare(&self) -> Compare {
        let Self { undo, change_server, margin, builds, .. } = self;
        Compare {
            against: Vec::new(),
            builds: builds.clone(),
            undo: undo.clone(),
            change_server: *change_server,
            margin: *margin,
        }
    }
}

const PICKERS: KnownValues<String> = KnownValues {
    read: |text| match text {
        "trace" => Err("a list of tiles is given by --trace FILE".to_owned()),
        other => Ok(other.to_owned()),
    },
    names: &["data", "uniform", "sessions"],
};

const VARIANTS: KnownValues<String> =
    KnownValues { read: |text| Ok(text.to_owned()), names: &workloads::tiles::Variant::NAMES };

/// Names of columns.
pub(super) type Columns = Vec<String>;

#[expect(clippy::unnecessary_wraps, reason = "the form of a parser of values")]
fn columns(text: &str) -> Result<Columns, String> {
    Ok(text.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect())
}

/// West, south, east, north.
pub(super) type Bounds = [f64; 4];

fn bounds(text: &str) -> Result<Bounds, String> {
    let parts: Option<Vec<f64>> = text.split(',').map(|part| part.trim().parse().ok()).collect();
    let four = parts.and_then(|parts| Bounds::try_from(parts).ok());
    four.ok_or_else(|| "must be west,south,east,north in degrees, such as 14.1,35.7,14.6,36.1".to_owned())
}
