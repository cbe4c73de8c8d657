//! The figures one thread keeps to the end of the run.

use stats::Histogram;

use super::{ClientTime, EngineResult, ItemFigures, OwnCost, StatementFigures, UserFigures};
use crate::client::{Abandoned, Abort, StatementEnd, Time};
use crate::driver::Cpu;

#[derive(Debug, Default)]
pub(crate) struct ThreadFigures {
    pub(crate) statements: Vec<StatementTally>,
    pub(crate) items: Vec<ItemFigures>,
    pub(crate) reconnections: u64,
    pub(crate) reconnecting: Time,
    pub(crate) connections_lost: u64,
    pub(crate) aborts: Vec<(Time, Abort)>,
    pub(crate) abandoned: Vec<Abandoned>,
    /// When the last transaction of the measured part ended; 0 when there was none.
    pub(crate) last_end: Time,
    /// Arrivals of the measured part that were started after it.
    pub(crate) drained: u64,
    /// Transactions that were still open when the drain was over.
    pub(crate) left_open: u64,
    pub(crate) time: ClientTime,
    pub(crate) users: UserFigures,
    pub(crate) cost: ThreadCost,
}

impl ThreadFigures {
    pub(crate) fn new(statements: usize, items: usize) -> Self {
        let statements = std::iter::repeat_with(StatementTally::default).take(statements).collect();
        Self {
            statements,
            items: vec![ItemFigures::default(); items],
            cost: ThreadCost::new(),
            ..Self::default()
        }
    }

    pub(crate) fn client_time(threads: &[Self]) -> ClientTime {
        let mut time = ClientTime::default();
        threads.iter().for_each(|thread| time.add(&thread.time));
        time
    }

    pub(crate) fn of_users(threads: &[Self]) -> UserFigures {
        let mut users = UserFigures::default();
        threads.iter().for_each(|thread| users.add(&thread.users));
        users
    }

    pub(crate) fn merge(threads: &[Self], measured: &mut EngineResult) {
        let statements = threads.iter().map(|thread| thread.statements.len()).max().unwrap_or_default();
        measured.statements = (0..statements)
            .map(|statement| {
                StatementTally::sum(threads.iter().filter_map(|thread| thread.statements.get(statement)))
            })
            .collect();
        let items = threads.iter().map(|thread| thread.items.len()).max().unwrap_or_default();
        measured.items = vec![ItemFigures::default(); items];
        for thread in threads {
            for (sum, part) in measured.items.iter_mut().zip(&thread.items) {
                sum.add(part);
            }
        }
        let mut aborts: Vec<&(Time, Abort)> = threads.iter().flat_map(|thread| &thread.aborts).collect();
        aborts.sort_by_key(|(at, abort)| (*at, abort.client));
        measured.aborts = aborts.into_iter().map(|(_, abort)| abort.clone()).collect();
        for thread in threads {
            measured.reconnections += thread.reconnections;
            measured.reconnecting += thread.reconnecting;
            measured.connections_lost += thread.connections_lost;
            measured.drained += thread.drained;
            measured.left_open += thread.left_open;
            measured.abandoned.extend_from_slice(&thread.abandoned);
            thread.cost.merge_into(&mut measured.own);
        }
    }
}

/// What one thread saw of a statement. A workload can have hundreds: one that never runs takes almost no
/// memory, and the others in proportion to the range of their latencies.
#[derive(Debug, Default)]
pub(crate) struct StatementTally {
    latency: Histogram,
    failures: u64,
    retries: u64,
}

impl StatementTally {
    #[inline]
    pub(crate) fn count(&mut self, end: StatementEnd) {
        match end {
            StatementEnd::Completed(elapsed_ns) => self.latency.record(elapsed_ns),
            StatementEnd::Retried => self.retries += 1,
            StatementEnd::Failed => self.failures += 1,
        }
    }

    fn sum<'a>(parts: impl Iterator<Item = &'a Self>) -> StatementFigures {
        let mut sum = StatementFigures::default();
        for part in parts {
            sum.latency.add(&part.latency);
            sum.failures += part.failures;
            sum.retries += part.retries;
        }
        sum.latency.shrink();
        sum
    }
}

#[derive(Debug, Default)]
pub(crate) struct ThreadCost {
    pub(crate) cpu: Cpu,
    /// Time spent spinning, ns; most of it is CPU time.
    pub(crate) spun: Time,
    /// Length of the measured part, ns.
    pub(crate) measured: Time,
    /// Gaps of [`crate::GAP`] or more between two turns, in the measured part and the drain, ns.
    pub(crate) stalled: Time,
    /// The same for shorter gaps.
    pub(crate) paused: Time,
    pub(crate) timer_lateness: Histogram,
    pub(crate) turn: Histogram,
    pub(crate) start_lag: Histogram,
}

impl ThreadCost {
    /// With memory for all counters, so that recording never allocates.
    fn new() -> Self {
        let [timer_lateness, turn, start_lag] = [(); 3].map(|()| Histogram::with_room(Histogram::ALL_LINES));
        Self { timer_lateness, turn, start_lag, ..Self::default() }
    }

    pub(crate) fn merge_into(&self, own: &mut OwnCost) {
        own.user_ns += self.cpu.user_ns;
        own.system_ns += self.cpu.system_ns;
        own.spun_ns += self.spun;
        own.stalled_ns = own.stalled_ns.max(self.stalled);
        own.paused_ns = own.paused_ns.max(self.paused);
        if self.measured > 0 {
            let busy = (self.cpu.user_ns + self.cpu.system_ns).saturating_sub(self.spun);
            let share = busy as f64 / self.measured as f64;
            own.busiest_thread = own.busiest_thread.max(share.min(1.0));
        }
        own.timer_lateness.add(&self.timer_lateness);
        own.turn.add(&self.turn);
        own.start_lag.add(&self.start_lag);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether it was ever executed there or not.
    #[test]
    fn every_command_took_220_kb_on_every_thread() {
        const COMMANDS: usize = 100;
        let mut figures = ThreadFigures::new(COMMANDS, 0);
        let bytes = |figures: &ThreadFigures| -> usize {
            figures.statements.iter().map(|statement| statement.latency.heap_bytes()).sum()
        };
        assert_eq!(bytes(&figures), 0);
        for (command, statement) in figures.statements.iter_mut().enumerate().skip(COMMANDS / 2) {
            // Around 0.1 to 5 ms, and one execution in a thousand takes a hundred times as long.
            let usual = 50_000 * (command as u64 + 1);
            for k in 0..10_000 {
                let ns = usual + usual / 2 * (k % 100) / 100;
                statement.count(StatementEnd::Completed(if k % 1000 == 0 { 100 * ns } else { ns }));
            }
        }
        assert!(bytes(&figures) < COMMANDS / 2 * 16_000, "{} bytes", bytes(&figures));
    }
}
