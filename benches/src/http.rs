//! Bodies of 1 kB and 20 kB of nginx at 50 connections, compared with wrk and oha.

use std::ffi::OsString;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use engine::StopFlag;
use server::child::{Child, Program};
use workloads::http::{Http, HttpOptions};
use workloads::{ClientWorkload, Clients, Places};

use crate::child;
use crate::pairs::{CostSample, compare};
use crate::redis_load::plan;
use crate::{Args, MissingRequirement, What, or_report, page};

const CLIENTS: &str = "50";
/// Workers of the server: with one it is always busy, and clients sleep in between; with one per CPU the
/// server waits for clients.
const WORKERS: [&str; 2] = ["1", "auto"];
/// Bytes of a body; nginx is configured not to compress them.
const BODIES: [usize; 2] = [1_000, 20_000];

/// Both bodies: client CPU per request, requests per second.
pub(crate) fn bodies(options: &Args) -> anyhow::Result<()> {
    let title = format!("HTTP, nginx, {CLIENTS} connections");
    println!("{}", page::title(options, What::Http, &title, ""));
    WORKERS.into_iter().try_for_each(|workers| before(options, workers))
}

/// Compares with all others on a server with this many workers.
fn before(options: &Args, workers: &str) -> anyhow::Result<()> {
    println!("nginx with `worker_processes {workers}`:\n");
    let server = Nginx::start(workers)?;
    let installed = |name: &str| {
        found(name).ok_or_else(|| MissingRequirement(format!("no {name}; setup/install {name}")).into())
    };
    or_report(compare_with(options, &server, "wrk", installed("wrk"), by_wrk))?;
    or_report(compare_with(options, &server, "oha", installed("oha"), by_oha))
}

/// One measurement by another program: its path, a URL, seconds.
type By = fn(&Path, &str, u32) -> anyhow::Result<CostSample>;

fn compare_with(
    options: &Args,
    server: &Nginx,
    name: &str,
    program: anyhow::Result<PathBuf>,
    by: By,
) -> anyhow::Result<()> {
    let program = program?;
    println!("{}", page::COST_HEAD.replace("pgbench", name));
    for bytes in BODIES {
        let url = server.url(bytes);
        let compared = compare(
            options.pairs(),
            options.patience(),
            || ours(&url, options.seconds),
            || by(&program, &url, options.seconds),
        )?;
        println!("{}", page::cost_row(&format!("{bytes} bytes"), 50, &compared));
    }
    Ok(())
}

/// In `PATH`, or where `setup/install` puts what it builds.
fn found(name: &str) -> Option<PathBuf> {
    let built = ["target/tools/bin", "/opt/pgdyno/tools/bin"].map(|folder| Path::new(folder).join(name));
    child::found(name).or_else(|| built.into_iter().find(|path| path.is_file()))
}

fn ours(url: &str, seconds: u32) -> anyhow::Result<CostSample> {
    let words = [WORD, url, CLIENTS, &seconds.to_string()];
    let ran = child::run(&std::env::current_exe()?, &words.map(OsString::from), &[])?;
    let mut numbers = ran.output.split_whitespace().filter_map(|word| word.parse::<f64>().ok());
    let (Some(requests), Some(speed)) = (numbers.next(), numbers.next()) else {
        bail!("the load printed: {}", ran.output);
    };
    Ok(CostSample { cost: ran.cpu_s * 1e6 / requests, speed })
}

/// `  123456 requests in 5.00s, 135.2MB read` and `Requests/sec:  24691.2`.
fn by_wrk(program: &Path, url: &str, seconds: u32) -> anyhow::Result<CostSample> {
    let words = ["-t", "1", "-c", CLIENTS, "-d", &seconds.to_string(), url];
    let ran = child::run(program, &words.map(OsString::from), &[])?;
    let before = |mark: &str| {
        let line = ran.output.lines().find(|line| line.contains(mark))?;
        line.split_whitespace().next()?.parse::<f64>().ok()
    };
    let speed = ran.output.lines().find_map(|line| line.strip_prefix("Requests/sec:"));
    let speed = speed.and_then(|speed| speed.trim().parse().ok());
    let (requests, speed) = before(" requests in ")
        .zip(speed)
        .filter(|_| !ran.output.contains("Socket errors") && !ran.output.contains("Non-2xx"))
        .with_context(|| format!("wrk printed:\n{}", ran.output))?;
    Ok(CostSample { cost: ran.cpu_s * 1e6 / requests, speed })
}

fn by_oha(program: &Path, url: &str, seconds: u32) -> anyhow::Result<CostSample> {
    let duration = format!("{seconds}s");
    let words =
        ["--no-tui", "--output-format", "json", "-c", CLIENTS, "-z", &duration, "--disable-compression", url];
    let env = [("TOKIO_WORKER_THREADS".to_owned(), "1".to_owned())];
    let ran = child::run(program, &words.map(OsString::from), &env)?;
    let report: serde_json::Value =
        serde_json::from_str(&ran.output).with_context(|| format!("oha printed:\n{}", ran.output))?;
    let requests = report["statusCodeDistribution"]["200"].as_f64();
    let (requests, speed) = requests
        .zip(report["summary"]["requestsPerSec"].as_f64())
        .with_context(|| format!("oha printed:\n{}", ran.output))?;
    Ok(CostSample { cost: ran.cpu_s * 1e6 / requests, speed })
}

struct Nginx {
    port: u16,
    _child: Child,
    _folder: tempfile::TempDir,
}

impl Nginx {
    fn start(workers: &str) -> anyhow::Result<Self> {
        let program = child::found("nginx")
            .ok_or_else(|| MissingRequirement("no nginx; setup/install nginx".into()))?;
        let folder = tempfile::Builder::new().prefix("pgdyno-benches").tempdir()?;
        let place = folder.path();
        // Its worker may run as another user.
        std::fs::set_permissions(place, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        for bytes in BODIES {
            std::fs::write(place.join(format!("{bytes}.bin")), vec![b'x'; bytes])?;
        }
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let socket = place.join("ready.sock");
        let config = place.join("nginx.conf");
        std::fs::write(&config, configuration(place, &socket, (workers, port)))?;
        let order = Program::new(program).arg("-c").arg(&config).arg("-e").arg(place.join("error.log"));
        let child = child::start_daemon(&order, &socket, &place.join("nginx.log"))?;
        Ok(Self { port, _child: child, _folder: folder })
    }

    fn url(&self, bytes: usize) -> String {
        format!("http://127.0.0.1:{}/{bytes}.bin", self.port)
    }
}

/// In the foreground, without a log, with cached files and long connections; the Unix socket shows that it is
/// up.
fn configuration(place: &Path, socket: &Path, (workers, port): (&str, u16)) -> String {
    let (place, socket) = (place.display(), socket.display());
    format!(
        "daemon off;\nworker_processes {workers};\npid {place}/nginx.pid;\nevents {{ worker_connections 1024; }}\n\
         http {{\n  access_log off;\n  sendfile on;\n  tcp_nopush on;\n  keepalive_requests 1000000000;\n\
         \x20 open_file_cache max=16;\n  client_body_temp_path {place}/body;\n  proxy_temp_path {place}/proxy;\n\
         \x20 fastcgi_temp_path {place}/fastcgi;\n  uwsgi_temp_path {place}/uwsgi;\n  scgi_temp_path {place}/scgi;\n\
         \x20 server {{\n    listen 127.0.0.1:{port};\n    listen unix:{socket};\n    root {place};\n  }}\n}}\n"
    )
}

/// The hidden argument of [`load`].
pub(crate) const WORD: &str = "http-load";

/// Runs the load in a separate process, so that its CPU can be measured: `URL CLIENTS SECONDS`. Prints
/// requests and requests per second.
pub(crate) fn load(arguments: &[OsString]) -> anyhow::Result<()> {
    let word = |index: usize| arguments.get(index).and_then(|word| word.to_str()).context("arguments");
    let options = HttpOptions { gzip: false, ..HttpOptions::new(word(0)?) };
    let workload = Http::open(&options, "".as_ref())?;
    let wanted = Clients { count: word(1)?.parse()?, threads: 1, seed: 1, statements: false };
    let load = workload.clients(&Places::default(), wanted)?;
    let measured = engine::run(&plan(word(2)?.parse()?), load, &mut (), &StopFlag::new())?;
    let totals = measured.totals();
    anyhow::ensure!(totals.failed == 0, "{} requests failed: {:?}", totals.failed, measured.messages);
    let done = totals.processed();
    println!("{done} {}", done as f64 * 1e9 / measured.elapsed as f64);
    Ok(())
}
