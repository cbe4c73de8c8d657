//! The journal's watchdog process: waits for the end of its pgdyno, and restores what the journal then still
//! contains.
//!
//! Standard input is the lifeline. Its first line has the login; after that it only ends, when the kernel
//! closes it at the end of pgdyno. Nothing is restored while somebody holds the journal's lock, so never
//! under a living pgdyno. Everything after the end of the lifeline is over within 10 s, whatever the server
//! does.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use protocol::postgres::Config;

use super::access::Access;
use super::changes::Undoing;
use super::entry::{Claim, Claimed, JournalFile};
use super::recover::undo_over;
use crate::child::Watchdog;
use crate::control::{connect, places};

/// The answer when the watchdog is ready.
pub(super) const READY: &str = "ready";

/// Total time for restoring.
const BOUND: Duration = Duration::from_secs(9);
/// Total time for the commands of changes; the rest is for ending a longer one.
const COMMANDS_BOUND: Duration = Duration::from_millis(6500);
/// After this time, what needs no server is undone without it.
const WITHOUT_SERVER: Duration = Duration::from_secs(2);
/// Time between two checks of a locked journal: its pgdyno is dying, or restores it itself.
const HELD_PAUSE: Duration = Duration::from_millis(20);
/// Time between two attempts at a server.
const AGAIN_PAUSE: Duration = Duration::from_millis(250);

const RESTORED: i32 = 0;
const LEFT: i32 = 1;
const NOT_STARTED: i32 = 127;

/// Runs as the watchdog of a journal until its pgdyno has ended and the journal is undone, or cannot be;
/// `args` follow [`super::GUARD_ARGUMENT`]. Returns the exit code.
#[must_use]
pub fn guard_main(args: &[OsString]) -> i32 {
    let [path] = args else { return NOT_STARTED };
    ignore_signals();
    let Ok(lifeline) = io::stdin().as_fd().try_clone_to_owned() else { return NOT_STARTED };
    let lifeline = File::from(lifeline);
    let Ok(mut answers) = lifeline.try_clone() else { return NOT_STARTED };
    let mut lines = BufReader::new(lifeline);
    let file = JournalFile::at(Path::new(path)).map_err(|error| error.to_string());
    let (config, file) = match instructions(&mut lines).and_then(|config| Ok((config, file?))) {
        Ok(ready) => ready,
        Err(reason) => {
            let _ = writeln!(answers, "{}", reason.replace('\n', " "));
            return NOT_STARTED;
        }
    };
    // A pgdyno that is gone already has changed nothing: it waits for this answer first.
    let _ = writeln!(answers, "{READY}");
    drop(answers);
    let _ = io::copy(&mut lines, &mut io::sink());
    restore(file, config)
}

/// Ignores signals sent to all processes of a service or a terminal: the watchdog ends after pgdyno.
fn ignore_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: ignoring a signal installs no handler.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

fn instructions(lines: &mut impl BufRead) -> Result<Config, String> {
    let mut line = String::new();
    lines.read_line(&mut line).map_err(|error| error.to_string())?;
    let access: Access = serde_json::from_str(&line).map_err(|_| "the watchdog got no login".to_owned())?;
    access.config().map_err(|error| error.to_string())
}

/// The thread may hang on a silent server; it ends with the process.
fn restore(file: JournalFile, config: Config) -> i32 {
    let (done, over) = mpsc::channel();
    // An incomplete journal: the change was not made.
    file.remove_half();
    std::thread::spawn(move || {
        let _ = done.send(try_until_gone(&file, &config));
    });
    over.recv_timeout(BOUND).unwrap_or(LEFT)
}

fn try_until_gone(file: &JournalFile, config: &Config) -> i32 {
    let start = Instant::now();
    let Ok(watchdog) = Watchdog::current() else { return LEFT };
    let undoing = Undoing::within(&watchdog, COMMANDS_BOUND);
    loop {
        match Claim::take(file) {
            Claimed::Gone => return RESTORED,
            Claimed::Unreadable(_) => return LEFT,
            Claimed::Held => std::thread::sleep(HELD_PAUSE),
            Claimed::Ours(claim) if claim.entry.is_empty() => {
                return if claim.close().is_ok() { RESTORED } else { LEFT };
            }
            Claimed::Ours(mut claim) => {
                let undone = match connect(config) {
                    Ok(mut control) => undo_over(&mut control, *claim, &undoing).map(drop),
                    Err(error) => {
                        if start.elapsed() >= WITHOUT_SERVER {
                            undo_commands(&mut claim, config, &undoing);
                        }
                        Err(error)
                    }
                };
                if undone.is_ok() {
                    return RESTORED;
                }
                std::thread::sleep(AGAIN_PAUSE);
            }
        }
    }
}

/// If a private server was stopped with its pgdyno, undoes what commands changed on this machine.
fn undo_commands(claim: &mut Claim, config: &Config, undoing: &Undoing<'_>) {
    let Some(place) = places(config).into_iter().find_map(|(_, place)| place.ok()) else { return };
    if !undoing.undo_commands(&place, &mut claim.entry).is_empty() {
        // If this cannot be written, the next pgdyno undoes it once more.
        let _ = claim.rewrite();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_over_within_ten_seconds() {
        assert!(BOUND < Duration::from_secs(10) && COMMANDS_BOUND < BOUND);
    }

    #[test]
    fn a_watchdog_that_is_told_nothing_does_not_start() {
        for line in ["", "{}", "{\"dsn\":\"host='\",\"password\":null}"] {
            assert!(instructions(&mut line.as_bytes()).is_err(), "{line}");
        }
        let error = instructions(&mut b"{\"password\":\"geheim\"}".as_slice()).unwrap_err();
        assert!(!error.contains("geheim"), "{error}");
    }
}
