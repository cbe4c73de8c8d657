//! Runs programs to their end and keeps the last part of their output.

use std::io::{PipeReader, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use spec::Error;

use super::message::ProgramEnd;
use super::stop_wait::SLICE;
use super::{Program, Watchdog};

const KEPT: usize = 64 * 1024;
/// How long a program may take to stop before it is left to its watchdog.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);
/// How long to wait for the last output of a program that ended. Processes that it left running may hold the
/// pipe forever.
const LAST_OUTPUT: Duration = Duration::from_millis(300);

/// The result of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// `None` while it was still stopping: its watchdog ends it within 10 s.
    pub ended: Option<ProgramEnd>,
    pub stopped: bool,
    /// The last 64 KB of both streams; bytes that are not UTF-8 are replaced.
    pub output: String,
}

/// The end of a stream.
#[derive(Debug, Clone, Default)]
struct Tail(Arc<Mutex<Vec<u8>>>);

impl Tail {
    fn push(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(bytes);
        if kept.len() > 2 * KEPT {
            let over = kept.len() - KEPT;
            kept.drain(..over);
        }
    }

    fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept[kept.len().saturating_sub(KEPT)..]).into_owned()
    }
}

impl Watchdog {
    /// Runs a program to its end under a watchdog. Calls `give_up` about twenty times a second and stops the
    /// program with its process group once it returns `true`. Does not wait for processes that the program
    /// leaves running.
    ///
    /// # Errors
    /// When the program cannot be started or its watchdog was killed; a failing program is not an error here.
    pub fn run_captured(&self, program: &Program, give_up: &dyn Fn() -> bool) -> Result<Captured, Error> {
        let failed = |source| self.failed(source);
        let (reader, writer) = std::io::pipe().map_err(failed)?;
        let both = writer.try_clone().map_err(failed)?;
        let mut child = self.spawn(program, false, writer.into(), both.into())?;
        let tail = Tail::default();
        let reading = read_in_thread(reader, tail.clone());
        let mut stopping: Option<Instant> = None;
        let ended = loop {
            if let Some(ended) = child.wait(SLICE)? {
                break Some(ended);
            }
            match stopping {
                None if give_up() => {
                    child.ask_stop();
                    stopping = Some(Instant::now());
                }
                Some(since) if since.elapsed() >= STOP_TIMEOUT => {
                    child.leave();
                    break None;
                }
                _ => {}
            }
        };
        let start = Instant::now();
        while !reading.is_finished() && start.elapsed() < LAST_OUTPUT {
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(Captured { ended, stopped: stopping.is_some(), output: tail.text() })
    }
}

fn read_in_thread(mut source: PipeReader, tail: Tail) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let mut buffer = [0; 8192];
        while let Ok(count @ 1..) = source.read(&mut buffer) {
            tail.push(&buffer[..count]);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_an_output_is_kept() {
        let tail = Tail::default();
        for _ in 0..10 {
            tail.push(&[b'x'; KEPT / 2]);
        }
        tail.push(b"the end");
        let text = tail.text();
        assert!(text.len() == KEPT && text.ends_with("xthe end"), "{}", text.len());
    }
}
