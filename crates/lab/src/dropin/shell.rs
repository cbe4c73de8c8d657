//! Runs the commands of `\shell` and `\setshell`, each on its own thread, so that no load thread waits for
//! one.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use workloads::pgbench::{Shell, ShellCommand, ShellDone, WhenDone};

/// Bytes kept of a command's first line; pgbench reads 63.
const LINE: u64 = 64;

/// The system's shell, `sh`. A client runs one command at a time, so there are never more threads than
/// clients.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShellRunner;

impl Shell for ShellRunner {
    fn start(&self, command: ShellCommand, done: WhenDone) {
        // Kept so that it can still be called if no thread can be created.
        let done = Arc::new(Mutex::new(Some(done)));
        let tell = {
            let done = Arc::clone(&done);
            move |outcome| {
                let done = done.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some(done) = done {
                    done(outcome);
                }
            }
        };
        let elsewhere = tell.clone();
        let started = thread::Builder::new().name("shell".to_owned()).spawn(move || elsewhere(run(&command)));
        if started.is_err() {
            tell(ShellDone::NotStarted);
        }
    }
}

/// Runs a command until it ends. As in pgbench, output after the first line may find a closed pipe.
fn run(command: &ShellCommand) -> ShellDone {
    let output = if command.capture { Stdio::piped() } else { Stdio::inherit() };
    let child = Command::new("sh").arg("-c").arg(OsStr::from_bytes(&command.text)).stdout(output).spawn();
    let Ok(mut child) = child else { return ShellDone::NotStarted };
    let mut line = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        // Bytes read before an error count.
        let _ = BufReader::new(stdout.take(LINE)).read_until(b'\n', &mut line);
    }
    let success = child.wait().is_ok_and(|status| status.success());
    ShellDone::Ended { success, output: line }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn outcome(text: &[u8], capture: bool) -> ShellDone {
        let (sender, receiver) = mpsc::channel();
        let done = Box::new(move |done| sender.send(done).unwrap());
        ShellRunner.start(ShellCommand { text: text.to_vec(), capture }, done);
        receiver.recv().unwrap()
    }

    #[test]
    fn commands_end_with_their_status_and_first_line() {
        let ended = |success, output: &[u8]| ShellDone::Ended { success, output: output.to_vec() };
        assert_eq!(outcome(b"true", false), ended(true, b""));
        assert_eq!(outcome(b"exit 3", false), ended(false, b""));
        // The exit status depends on whether its second line comes before the pipe is closed.
        let ShellDone::Ended { output, .. } = outcome(b"echo 5; echo 6", true) else { panic!("ran") };
        assert_eq!(output, b"5\n");
        assert_eq!(outcome(b"printf 7", true), ended(true, b"7"));
        assert_eq!(outcome(b"exit 1", true), ended(false, b""));
        assert_eq!(outcome(b"no-such-program-here 2>/dev/null", true), ended(false, b""));
        assert_eq!(outcome(b"printf '\\351\\n'", true), ended(true, b"\xe9\n"));
    }

    #[test]
    fn a_command_that_never_stops_talking_is_cut() {
        let ShellDone::Ended { output, .. } = outcome(b"yes x | tr -d '\\n'", true) else { panic!("ran") };
        assert_eq!(output, [b'x'; 64]);
    }
}
