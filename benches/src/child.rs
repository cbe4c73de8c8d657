//! A program run to its end, with the CPU it used.

use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};

use crate::stop;

/// What a run of a program took.
#[derive(Debug, Clone)]
pub(crate) struct Ran {
    /// What it printed on standard output.
    pub(crate) output: String,
    /// What it printed on standard error.
    pub(crate) errors: String,
    /// User and system CPU, s.
    pub(crate) cpu_s: f64,
    /// From its start to its end, s.
    pub(crate) wall_s: f64,
}

/// Runs a program to its end.
///
/// # Errors
/// When it failed, with what it said; when a signal ended it.
pub(crate) fn run(program: &Path, arguments: &[OsString], env: &[(String, String)]) -> anyhow::Result<Ran> {
    run_until(program, arguments, env, 0..=0)
}

/// The same, where each of these statuses is a good end.
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
    let (output, errors) = (join(output), join(errors));
    stop::load_ended();
    let (status, usage) = wait(child.id())?;
    let wall_s = since.elapsed().as_secs_f64();
    stop::check()?;
    if !good.contains(&status) {
        bail!("{name} ended with status {status}:\n{errors}{output}");
    }
    Ok(Ran { output, errors, cpu_s: seconds(usage.ru_utime) + seconds(usage.ru_stime), wall_s })
}

type Reader = Option<std::thread::JoinHandle<String>>;

fn read_all(stream: Option<impl std::io::Read + Send + 'static>) -> Reader {
    let mut stream = stream?;
    Some(std::thread::spawn(move || {
        let mut text = String::new();
        // What is not text is of no use here.
        let _ = stream.read_to_string(&mut text);
        text
    }))
}

fn join(reader: Reader) -> String {
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

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}
