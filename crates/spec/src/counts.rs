//! Counters of transactions, and the names they are stored by.

use std::collections::BTreeMap;

/// Declares the counters once: as fields, and as names with their values.
macro_rules! counters {
    (
        transactions { $($(#[$about:meta])* $counter:ident,)* }
        returned { $($(#[$of:meta])* $data:ident,)* }
    ) => {
        /// Counters of one script, or of several: `due = ok + late + failed + skipped + unfinished`. In open load `due` counts the
        /// arrivals that were due in the measured part, in closed load the transactions that began in it.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Counts {
            $($(#[$about])* pub $counter: u64,)*
            $($(#[$of])* pub $data: u64,)*
        }

        impl Counts {
            /// Adds another part's counters.
            pub fn add(&mut self, other: &Self) {
                $(self.$counter = self.$counter.saturating_add(other.$counter);)*
                $(self.$data = self.$data.saturating_add(other.$data);)*
            }

            /// Those of all transactions, from those of a sample of this share (0..=1).
            #[must_use]
            pub fn scaled(self, share: f64) -> Self {
                let scaled = |count: u64| (count as f64 / share).round() as u64;
                Self { $($counter: scaled(self.$counter),)* $($data: scaled(self.$data),)* }
            }

            /// By name, except for what the server returned, which not every source knows.
            #[must_use]
            pub fn transactions(&self) -> BTreeMap<String, u64> {
                let all = [$((stringify!($counter), self.$counter)),*];
                // Not every source tells these apart.
                let told = all.into_iter().filter(|(name, count)| *name != "other_failures" || *count > 0);
                told.map(|(name, count)| (name.to_owned(), count)).collect()
            }

            /// By name, as they are stored.
            #[must_use]
            pub fn named(&self) -> BTreeMap<String, u64> {
                let mut named = self.transactions();
                let returned = [$((stringify!($data), self.$data)),*].into_iter();
                // Not every workload asks by key.
                let told = returned.filter(|(name, count)| !name.starts_with("keyed") || *count > 0);
                named.extend(told.map(|(name, count)| (name.to_owned(), count)));
                named
            }

            /// From their names; what has none is 0.
            #[must_use]
            pub fn of(named: &BTreeMap<String, u64>) -> Self {
                let count = |name: &str| named.get(name).copied().unwrap_or(0);
                Self { $($counter: count(stringify!($counter)),)* $($data: count(stringify!($data)),)* }
            }
        }
    };
}

counters! {
    transactions {
        /// Transactions that were to be done.
        due,
        /// Succeeded within the promise (all successes, when there is none).
        ok,
        /// Succeeded, but later than promised; closed load: or still open when the drain time was over.
        late,
        /// After their last try.
        failed,
        /// Of `failed`.
        serialization_failures,
        /// Of `failed`.
        deadlock_failures,
        /// Of `failed`, where a source tells that they are of neither kind.
        other_failures,
        /// Never started: later than promised before a client was free.
        skipped,
        /// Given up with their client; open load: or still open when the drain time was over, or never started.
        unfinished,
        /// Transactions that needed more than one try.
        retried,
        /// Extra tries over all transactions.
        retries,
    }
    returned {
        /// Received over all statements; like all that follows, by transactions that succeeded: an error page is no payload.
        rows,
        /// Payload received.
        bytes,
        /// Statements that were to return rows, whether they did or not.
        queries,
        /// Statements that were to change rows, whether they did or not.
        changes,
        /// Rows changed.
        affected,
        /// Transactions that read or wrote by key.
        keyed,
        /// Transactions in `keyed` that returned or changed no row by key.
        keyed_empty,
    }
}

impl Counts {
    /// pgbench's "transactions actually processed".
    #[must_use]
    pub fn processed(&self) -> u64 {
        self.ok.saturating_add(self.late)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_there_and_back() {
        let counts = Counts { due: 9, ok: 4, failed: 3, other_failures: 1, rows: 7, ..Counts::default() };
        assert_eq!(Counts::of(&counts.named()), counts);
        let names = |counts: Counts| counts.transactions().into_keys().collect::<Vec<_>>().join(" ");
        let usual =
            "deadlock_failures due failed late ok retried retries serialization_failures skipped unfinished";
        assert_eq!(names(Counts::default()), usual);
        assert_eq!(names(counts), usual.replace("retried", "other_failures retried"));
    }
}
