//! Counts the rows of a table, and decides when to report progress.

use super::event::{InitEvent, RowsProgress};

/// Rows between two messages.
const MESSAGE_ROWS: u64 = 100_000;
/// Time between two messages of a quiet run, µs.
const MESSAGE_US: u64 = 5_000_000;
/// A quiet run reports its end only if the number of rows is divisible by this, as in pgbench.
const ROUND: u64 = 100;

/// Counts the rows of one table.
#[derive(Debug)]
pub(super) struct Meter {
    table: &'static str,
    /// Final number of rows.
    total: u64,
    /// Rows at the start.
    before: u64,
    done: u64,
    quiet: bool,
    start_us: u64,
    due_rows: u64,
    /// Time since the start at which the next message of a quiet run is due.
    due_us: u64,
}

impl Meter {
    pub(super) fn new(table: &'static str, (before, total): (u64, u64), quiet: bool, now_us: u64) -> Self {
        Self {
            table,
            total,
            before,
            done: before,
            quiet,
            start_us: now_us,
            due_rows: (before / MESSAGE_ROWS + 1) * MESSAGE_ROWS,
            due_us: MESSAGE_US,
        }
    }

    /// Adds rows, or subtracts them where a transaction was lost.
    pub(super) fn add(&mut self, rows: i64, now_us: u64, report: &mut dyn FnMut(&InitEvent)) {
        self.done = self.done.saturating_add_signed(rows);
        if rows <= 0 {
            return;
        }
        let elapsed_us = now_us.saturating_sub(self.start_us);
        if self.quiet {
            let through = self.done == self.total && self.total.is_multiple_of(ROUND);
            if through || elapsed_us >= self.due_us {
                report(&InitEvent::Progress(self.progress(self.done, elapsed_us)));
                self.due_us = elapsed_us.div_ceil(MESSAGE_US).max(1) * MESSAGE_US;
            }
            return;
        }
        while self.due_rows <= self.done {
            report(&InitEvent::Progress(self.progress(self.due_rows, elapsed_us)));
            self.due_rows += MESSAGE_ROWS;
        }
    }

    fn progress(&self, done: u64, elapsed_us: u64) -> RowsProgress {
        let elapsed_s = elapsed_us as f64 / 1e6;
        let made = done.saturating_sub(self.before).max(1);
        let remaining_s = self.total.saturating_sub(done) as f64 * elapsed_s / made as f64;
        RowsProgress { table: self.table, done, total: self.total, elapsed_s, remaining_s }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(quiet: bool, before: u64, total: u64, steps: &[(i64, u64)]) -> Vec<String> {
        let mut meter = Meter::new("pgbench_accounts", (before, total), quiet, 1_000);
        let mut lines = Vec::new();
        for (rows, now_s) in steps {
            meter.add(*rows, 1_000 + now_s * 1_000_000, &mut |event| lines.push(event.to_string()));
        }
        lines
    }

    #[test]
    fn every_hundred_thousand_rows() {
        assert_eq!(
            printed(false, 0, 300_000, &[(99_999, 1), (2, 2), (199_999, 6)]),
            [
                "100000 of 300000 tuples (33%) of pgbench_accounts done (elapsed 2.00 s, remaining 4.00 s)",
                "200000 of 300000 tuples (66%) of pgbench_accounts done (elapsed 6.00 s, remaining 3.00 s)",
                "300000 of 300000 tuples (100%) of pgbench_accounts done (elapsed 6.00 s, remaining 0.00 s)",
            ]
        );
    }

    #[test]
    fn every_five_seconds_and_at_the_end() {
        let lines = printed(true, 0, 1_000, &[(100, 4), (100, 5), (100, 6), (100, 11), (600, 12)]);
        let shown: Vec<_> = lines.iter().map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(shown, ["200", "300", "400", "1000"]);
        assert_eq!(printed(true, 0, 50, &[(50, 1)]), Vec::<String>::new());
    }

    #[test]
    fn time_left_counts_only_what_was_made_here() {
        let lines = printed(false, 250_000, 400_000, &[(50_000, 10), (-20_000, 11), (30_000, 12)]);
        assert_eq!(
            lines,
            ["300000 of 400000 tuples (75%) of pgbench_accounts done (elapsed 10.00 s, remaining 20.00 s)"]
        );
    }
}
