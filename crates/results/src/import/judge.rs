//! Whether an imported run is valid: the rules that need only its figures, with the same limits as for runs
//! that pgdyno measured (docs/reference/run-verdicts.md).

use spec::{Arrivals, Counts, Doubt, Reason, Validity, count};

/// Share of failed transactions that makes a run invalid; fewer make it suspect.
const FAILED_SHARE: f64 = 0.01;
/// With fewer transactions a run is suspect.
const FEW: u64 = 30;

/// The verdict with its reasons; suspect at best, since the measurement was not observed.
///
/// `arrivals` are for an open load.
pub(super) fn judge(
    counts: &Counts,
    arrivals: Option<Arrivals>,
    gave_up: u64,
    incomplete: bool,
    by: &str,
) -> (Validity, Vec<Doubt>) {
    let mut doubts = vec![Doubt {
        reason: Reason::Imported,
        detail: format!("measured by {by}; neither its load nor its machine was watched"),
    }];
    let mut validity = Validity::Suspect;
    let mut doubt = |invalid: bool, reason: Reason, detail: String| {
        if invalid {
            validity = Validity::Invalid;
        }
        doubts.push(Doubt { reason, detail });
    };
    let done = counts.processed();
    if done < FEW {
        doubt(done == 0, Reason::TooShort, format!("only {} succeeded", count(done, "transaction")));
    }
    if gave_up > 0 {
        doubt(true, Reason::Errors, format!("{} gave up", count(gave_up, "client")));
    } else if incomplete {
        doubt(true, Reason::Errors, "pgbench itself calls the results incomplete".to_owned());
    }
    if let Some(arrivals) = arrivals.filter(|arrivals| gave_up == 0 && arrivals.is_overloaded()) {
        doubt(false, Reason::Overloaded, arrivals.shortfall());
    }
    let tried = done.saturating_add(counts.failed);
    if counts.failed > 0 {
        let share = counts.failed as f64 / tried as f64;
        let detail = format!("{} of {} failed", counts.failed, count(tried, "transaction"));
        doubt(share > FAILED_SHARE, Reason::Errors, detail);
    }
    (validity, doubts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::log::stored;
    use spec::Offer;

    #[test]
    fn verdicts_follow_the_rules_of_own_runs() {
        let verdict = |ok, failed, gave_up, incomplete| {
            let counts = Counts { ok, failed, ..Counts::default() };
            let (validity, doubts) = judge(&counts, None, gave_up, incomplete, "pgbench 15");
            (validity, doubts.iter().map(|doubt| doubt.reason).collect::<Vec<_>>())
        };
        use Reason::{Errors, Imported, TooShort};
        assert_eq!(verdict(1000, 0, 0, false), (Validity::Suspect, vec![Imported]));
        assert_eq!(verdict(29, 0, 0, false), (Validity::Suspect, vec![Imported, TooShort]));
        assert_eq!(verdict(0, 0, 0, false), (Validity::Invalid, vec![Imported, TooShort]));
        assert_eq!(verdict(1000, 10, 0, false), (Validity::Suspect, vec![Imported, Errors]));
        assert_eq!(verdict(1000, 20, 0, false), (Validity::Invalid, vec![Imported, Errors]));
        assert_eq!(verdict(1000, 0, 1, true), (Validity::Invalid, vec![Imported, Errors]));
        assert_eq!(verdict(1000, 0, 0, true), (Validity::Invalid, vec![Imported, Errors]));
    }

    #[test]
    fn an_imported_run_below_the_rate_it_was_asked_for_is_overloaded() {
        let verdict = |ok, rate| {
            let counts = Counts { ok, ..Counts::default() };
            let offer = Offer { rate, promise: false, clients: 4, seconds: 10.0 };
            let arrivals = Arrivals::new(&stored(&counts), offer);
            let (_, doubts) = judge(&counts, Some(arrivals), 0, false, "pgbench 15");
            doubts.iter().map(|doubt| doubt.reason).collect::<Vec<_>>()
        };
        use Reason::{Imported, Overloaded};
        assert_eq!(verdict(5000, Some(1000.0)), [Imported, Overloaded]);
        assert_eq!(verdict(9990, Some(1000.0)), [Imported]);
        assert_eq!(verdict(5000, None), [Imported]);
    }
}
