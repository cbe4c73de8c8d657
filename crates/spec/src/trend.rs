//! Text on how the speed of a workload changes because it changes its data.

use crate::figures;
use crate::run::{Run, RunKind};

/// WAL per transaction, bytes, above which a workload counts as changing data even if no statement reports
/// changed rows: a function may change them.
const WAL_PER_TX: f64 = 100.0;

/// Whether transactions change data, by the reported rows or by the WAL written.
#[must_use]
pub fn changes_data(affected: u64, done: u64, wal_bytes: Option<f64>) -> bool {
    affected > 0 || wal_bytes.is_some_and(|bytes| bytes > WAL_PER_TX * done.max(1) as f64)
}

impl Run {
    /// Whether this is a closed load that changes data: the cost of a transaction may depend on earlier ones.
    #[must_use]
    pub fn changes_data_in_closed_load(&self) -> bool {
        let done = self.count(figures::OK) + self.count(figures::LATE);
        let wal_bytes = self.figures.get(figures::WAL_BYTES);
        self.kind == RunKind::Client
            && self.offered_rate.is_none()
            && changes_data(self.count(figures::AFFECTED), done, wal_bytes)
    }
}

/// Significant changes of speed as shares (-0.5: half), within the runs and over their rounds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SpeedTrend {
    pub within_run: Option<f64>,
    pub over_rounds: Option<f64>,
}

impl SpeedTrend {
    /// `speed halves within the run: the figure depends on how long it is measured; reset the table between
    /// runs`; `None` without a change.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        let within = self.within_run.map(|change| format!("{} within the run", verb(change)));
        let over = self.over_rounds.map(|change| format!("{} over the rounds", verb(change)));
        let both: Vec<String> = [within, over].into_iter().flatten().collect();
        let rises = self.within_run.or(self.over_rounds)? > 0.0;
        let advice = if rises {
            "warm up longer, or reset the table between runs"
        } else {
            "reset the table between runs"
        };
        Some(format!("speed {}: the figure depends on how long it is measured; {advice}", both.join(" and ")))
    }
}

/// Largest distance from a half or a double that is still called so.
const NEAR: f64 = 0.05;

fn verb(change: f64) -> String {
    let times = 1.0 + change;
    match times {
        _ if (times - 0.5).abs() < NEAR / 2.0 => "halves".to_owned(),
        _ if (times - 2.0).abs() < 2.0 * NEAR => "doubles".to_owned(),
        _ if times > 2.0 => format!("rises to {times:.1} times"),
        _ if change > 0.0 => format!("rises by {:.0} %", 100.0 * change),
        _ => format!("falls by {:.0} %", -100.0 * change),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_of_a_change_has_its_words() {
        let cases = [
            (-0.68, "falls by 68 %"),
            (-0.5, "halves"),
            (-0.48, "halves"),
            (-0.3, "falls by 30 %"),
            (0.3, "rises by 30 %"),
            (0.95, "doubles"),
            (2.2, "rises to 3.2 times"),
        ];
        for (change, wanted) in cases {
            assert_eq!(verb(change), wanted, "{change}");
        }
    }

    #[test]
    fn what_writes_is_known_by_rows_or_by_wal() {
        assert!(changes_data(1, 10, None) && changes_data(0, 10, Some(5000.0)));
        assert!(!changes_data(0, 10, Some(500.0)) && !changes_data(0, 0, None));
    }

    #[test]
    fn the_sentence_names_where_the_speed_changes() {
        let words = |within_run, over_rounds| SpeedTrend { within_run, over_rounds }.words();
        assert_eq!(words(None, None), None);
        assert_eq!(
            words(Some(-0.5), None).unwrap(),
            "speed halves within the run: the figure depends on how long it is measured; reset the table between runs"
        );
        assert_eq!(
            words(Some(-0.5), Some(-0.3)).unwrap(),
            "speed halves within the run and falls by 30 % over the rounds: the figure depends on how long it is measured; \
             reset the table between runs"
        );
        assert_eq!(
            words(None, Some(0.25)).unwrap(),
            "speed rises by 25 % over the rounds: the figure depends on how long it is measured; \
             warm up longer, or reset the table between runs"
        );
    }
}
