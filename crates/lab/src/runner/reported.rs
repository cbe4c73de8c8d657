//! Waits for servers that start, stop or restart: each is reported every few seconds.

use std::panic::resume_unwind;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::{Progress, ProgressExt};

/// Time between two reports.
const EVERY: Duration = Duration::from_secs(5);

/// Does some work on another thread, and reports every few seconds that pgdyno waits for `what`.
pub(crate) fn reported<T: Send>(
    progress: &mut dyn Progress,
    what: &str,
    work: impl FnOnce() -> T + Send,
) -> T {
    told_every(EVERY, progress, what, work)
}

fn told_every<T: Send>(
    every: Duration,
    mut progress: &mut dyn Progress,
    what: &str,
    work: impl FnOnce() -> T + Send,
) -> T {
    std::thread::scope(|scope| {
        let (over, ended) = mpsc::channel::<()>();
        let running = scope.spawn(move || {
            // Dropped when the work ends, also by a panic.
            let _over = over;
            work()
        });
        let begun = Instant::now();
        while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            progress.note(format!("waiting for {what}, {} s", begun.elapsed().as_secs()));
        }
        running.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::LabEvent;

    struct Heard(Vec<String>);

    impl Progress for Heard {
        fn event(&mut self, event: LabEvent) {
            if let LabEvent::Note { text } = event {
                self.0.push(text);
            }
        }
    }

    /// A stop of two minutes printed nothing.
    #[test]
    fn a_long_wait_is_reported_again_and_again() {
        let mut heard = Heard(Vec::new());
        let every = Duration::from_millis(40);
        let done = told_every(every, &mut heard, "the servers to stop", || {
            std::thread::sleep(Duration::from_millis(200));
            7
        });
        assert_eq!(done, 7);
        assert!(heard.0.len() >= 2 && heard.0[0] == "waiting for the servers to stop, 0 s", "{:?}", heard.0);
        let mut heard = Heard(Vec::new());
        told_every(every, &mut heard, "nothing", || ());
        assert!(heard.0.is_empty());
    }
}
