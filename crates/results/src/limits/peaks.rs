//! Runs at the full speed of the clients, which set the range of a search.

use spec::{AskedLimit, Run, figures};

/// With this many runs for a number of clients of which none counts, no more are made.
const MOST: usize = 2;
/// With less growth than this for twice as many clients, no more are added.
const GROWTH: f64 = 1.1;

pub(super) struct Peaks<'r> {
    tried: Vec<&'r Run>,
    /// Clients and transactions per second of the counted ones, by clients.
    counted: Vec<(u32, f64)>,
}

impl<'r> Peaks<'r> {
    pub(super) fn of(runs: &[&'r Run]) -> Self {
        let tried: Vec<&Run> = runs.iter().copied().filter(|run| run.tried_level().is_none()).collect();
        let counts = |run: &&Run| Some((run.clients, run.figures.get(figures::PEAK_PER_S)?));
        let mut counted: Vec<(u32, f64)> = tried.iter().filter_map(counts).collect();
        counted.sort_by_key(|(clients, _)| *clients);
        Self { tried, counted }
    }

    pub(super) fn fastest(&self) -> Option<(u32, f64)> {
        self.counted.iter().copied().max_by(|(_, one), (_, other)| one.total_cmp(other))
    }

    pub(super) fn fastest_run(&self) -> Option<&'r Run> {
        let per_s = |run: &&Run| run.figures.get(figures::PEAK_PER_S);
        let counted = self.tried.iter().copied().filter(|run| per_s(run).is_some());
        counted
            .max_by(|one, other| per_s(one).partial_cmp(&per_s(other)).unwrap_or(std::cmp::Ordering::Equal))
    }

    pub(super) fn most_clients(&self) -> Option<u32> {
        self.counted.last().map(|(clients, _)| *clients)
    }

    /// Length of a counted run, seconds.
    pub(super) fn measured_s(&self) -> Option<f64> {
        self.tried.iter().find(|run| run.figures.get(figures::PEAK_PER_S).is_some()).map(|run| run.measured_s)
    }

    pub(super) fn tried_with(&self, clients: u32) -> usize {
        self.tried.iter().filter(|run| run.clients == clients).count()
    }

    /// Number of clients to try next: first these, then twice as many while that helps and the server
    /// accepts them; `None` if no more are needed.
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

    /// Whether the last doubling of the clients helped; true without one. If the server did not accept
    /// twice as many, the last step is too short to judge by itself.
    pub(super) fn are_growing(&self) -> bool {
        let Some((last, before)) = self.counted.split_last() else { return true };
        let half = before.iter().rev().find(|(clients, _)| 2 * clients <= last.0);
        half.or(before.last()).is_none_or(|(_, half)| last.1 > GROWTH * half)
    }
}
