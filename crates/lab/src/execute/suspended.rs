//! The error of an experiment that waits for the user: two consecutive runs were invalid for the same cause.

use results::ExperimentId;
use spec::{Class, Error};

use crate::words;

/// Attached to the error of an experiment whose finished runs are worth printing: its remaining runs of some kind
/// are suspended until the user acts, or its search was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SuspendedRuns {
    pub experiment: ExperimentId,
}

/// Numbers of runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunCounts {
    /// Stored valid runs, of earlier invocations too.
    pub(super) kept: usize,
    /// Runs that are stored too, but are to be measured again: they are invalid, or took turns with an invalid
    /// one.
    pub(super) again: usize,
    pub(super) planned: usize,
}

/// `reasons` says what is suspended, and why; `advice` how to fix the cause, and is empty if unknown.
pub(super) fn suspended(
    experiment: ExperimentId,
    reasons: &[String],
    advice: &str,
    counts: RunCounts,
) -> Error {
    let what = format!("{}; {}", reasons.join("\n"), counts.words());
    let advice = if advice.is_empty() { "mend the cause" } else { advice };
    Error::new(Class::Guard, what)
        .with_hint(format!("{advice}; then the same command measures those runs again and goes on"))
        .attach(SuspendedRuns { experiment })
}

impl RunCounts {
    fn words(self) -> String {
        let Self { kept, again, planned } = self;
        let are = |number: usize| if number == 1 { "is" } else { "are" };
        let left = match planned.saturating_sub(kept + again) {
            0 => String::new(),
            left => format!(", {left} {} left for later", are(left)),
        };
        let (planned, verb) = (words::count_kept(planned), are(again));
        format!(
            "{kept} of {planned}, {again} more {verb} stored and {verb} to be measured again (invalid, or in turn \
             with one that is){left}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four of twelve were reported as kept although eight were stored.
    #[test]
    fn suspended_runs_add_up() {
        let words = |kept, again, planned| RunCounts { kept, again, planned }.words();
        assert_eq!(
            words(4, 4, 12),
            "4 of 12 runs are kept, 4 more are stored and are to be measured again (invalid, or in turn with one that is), \
             4 are left for later"
        );
        assert!(words(11, 1, 12).ends_with(
            "1 more is stored and is to be measured again (invalid, or in turn with one that is)"
        ));
    }
}
