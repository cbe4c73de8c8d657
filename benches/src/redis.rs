//! Redis compared with redis-benchmark: GET and SET, large and small values, one command at a time and
//! pipelines. Values of many sizes are compared with values of their mean, since redis-benchmark has only one
//! size.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use server::child::{Child, Program};

use crate::child::{self, Ran};
use crate::pairs::{CostSample, compare};
use crate::{Args, MissingRequirement, What, page, redis_load};

const CLIENTS: u32 = 50;
const KEYS: &str = "1000";
/// Bytes per run of redis-benchmark, for about the same time as ours. Both count the requests of a pipeline
/// one by one.
const BYTES: f64 = 6e9;

#[derive(Debug, Clone, Copy)]
struct RedisRow {
    command: &'static str,
    bytes: u32,
    /// Our values range from `bytes` minus this to `bytes` plus this.
    spread: u32,
    pipeline: u32,
}

impl fmt::Display for RedisRow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (command, bytes, pipeline) = (self.command, self.sizes(), self.pipeline);
        let at_once = if pipeline > 1 { format!(", {pipeline} at once") } else { String::new() };
        write!(formatter, "{command}, {bytes} bytes{at_once}")
    }
}

impl RedisRow {
    fn all() -> impl Iterator<Item = Self> {
        let sizes = [(32_000, 0, 1), (32_000, 0, 16), (3, 0, 1), (3, 0, 16), (32_000, 31_000, 1)];
        let all = ["GET", "SET"].into_iter().flat_map(move |command| sizes.map(|of| (command, of)));
        all.map(|(command, (bytes, spread, pipeline))| Self { command, bytes, spread, pipeline })
    }

    /// The sizes as the load's argument: `32000`, `1000-63000`.
    fn sizes(self) -> String {
        match self.spread {
            0 => self.bytes.to_string(),
            spread => format!("{}-{}", self.bytes - spread, self.bytes + spread),
        }
    }

    /// Requests of redis-benchmark for about two seconds.
    fn requests(self) -> f64 {
        match (self.bytes, self.pipeline) {
            (3, 1) => 200_000.0,
            (3, _) => 1_500_000.0,
            _ => (BYTES / f64::from(self.bytes)).min(100_000.0),
        }
    }
}

/// All rows: client CPU per request, requests per second.
pub(crate) fn print_values(options: &Args) -> anyhow::Result<()> {
    let title = format!("Redis, {CLIENTS} clients, per request");
    println!("{}", page::title(options, What::Redis, &title, ""));
    let server = BenchRedis::start()?;
    println!("{}", page::COST_HEAD.replace("pgbench", "redis-benchmark").replace("tps", "requests/s"));
    for row in RedisRow::all() {
        // redis-benchmark uses other keys, and a GET of a missing key is fast.
        server.load("fill", row, 0)?;
        theirs(&server, RedisRow { command: "SET", ..row })?;
        let compared = compare(
            options.pairs(),
            options.patience(),
            || ours(options, &server, row),
            || theirs(&server, row),
        )?;
        println!("{}", page::cost_row(&row.to_string(), CLIENTS, &compared));
    }
    Ok(())
}

fn ours(options: &Args, server: &BenchRedis, row: RedisRow) -> anyhow::Result<CostSample> {
    let ran = server.load(row.command, row, options.seconds)?;
    let mut numbers = ran.output.split_whitespace().filter_map(|word| word.parse::<f64>().ok());
    let (Some(requests), Some(speed)) = (numbers.next(), numbers.next()) else {
        bail!("the load printed: {}", ran.output);
    };
    Ok(CostSample { cost: ran.cpu_s * 1e6 / requests, speed })
}

fn theirs(server: &BenchRedis, row: RedisRow) -> anyhow::Result<CostSample> {
    let socket = server.socket.display().to_string();
    let [count, clients, bytes, pipeline] =
        [row.requests() as u64, CLIENTS.into(), row.bytes.into(), row.pipeline.into()].map(|n| n.to_string());
    let arguments = [
        "-s",
        &socket,
        "-t",
        row.command,
        "-d",
        &bytes,
        "-c",
        &clients,
        "-n",
        &count,
        "-r",
        KEYS,
        "-P",
        &pipeline,
        "--csv",
    ];
    let ran = child::run(Path::new("redis-benchmark"), &arguments.map(OsString::from), &[])?;
    let line = ran.output.lines().last().unwrap_or_default();
    let speed = line.split(',').nth(1).and_then(|word| word.trim_matches('"').parse().ok());
    let speed = speed.with_context(|| format!("redis-benchmark printed:\n{}", ran.output))?;
    Ok(CostSample { cost: ran.cpu_s * 1e6 / row.requests(), speed })
}

struct BenchRedis {
    socket: PathBuf,
    _child: Child,
    _folder: tempfile::TempDir,
}

impl BenchRedis {
    fn start() -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("pgdyno-benches").tempdir()?;
        let socket = folder.path().join("redis.sock");
        let program =
            child::found("redis-server").ok_or_else(|| MissingRequirement("no redis-server".into()))?;
        let order = Program::new(program)
            .args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"])
            .arg(&socket);
        let child = child::start_daemon(&order, &socket, &folder.path().join("redis.log"))?;
        Ok(Self { socket, _child: child, _folder: folder })
    }

    fn load(&self, what: &str, row: RedisRow, seconds: u32) -> anyhow::Result<Ran> {
        let socket = self.socket.display().to_string();
        let [clients, pipeline, seconds] = [CLIENTS, row.pipeline, seconds].map(|number| number.to_string());
        let words = [redis_load::WORD, what, &socket, &clients, &row.sizes(), &pipeline, &seconds];
        child::run(&std::env::current_exe()?, &words.map(OsString::from), &[])
    }
}
