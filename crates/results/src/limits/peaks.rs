//! The runs as fast as so many clients can, which tell where a limit is looked for.

use spec::{AskedLimit, Run, figures};

/// Runs as fast as so many clients can of which none counts: there is no more to be had.
const MOST: usize = 2;
/// With less growth than this from one number of clients to twice as many, more bring nothing.
const GROWTH: f64 = 1.1;

/// Runs of a cell as fast as the clients can.
pub(super) struct Peaks<'r> {
    /// In the order they were made, counted or not.
    tried: Vec<&'r Run>,
    /// Clients and transactions per second of those that count, by clients.
    counted: Vec<(u32, f64)>,
}

impl<'r> Peaks<'r> {
    pub(super) fn of(runs: &[&'r Run]) -> Self {
        let tried: Vec<&Run> = runs.iter().copied().filter(|run| run.offered_rate.is_none()).collect();
        let counts = |run: &&Run| Some((run.clients, run.figures.get(figures::PEAK_PER_S)?));
        let mut counted: Vec<(u32, f64)> = tried.iter().filter_map(counts).collect();
        counted.sort_by_key(|(clients, _)| *clients);
        Self { tried, counted }
    }

    /// Clients and transactions per second of the fastest.
    pub(super) fn fastest(&self) -> Option<(u32, f64)> {
        self.counted.iter().copied().max_by(|(_, one), (_, other)| one.total_cmp(other))
    }

    pub(super) fn fastest_run(&self) -> Option<&'r Run> {
        let per_s = |run: &&Run| run.figures.get(figures::PEAK_PER_S);
        let counted = self.tried.iter().copied().filter(|run| per_s(run).is_some());
        counted
            .max_by(|one, other| per_s(one).partial_cmp(&per_s(other)).unwrap_or(std::cmp::Ordering::Equal))
    }

    /// The most clients of which one counts.
    pub(super) fn most_clients(&self) -> Option<u32> {
        self.counted.last().map(|(clients, _)| *clients)
    }

    /// How long one that counts was measured, seconds.
    pub(super) fn measured_s(&self) -> Option<f64> {
        self.tried.iter().find(|run| run.figures.get(figures::PEAK_PER_S).is_some()).map(|run| run.measured_s)
    }

    pub(super) fn tried_with(&self, clients: u32) -> usize {
        self.tried.iter().filter(|run| run.clients == clients).count()
    }

    /// How many clients are to be tried next: these at first, then twice as many as long as that is worth it and they are let
    /// in; none where what there is will do.
    pub(super) fn wanted(&self, asked: &AskedLimit, clients: u32, let_in: Option<u32>) -> Option<u32> {
        let let_in = let_in.unwrap_or(u32::MAX).max(clients);
        let wanted = match self.most_clients() {
            None => Some(clients),
            Some(last) if asked.grow_clients && self.are_growing() && last < let_in => {
                Some((2 * last).min(let_in))
            }
            Some(_) => None,
        };
        wanted.filter(|clients| self.tried_with(*clients) < MOST)
    }

    /// Whether the last doubling of the clients was worth it; so it is as long as there was none. Where the server did not let in
    /// twice as many, the last step is too short to tell by itself.
    pub(super) fn are_growing(&self) -> bool {
        let Some((last, before)) = self.counted.split_last() else { return true };
        let half = before.iter().rev().find(|(clients, _)| 2 * clients <= last.0);
        half.or(before.last()).is_none_or(|(_, half)| last.1 > GROWTH * half)
    }
}
