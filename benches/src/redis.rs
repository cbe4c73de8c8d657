//! 32,000-byte values of Redis at 50 clients, beside redis-benchmark.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use target::child::{Child, Program};

use crate::child::{self, Ran};
use crate::pairs::{Sample, compare};
use crate::{Args, Missing, What, daemon, page, redis_load};

const CLIENTS: &str = "50";
const VALUE: &str = "32000";

/// GET and SET of both: client CPU per request, requests per second.
pub(crate) fn values(options: &Args) -> anyhow::Result<()> {
    let title = format!("Redis, 32,000-byte values, {CLIENTS} clients");
    println!("{}", page::title(options, What::Redis, &title, ""));
    let server = Redis::start()?;
    println!("{}", page::COST_HEAD.replace("pgbench", "redis-benchmark"));
    for command in ["GET", "SET"] {
        let compared = compare(
            options.pairs(crate::What::Redis),
            options.patience(),
            || ours(options, &server, command),
            || theirs(&server, command),
        )?;
        println!("{}", page::cost_row(command, 50, &compared));
    }
    Ok(())
}

fn ours(options: &Args, server: &Redis, command: &str) -> anyhow::Result<Sample> {
    let ran = server.load(command, options.seconds)?;
    let mut numbers = ran.output.split_whitespace().filter_map(|word| word.parse::<f64>().ok());
    let (Some(requests), Some(speed)) = (numbers.next(), numbers.next()) else {
        bail!("the load printed: {}", ran.output);
    };
    Ok(Sample { cost: ran.cpu_s() * 1e6 / requests, speed })
}

fn theirs(server: &Redis, command: &str) -> anyhow::Result<Sample> {
    let requests = 200_000.0;
    let socket = server.socket.display().to_string();
    let count = requests.to_string();
    let arguments =
        ["-s", &socket, "-t", command, "-d", VALUE, "-c", CLIENTS, "-n", &count, "-r", "1000", "--csv"];
    let ran = child::run(Path::new("redis-benchmark"), &arguments.map(OsString::from), &[], None)?;
    let line = ran.output.lines().last().unwrap_or_default();
    let speed = line.split(',').nth(1).and_then(|word| word.trim_matches('"').parse().ok());
    let speed = speed.with_context(|| format!("redis-benchmark printed:\n{}", ran.output))?;
    Ok(Sample { cost: ran.cpu_s() * 1e6 / requests, speed })
}

/// A private Redis; it goes with this value.
struct Redis {
    socket: PathBuf,
    _child: Child,
    _folder: tempfile::TempDir,
}

impl Redis {
    fn start() -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("pgdyno-benches").tempdir()?;
        let socket = folder.path().join("redis.sock");
        let program = daemon::found("redis-server").ok_or_else(|| Missing("no redis-server".into()))?;
        let order = Program::new(program)
            .args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"])
            .arg(&socket);
        let child = daemon::start(&order, &socket, &folder.path().join("redis.log"))?;
        let server = Self { socket, _child: child, _folder: folder };
        server.load("fill", 0)?;
        // Its keys have other names, and a GET of a key that is not there is quick.
        theirs(&server, "SET")?;
        Ok(server)
    }

    fn load(&self, what: &str, seconds: u32) -> anyhow::Result<Ran> {
        let socket = self.socket.display().to_string();
        let words = [redis_load::WORD, what, &socket, CLIENTS, VALUE, &seconds.to_string()];
        child::run(&std::env::current_exe()?, &words.map(OsString::from), &[], None)
    }
}
