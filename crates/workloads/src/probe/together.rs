//! The same shots over several connections at once, and their total rate.

use std::sync::Barrier;
use std::thread;

use spec::Error;

use super::shots::{ProbeMessage, ProbeSession, Shot};
use crate::error;
use crate::jobs::Runtime;

/// Most slices of the time in which all work.
const SLICES: usize = 20;

/// Ends of the shots of each connection.
pub(super) fn shoot(
    runtime: &dyn Runtime,
    backends: u32,
    message: &ProbeMessage,
    read_only: bool,
) -> Result<Vec<Vec<i64>>, Error> {
    let connect = || {
        // A refused connection does not end the probe: the server may have no more.
        let connection =
            runtime.connect().map_err(|error| error::program("a further connection", error.text))?;
        Ok(ProbeSession::new(connection, read_only))
    };
    let mut sessions = (0..backends).map(|_| connect()).collect::<Result<Vec<_>, Error>>()?;
    let together = Barrier::new(sessions.len());
    thread::scope(|scope| {
        let shooting = |session: &mut ProbeSession| {
            together.wait();
            session.clocks(message).map(|clocks| clocks.concat())
        };
        let threads: Vec<_> =
            sessions.iter_mut().map(|session| scope.spawn(move || shooting(session))).collect();
        // Wait for all of them, even if one fails.
        let ended: Vec<_> =
            threads.into_iter().map(|thread| thread.join().expect("a thread that only asks")).collect();
        ended.into_iter().collect()
    })
}

/// Total shots per second, in each slice of the time in which every connection worked.
pub(super) fn rates(all: &[Vec<i64>]) -> Vec<Shot> {
    let start = all.iter().filter_map(|ends| ends.first()).max();
    let end = all.iter().filter_map(|ends| ends.last()).min();
    let (Some(&start), Some(&end)) = (start, end) else { return Vec::new() };
    if all.iter().any(Vec::is_empty) || end <= start {
        return Vec::new();
    }
    let in_common = all.iter().map(|ends| ends.iter().filter(|at| (start..=end).contains(*at)).count());
    // A slice holds at least two shots of each connection, or it would show how they are aligned and not
    // their rate.
    let slices = (in_common.min().unwrap_or(0) / 2).clamp(1, SLICES);
    let bound = |slice: usize| start as f64 + (end - start) as f64 * slice as f64 / slices as f64;
    let rate = |slice: usize| {
        let (from, to) = (bound(slice), bound(slice + 1));
        let done: f64 = all.iter().map(|ends| done_by(ends, to) - done_by(ends, from)).sum();
        Shot { at_us: (to - start as f64) as i64, us: done / (to - from) * 1e6 }
    };
    (0..slices).map(rate).collect()
}

/// Shots that ended by then, counting the current one by its finished share.
fn done_by(ends: &[i64], at: f64) -> f64 {
    let whole = ends.partition_point(|end| *end as f64 <= at);
    match (whole.checked_sub(1).and_then(|last| ends.get(last)), ends.get(whole)) {
        (Some(&last), Some(&next)) if next > last => whole as f64 + (at - last as f64) / (next - last) as f64,
        _ => whole as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_all_are_those_of_the_time_in_which_all_work() {
        // 100 shots a second and 50, from 0 s and from 1 s, until 3 s and 4 s.
        let first: Vec<i64> = (0..=300).map(|shot| shot * 10_000).collect();
        let second: Vec<i64> = (50..=200).map(|shot| shot * 20_000).collect();
        let rates = rates(&[first, second]);
        assert_eq!(rates.len(), 20);
        for rate in &rates {
            assert!((rate.us - 150.0).abs() < 1e-6, "{rates:?}");
        }
    }

    #[test]
    fn those_that_never_work_at_once_have_no_rate() {
        assert_eq!(rates(&[]), []);
        assert_eq!(rates(&[vec![0, 10, 20], vec![30, 40]]), []);
        assert_eq!(rates(&[vec![0, 10, 20], vec![]]), []);
    }
}
