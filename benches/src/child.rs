//! Other programs: run to their end, or started as servers.

use std::ffi::OsString;
use std::fs::File;
use std::ops::RangeInclusive;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use server::child::{Child, Program, Watchdog};

use crate::stop;

#[derive(Debug, Clone)]
pub(crate) struct Ran {
    pub(crate) output: String,
    pub(crate) errors: String,
    /// User and system CPU, s.
    pub(crate) cpu_s: f64,
    /// From start to end, s.
    pub(crate) wall_s: f64,
    /// The most memory that it had at once.
    pub(crate) peak_bytes: u64,
}

/// Runs a program to its end.
///
/// # Errors
/// When it failed, with its output; when a signal ended it.
pub(crate) fn run(program: &Path, arguments: &[OsString], env: &[(String, String)]) -> anyhow::Result<Ran> {
    run_until(program, arguments, env, 0..=0)
}

/// As [`run`], where each of these exit statuses is a success.
pub(crate) fn run_until(
    program: &Path,
    arguments: &[OsString],
    env: &[(String, String)],
    good: RangeInclusive<i32>,
) -> anyhow::Result<Ran> {
    let mut command = Command::new(program);
    let name = format!("{} {arguments:?}", program.display());
    command.args(arguments).envs(env.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let since = Instant::now();
    let mut child = stop::start_load(|| command.spawn().with_context(|| format!("cannot start {name}")))?;
    let output = read_all(child.stdout.take());
    let errors = read_all(child.stderr.take());
    let (output, errors) = (read_output(output), read_output(errors));
    stop::load_ended();
    let (status, usage) = wait(child.id())?;
    let wall_s = since.elapsed().as_secs_f64();
    stop::check()?;
    if !good.contains(&status) {
        bail!("{name} ended with status {status}:\n{errors}{output}");
    }
    let cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    Ok(Ran { output, errors, cpu_s, wall_s, peak_bytes: peak_bytes(&usage) })
}

type Reader = Option<std::thread::JoinHandle<String>>;

fn read_all(stream: Option<impl std::io::Read + Send + 'static>) -> Reader {
    let mut stream = stream?;
    Some(std::thread::spawn(move || {
        let mut text = String::new();
        // Output that is not text is ignored.
        let _ = stream.read_to_string(&mut text);
        text
    }))
}

fn read_output(reader: Reader) -> String {
    reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
}

fn wait(pid: u32) -> anyhow::Result<(i32, libc::rusage)> {
    let mut status = 0;
    // SAFETY: all-zero bytes are a valid value of the struct, and both pointers are valid during the call.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let waited = unsafe { libc::wait4(pid as libc::pid_t, &mut status, 0, &mut usage) };
    if waited < 0 {
        bail!("cannot wait for a child: {}", std::io::Error::last_os_error());
    }
    let code = if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 128 + libc::WTERMSIG(status) };
    Ok((code, usage))
}

/// The kernel counts in bytes on macOS, elsewhere in kilobytes.
fn peak_bytes(usage: &libc::rusage) -> u64 {
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    usage.ru_maxrss.unsigned_abs() * unit
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

/// How long a server may take to make its socket.
const START_TIMEOUT: Duration = Duration::from_secs(5);

/// A program in `PATH`, or in the usual folder of services.
pub(crate) fn found(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin")])
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}

/// Starts a server under a watchdog and waits for its socket; its output goes to `log`. It ends with its
/// value, and with this program.
///
/// # Errors
/// When it does not start, with its output.
pub(crate) fn start_daemon(order: &Program, socket: &Path, log: &Path) -> anyhow::Result<Child> {
    let mut child = Watchdog::current()?.start(order, &File::create(log)?)?;
    let start = Instant::now();
    while !socket.exists() {
        if start.elapsed() > START_TIMEOUT || child.wait(Duration::from_millis(10))?.is_some() {
            let said = std::fs::read_to_string(log).unwrap_or_default();
            bail!("{} did not start: {said}", order.path.display());
        }
    }
    Ok(child)
}

/// Processed transactions, from the output of pgbench or pgdyno.
pub(crate) fn processed(ran: &Ran) -> anyhow::Result<f64> {
    number(&ran.output, "number of transactions actually processed: ")
}

/// Transactions per second, without connecting.
pub(crate) fn tps(ran: &Ran) -> anyhow::Result<f64> {
    number(&ran.output, "tps = ")
}

fn number(output: &str, before: &str) -> anyhow::Result<f64> {
    let rest = output.lines().find_map(|line| line.strip_prefix(before));
    let digits =
        rest.map(|rest| rest.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default());
    digits.and_then(|digits| digits.parse().ok()).with_context(|| format!("no \"{before}\" in:\n{output}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_in_a_report() {
        let output = "number of transactions actually processed: 1234/2000\ntps = 617.5 (without initial connection time)\n";
        let ran =
            Ran { output: output.into(), errors: String::new(), cpu_s: 0.0, wall_s: 0.0, peak_bytes: 0 };
        assert_eq!(processed(&ran).unwrap(), 1234.0);
        assert_eq!(tps(&ran).unwrap(), 617.5);
        assert!(number("tps = \n", "tps = ").is_err());
    }
}
