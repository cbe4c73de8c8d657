//! Counters of transactions: their rows of the table, and a struct with a field for each.

use super::row::{Better, Counter, FigureRow, Id, Notable, Per, Source, Unit};
use super::table::rows;
use super::values::Counters;

/// Declares the counters once, as rows of the table and as fields.
macro_rules! counters {
    ($($rows:ident {
        $($id:ident $name:ident, $label:literal, $unit:ident, $per:ident, $better:ident,
            $(large from $matters:literal in $family:literal $(by $event:literal)?,)? $meaning:literal;)*
    })*) => {
        $(rows! {
            $rows: Counter by Engine;
            $($id $name, $label, $unit, $per, $better, $(large from $matters in $family $(by $event)?,)? $meaning;)*
        })*

        /// Counters of one script, or of several: `due = ok + late + failed + skipped + unfinished`. In open
        /// load `due` counts the arrivals due in the measured part, in closed load the transactions that
        /// began in it.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Counts {
            $($(#[doc = $meaning] pub $name: u64,)*)*
        }

        impl Counts {
            /// Adds the counters of another part.
            pub fn add(&mut self, other: &Self) {
                $($(self.$name = self.$name.saturating_add(other.$name);)*)*
            }

            /// Estimates the counters of all transactions from a sample of this share (0..=1).
            #[must_use]
            pub fn scaled(self, share: f64) -> Self {
                let scaled = |count: u64| (count as f64 / share).round() as u64;
                Self { $($($name: scaled(self.$name),)*)* }
            }

            /// From stored values; missing counters are 0.
            #[must_use]
            pub fn of(stored: &Counters) -> Self {
                Self { $($($name: stored.count($id),)*)* }
            }

            fn all(&self) -> impl Iterator<Item = (Counter, u64)> {
                [$($(($id, self.$name)),*),*].into_iter()
            }
        }
    };
}

counters! {
    RETURNED {
        AFFECTED affected, "rows changed", Count, Transaction, Neither, large from 0.1 in "rows changed", "Rows changed by successful transactions";
        ROWS rows, "rows received", Count, Transaction, Neither, large from 0.1 in "received", "Rows received by successful transactions";
        BYTES bytes, "bytes received", Bytes, Transaction, Neither, large from 16.0 in "received" by 100.0, "Payload received by successful transactions: row data, tiles, values";
        QUERIES queries, "queries", Count, Transaction, Neither, "Statements that can return rows, in successful transactions";
        CHANGES changes, "changes", Count, Transaction, Neither, "Statements that can change rows, in successful transactions";
        KEYED keyed, "transactions by key", Count, Run, Neither, "Transactions that read or wrote by key; absent if there are none";
        KEYED_EMPTY keyed_empty, "transactions by key that found nothing", Count, Run, Lower, "Transactions of `keyed` that returned or changed no row by key";
    }
    TRANSACTIONS {
        DUE due, "transactions due", Count, Run, Neither, "`ok` + `late` + `failed` + `skipped` + `unfinished`";
        OK ok, "transactions in time", Count, Run, Higher, "Successes within the promise; without a promise, all successes";
        LATE late, "late transactions", Count, Run, Lower, "Successes after the promised time; closed load: also transactions still open after the drain";
        FAILED failed, "failures", Count, Transaction, Lower, large from 0.01 in "failed", "Transactions that failed after their last try";
        SERIALIZATION_FAILURES serialization_failures, "serialization failures", Count, Transaction, Lower, "Failures by a serialization error";
        DEADLOCK_FAILURES deadlock_failures, "deadlock failures", Count, Transaction, Lower, "Failures by a deadlock";
        OTHER_FAILURES other_failures, "other failures", Count, Transaction, Lower, "Other failures, if the source distinguishes them; absent if there are none";
        SKIPPED skipped, "skipped transactions", Count, Run, Lower, "Never started: the promised time was over before a client was free";
        UNFINISHED unfinished, "unfinished transactions", Count, Run, Lower, "Given up with their client; open load: also still open after the drain, or never started";
        RETRIED retried, "retried transactions", Count, Transaction, Lower, "Transactions with more than one try";
        RETRIES retries, "retries", Count, Transaction, Lower, large from 0.01 in "retries", "Tries after the first, over all transactions";
    }
}

impl Counts {
    /// pgbench's "transactions actually processed".
    #[must_use]
    pub fn processed(&self) -> u64 {
        self.ok.saturating_add(self.late)
    }

    /// The stored form.
    #[must_use]
    pub fn stored(&self) -> Counters {
        self.told().collect()
    }

    /// The stored form without the counters of returned data, which not every source has.
    #[must_use]
    pub fn transactions(&self) -> Counters {
        let is_returned = |of: Counter| RETURNED.iter().any(|row| row.name == of.name);
        self.told().filter(|(of, _)| !is_returned(*of)).collect()
    }

    /// Leaves out rare counters that are 0: not every source distinguishes failures, and not every workload
    /// asks by key.
    fn told(&self) -> impl Iterator<Item = (Counter, u64)> {
        let rare = [OTHER_FAILURES, KEYED, KEYED_EMPTY];
        self.all().filter(move |(of, count)| *count > 0 || !rare.contains(of))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_leads_there_and_back() {
        let counts = Counts { due: 9, ok: 4, failed: 3, other_failures: 1, rows: 7, ..Counts::default() };
        assert_eq!(Counts::of(&counts.stored()), counts);
        let names = |counts: Counts| {
            let stored = counts.transactions();
            stored.iter().map(|(name, _)| name).collect::<Vec<_>>().join(" ")
        };
        let usual =
            "deadlock_failures due failed late ok retried retries serialization_failures skipped unfinished";
        assert_eq!(names(Counts::default()), usual);
        assert_eq!(names(counts), usual.replace("retried", "other_failures retried"));
    }
}
