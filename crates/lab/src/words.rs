//! Figures as text, for progress and plans.

use std::time::Duration;

/// `4 s`, `3 min 20 s`, `2 h 5 min`.
#[must_use]
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64().round() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// `1 run`, `3 runs`: a number with its noun.
#[must_use]
pub fn count(number: usize, noun: &str) -> String {
    spec::count(number as u64, noun)
}

/// `reads: so and so`; a note that begins with the name stays as it is.
#[must_use]
pub(crate) fn of_workload(name: &str, note: &str) -> String {
    if note.starts_with(name) { note.to_owned() } else { format!("{name}: {note}") }
}

/// `all its 3 runs are`, `its 1 run is`.
#[must_use]
pub(crate) fn count_of_all(runs: usize) -> String {
    if runs == 1 { "its 1 run is".to_owned() } else { format!("all its {runs} runs are") }
}

/// `3 runs are kept`, `1 run is kept`: what follows "2 of".
#[must_use]
pub(crate) fn count_kept(runs: usize) -> String {
    format!("{} {} kept", count(runs, "run"), if runs == 1 { "is" } else { "are" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        assert_eq!((count(1, "run").as_str(), count(0, "run").as_str()), ("1 run", "0 runs"));
    }

    #[test]
    fn durations() {
        let cases = [(0, "0 s"), (59, "59 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")];
        for (seconds, wanted) in cases {
            assert_eq!(duration(Duration::from_secs(seconds)), wanted);
        }
    }
}
