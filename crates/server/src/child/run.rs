//! Runs programs to their end, with their output as stamped lines.

use std::io::Read;
use std::process::Stdio;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};
use spec::Error;

use super::lines::{OutputLine, Stream, micros_since, read_lines};
use super::message::ProgramEnd;
use super::stop_wait::{SLICE, StopWait};
use super::{Program, Watchdog};
use crate::stop::Stop;

/// The result of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FinishedProgram {
    pub ended: ProgramEnd,
    /// From its start to its end, µs.
    pub wall_us: u64,
    /// CPU of this process during the run, all threads, µs.
    pub own_cpu_us: u64,
    pub stopped: bool,
}

impl FinishedProgram {
    /// Whether it exited with code 0.
    #[must_use]
    pub fn success(&self) -> bool {
        self.ended.success() && !self.stopped
    }
}

impl Watchdog {
    /// Runs a program to its end under a watchdog, and passes every line of output to `on_line`. Calls `stop`
    /// about twenty times a second and stops the program once it returns `true`.
    ///
    /// # Errors
    /// When the program cannot be started or its watchdog was killed; a failing program is not an error here.
    pub fn run(
        &self,
        program: &Program,
        stop: &dyn Fn() -> bool,
        on_line: &mut dyn FnMut(OutputLine),
    ) -> Result<FinishedProgram, Error> {
        let (start, cpu_before) = (Instant::now(), own_cpu_us());
        let mut child = self.spawn(program, false, Stdio::piped(), Stdio::piped())?;
        let (sender, lines) = mpsc::channel();
        let to = (&sender, program.unwanted);
        read_in_thread(child.process.stdout.take(), Stream::Stdout, start, to);
        read_in_thread(child.process.stderr.take(), Stream::Stderr, start, to);
        drop(sender);
        let mut stopping: Option<StopWait> = None;
        // The lines end when the program and its watchdog have closed their ends.
        loop {
            match lines.recv_timeout(SLICE) {
                Ok(line) => on_line(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            match &stopping {
                None if stop() => {
                    child.ask_stop();
                    stopping = Some(StopWait::begin(&Stop::of_process()));
                }
                Some(stop_wait) if stop_wait.is_over() => return Err(child.leave()),
                _ => {}
            }
        }
        let ended = child.stop()?;
        let own_cpu_us = own_cpu_us().saturating_sub(cpu_before);
        Ok(FinishedProgram { ended, wall_us: micros_since(start), own_cpu_us, stopped: stopping.is_some() })
    }
}

/// CPU of this process so far, µs.
fn own_cpu_us() -> u64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as u64 * 1_000_000 + used.tv_nsec as u64 / 1_000
}

fn read_in_thread(
    source: Option<impl Read + Send + 'static>,
    stream: Stream,
    start: Instant,
    (sender, unwanted): (&Sender<OutputLine>, Option<&'static str>),
) {
    if let Some(source) = source {
        let sender = sender.clone();
        std::thread::spawn(move || {
            read_lines(source, stream, start, |line| {
                if !unwanted.is_some_and(|part| line.text.contains(part)) {
                    let _ = sender.send(line);
                }
            });
        });
    }
}
