//! The sequence of signals that stops a program.

use std::time::Duration;

use rustix::process::Signal;

use super::StopWay;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopCause {
    /// pgdyno requested it and waits: the program may take its time (a checkpoint).
    Asked,
    /// pgdyno is gone: everything must be over within 10 s.
    Lost,
}

/// The signals of a stop, each with its time since the stop began.
pub(super) fn signals(way: StopWay, cause: StopCause) -> &'static [(Duration, Signal)] {
    const ASKED_POSTGRES: &[(Duration, Signal)] = &[
        (Duration::ZERO, Signal::INT),
        (Duration::from_secs(120), Signal::QUIT),
        (Duration::from_secs(130), Signal::KILL),
    ];
    const LOST_POSTGRES: &[(Duration, Signal)] = &[
        (Duration::ZERO, Signal::INT),
        (Duration::from_secs(5), Signal::QUIT),
        (Duration::from_secs(8), Signal::KILL),
    ];
    const ASKED: &[(Duration, Signal)] =
        &[(Duration::ZERO, Signal::TERM), (Duration::from_secs(10), Signal::KILL)];
    const LOST: &[(Duration, Signal)] =
        &[(Duration::ZERO, Signal::TERM), (Duration::from_secs(5), Signal::KILL)];
    const ASKED_QUIT: &[(Duration, Signal)] =
        &[(Duration::ZERO, Signal::QUIT), (Duration::from_secs(10), Signal::KILL)];
    const LOST_QUIT: &[(Duration, Signal)] =
        &[(Duration::ZERO, Signal::QUIT), (Duration::from_secs(5), Signal::KILL)];
    match (way, cause) {
        (StopWay::Postgres, StopCause::Asked) => ASKED_POSTGRES,
        (StopWay::Postgres, StopCause::Lost) => LOST_POSTGRES,
        (StopWay::Terminate, StopCause::Asked) => ASKED,
        (StopWay::Terminate, StopCause::Lost) => LOST,
        (StopWay::Quit, StopCause::Asked) => ASKED_QUIT,
        (StopWay::Quit, StopCause::Lost) => LOST_QUIT,
    }
}

/// Time until the last signal of a requested stop, plus a second for the kernel.
pub(super) fn longest(way: StopWay) -> Duration {
    signals(way, StopCause::Asked).last().map_or(Duration::ZERO, |(after, _)| *after) + Duration::from_secs(5)
}

/// A stop under way.
#[derive(Debug)]
pub(super) struct Escalation {
    signals: &'static [(Duration, Signal)],
    sent: usize,
}

impl Escalation {
    pub(super) fn new(way: StopWay, cause: StopCause) -> Self {
        Self { signals: signals(way, cause), sent: 0 }
    }

    /// The next signal, if due after `elapsed`.
    pub(super) fn due(&mut self, elapsed: Duration) -> Option<Signal> {
        let (after, signal) = self.signals.get(self.sent)?;
        if elapsed < *after {
            return None;
        }
        self.sent += 1;
        Some(*signal)
    }

    /// Time until the next signal; `None` after the last one.
    pub(super) fn wait(&self, elapsed: Duration) -> Option<Duration> {
        self.signals.get(self.sent).map(|(after, _)| after.saturating_sub(elapsed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_pgdyno_ends_in_a_kill_within_ten_seconds() {
        for way in [StopWay::Postgres, StopWay::Terminate, StopWay::Quit] {
            let (after, signal) = signals(way, StopCause::Lost).last().unwrap();
            assert!(*after < Duration::from_secs(10));
            assert_eq!(*signal, Signal::KILL);
        }
    }

    #[test]
    fn signals_come_in_order_and_once() {
        let mut stop = Escalation::new(StopWay::Postgres, StopCause::Lost);
        let at = Duration::from_secs;
        assert_eq!(stop.due(at(0)), Some(Signal::INT));
        assert_eq!(stop.due(at(0)), None);
        assert_eq!(stop.wait(at(2)), Some(at(3)));
        assert_eq!(stop.due(at(5)), Some(Signal::QUIT));
        assert_eq!(stop.due(at(9)), Some(Signal::KILL));
        assert_eq!(stop.due(at(99)), None);
        assert_eq!(stop.wait(at(99)), None);
    }
}
