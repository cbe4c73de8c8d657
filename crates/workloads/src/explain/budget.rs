//! Limits the time for explaining, and says what is missing.

use crate::answers::SAMPLE;
use crate::check_time::CheckTime;

/// From here on the first execution is used: its warm-up does not matter.
pub(super) const LONG_MS: f64 = 300.0;
/// SQLSTATE of a timeout.
pub(crate) const TIMED_OUT: &str = "57014";
/// Executions of a prepared statement with custom plans before the server considers a generic one.
pub(crate) const CUSTOM_PLANS: usize = 5;
/// SQLSTATE of a write in a read-only transaction.
pub(crate) const READ_ONLY: &str = "25006";
/// Scripts that are named in a list of those with fewer transactions.
const NAMED: usize = 8;

/// Sets the server's timeout of statements, for the transaction or the session. A shorter one of the user stays.
pub(crate) fn statement_timeout(ms: u32, is_local: bool) -> String {
    format!(
        "SELECT pg_catalog.set_config('statement_timeout', '{ms}', {is_local}) \
         WHERE (SELECT setting::bigint FROM pg_catalog.pg_settings WHERE name = 'statement_timeout') NOT BETWEEN 1 AND {ms}"
    )
}

/// Scripts of which fewer transactions were explained than wanted, since the time was used up.
#[derive(Debug, Default)]
pub(crate) struct ShortSamples(Vec<(String, u64)>);

impl ShortSamples {
    /// Only `done` transactions of this script are explained; tells if it is none.
    pub(crate) fn add(&mut self, script: &str, done: u64, time: CheckTime<'_>) {
        match done {
            0 => time.not_looked(script),
            SAMPLE.. => {}
            _ => self.0.push((script.to_owned(), done)),
        }
    }

    pub(crate) fn words(&self, time: CheckTime<'_>) -> Option<String> {
        let named = self.0.iter().take(NAMED).map(|(script, done)| format!("{done} of {script}"));
        let more = self.0.len().saturating_sub(NAMED);
        let more = (more > 0).then(|| format!("fewer than {SAMPLE} of {more} others"));
        let all: Vec<String> = named.chain(more).collect();
        let given_s = time.given().as_secs_f64();
        (!all.is_empty()).then(|| {
            format!(
                "fewer than {SAMPLE} transactions are explained, since they take {given_s} s: {}",
                all.join(", ")
            )
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
            format!("{script}: {done} instead of {SAMPLE}: line {line} takes longer than statement_timeout")
        }
        _ => format!("{script}, line {line}, cannot be explained: {problem}"),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::check_time::CheckNote;

    #[test]
    fn what_is_short_is_named_and_what_is_missing_is_told() {
        let heard = RefCell::new(Vec::new());
        let hears = |note| heard.borrow_mut().push(note);
        let time = CheckTime::begin(std::time::Duration::from_secs(10), &hears);
        let mut short = ShortSamples::default();
        assert_eq!(short.words(time), None);
        for (script, done) in [("a.sql", 0), ("b.sql", 3), ("c.sql", SAMPLE), ("d.sql", 1)] {
            short.add(script, done, time);
        }
        let wanted = "fewer than 16 transactions are explained, since they take 10 s: 3 of b.sql, 1 of d.sql";
        assert_eq!(short.words(time).as_deref(), Some(wanted));
        (0..20).for_each(|_| short.add("e.sql", 2, time));
        assert!(short.words(time).unwrap().ends_with("2 of e.sql, fewer than 16 of 14 others"));
        assert_eq!(heard.take(), [CheckNote::NotLooked("a.sql".into())]);
    }

    #[test]
    fn what_is_refused_is_told_by_its_reason() {
        assert_eq!(why_not_explained("a.sql", 2, READ_ONLY, "", 0), "a.sql writes");
        let slow = "a.sql: 1 transaction instead of 16: line 2 takes longer than statement_timeout";
        assert_eq!(why_not_explained("a.sql", 2, TIMED_OUT, "", 1), slow);
        assert_eq!(
            why_not_explained("a.sql", 2, "42P01", "no t", 1),
            "a.sql, line 2, cannot be explained: no t"
        );
    }
}
