//! Limits the time for explaining: per statement, and for all transactions of a script.

use spec::StatementPlan;

use crate::answers::SAMPLE;

/// Timeout of a single execution.
pub(super) const LONGEST_MS: u32 = 10_000;
/// After this time no further transaction of a script is explained.
const ENOUGH_MS: f64 = 10_000.0;
/// From here on the first execution is used: its warm-up does not matter.
pub(super) const LONG_MS: f64 = 300.0;
/// SQLSTATE of a timeout.
const TIMED_OUT: &str = "57014";
/// Executions of a prepared statement with custom plans before the server considers a generic one.
pub(crate) const CUSTOM_PLANS: usize = 5;
/// SQLSTATE of a write in a read-only transaction.
pub(crate) const READ_ONLY: &str = "25006";

/// The time used for a script.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Budget {
    taken_ms: f64,
}

impl Budget {
    /// Adds all executions of a statement.
    pub fn spend(&mut self, plan: &StatementPlan) {
        let untimed = if plan.execution_ms < LONG_MS { 2.0 } else { 1.0 };
        self.taken_ms +=
            (1.0 + untimed) * plan.planning_ms + plan.execution_ms + untimed * plan.untimed_ms.unwrap_or(0.0);
    }

    /// Why no further transaction of this script is explained after `done` of them; `None` while there is
    /// time, and when all are done.
    #[must_use]
    pub fn used_up(&self, script: &str, done: u64) -> Option<String> {
        (self.taken_ms > ENOUGH_MS && done < SAMPLE).then(|| {
            let done = spec::count(done, "transaction");
            format!("{script}: {done} instead of {SAMPLE}: explained, they took {:.0} s", self.taken_ms / 1e3)
        })
    }
}

/// Why a script is not explained further: the server refused a statement with this SQLSTATE and message.
#[must_use]
pub fn why_not_explained(script: &str, line: usize, sqlstate: &str, problem: &str, done: u64) -> String {
    match sqlstate {
        READ_ONLY => format!("{script} writes"),
        TIMED_OUT => {
            let done = spec::count(done, "transaction");
            let longest_s = LONGEST_MS / 1000;
            format!("{script}: {done} instead of {SAMPLE}: line {line} takes longer than {longest_s} s")
        }
        _ => format!("{script}, line {line}, cannot be explained: {problem}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_executions_count_until_the_time_is_used_up() {
        let plan = |execution_ms| StatementPlan {
            planning_ms: 10.0,
            execution_ms,
            untimed_ms: Some(execution_ms),
            ..StatementPlan::default()
        };
        let mut budget = Budget::default();
        budget.spend(&plan(100.0));
        assert_eq!(budget.taken_ms, 330.0);
        budget.spend(&plan(4000.0));
        assert_eq!((budget.taken_ms, budget.used_up("a.sql", 2)), (8350.0, None));
        budget.spend(&plan(1000.0));
        let why = "a.sql: 3 transactions instead of 16: explained, they took 10 s";
        assert_eq!(budget.used_up("a.sql", 3).as_deref(), Some(why));
        assert_eq!(budget.used_up("a.sql", SAMPLE), None);
    }

    #[test]
    fn what_is_refused_is_told_by_its_reason() {
        assert_eq!(why_not_explained("a.sql", 2, READ_ONLY, "", 0), "a.sql writes");
        let slow = "a.sql: 1 transaction instead of 16: line 2 takes longer than 10 s";
        assert_eq!(why_not_explained("a.sql", 2, TIMED_OUT, "", 1), slow);
        assert_eq!(
            why_not_explained("a.sql", 2, "42P01", "no t", 1),
            "a.sql, line 2, cannot be explained: no t"
        );
    }
}
