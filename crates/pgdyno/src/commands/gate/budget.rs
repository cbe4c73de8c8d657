//! The time that a gate may spend to decide.

use std::time::Duration;

use results::ReportData;

/// What a round takes besides its runs: resets, checkpoints, restarts, as a multiple of the runs' time. Corrected by the
/// time that rounds took once some were added.
const OVERHEAD: f64 = 1.5;

/// Most rounds of an experiment.
const MOST_ROUNDS: u32 = 10_000;

#[derive(Debug)]
pub(super) struct Budget {
    left: Duration,
    /// Time of one round, estimated.
    a_round: Duration,
    /// Rounds that were there at the last look.
    rounds: u32,
}

impl Budget {
    pub(super) fn of(budget: Duration) -> Self {
        Self { left: budget, a_round: Duration::ZERO, rounds: 0 }
    }

    /// Learns how long a round takes: from the runs, or from what adding rounds took, which is paid from the budget.
    pub(super) fn spent(&mut self, data: &ReportData, rounds: u32, added: Option<Duration>) {
        match added {
            None => {
                let runs: f64 = data.grid_runs().map(|run| run.warmup_s + run.measured_s).sum();
                self.a_round = Duration::from_secs_f64(OVERHEAD * runs / f64::from(rounds.max(1)));
            }
            Some(took) => {
                self.left = self.left.saturating_sub(took);
                self.a_round = took / rounds.saturating_sub(self.rounds).max(1);
            }
        }
        self.rounds = rounds;
    }

    /// The number of rounds at the next look: twice as many, and at the last one as many as the budget pays for; always
    /// even. `None` if that is no more. It does not depend on the figures, so that looks stay as many chances as planned.
    pub(super) fn rounds(&self, now: u32, is_last: bool) -> Option<u32> {
        let affordable = self.left.as_secs_f64() / self.a_round.as_secs_f64().max(0.001);
        let most = if is_last { MOST_ROUNDS } else { 2 * now };
        let more = f64::from(most.min(MOST_ROUNDS).saturating_sub(now)).min(affordable) as u32;
        let even = more - more % 2;
        (even > 0).then_some(now + even)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(left_s: u64, a_round_s: u64, rounds: u32) -> Budget {
        Budget { left: Duration::from_secs(left_s), a_round: Duration::from_secs(a_round_s), rounds }
    }

    #[test]
    fn rounds_are_doubled_as_far_as_the_budget_goes() {
        for (left, now, wanted) in
            [(600, 8, Some(16)), (50, 8, Some(12)), (19, 8, None), (0, 8, None), (41, 2, Some(4))]
        {
            assert_eq!(budget(left, 10, now).rounds(now, false), wanted, "{left} s, {now} rounds");
        }
        assert_eq!(budget(600, 10, 8).rounds(8, true), Some(68), "the last look has the rest");
        assert_eq!(budget(86_400, 1, 9998).rounds(9998, true), Some(10_000));
        assert_eq!(budget(86_400, 1, 10_000).rounds(10_000, false), None);
    }

    #[test]
    fn what_rounds_took_is_paid() {
        let mut of = budget(100, 1, 8);
        let data = ReportData::new(
            serde_json::from_value(serde_json::json!({
                "hash": "", "name": "", "question": "", "file_text": "", "seed": 1, "order_scheme": "single", "rounds": 16,
                "compare_factor": null, "base": null, "arms": [], "margin": 0.03, "taste": null, "created_at": ""
            }))
            .unwrap(),
            serde_json::from_value(serde_json::json!({
                "uuid": "", "name": "", "cpu": "", "cores": 1, "memory_bytes": 1, "facts": {}
            }))
            .unwrap(),
            serde_json::from_value(serde_json::json!({
                "kind": "url", "dsn_redacted": "", "server_version": "", "postgis_version": null, "versions": {}
            }))
            .unwrap(),
            Vec::new(),
        );
        of.spent(&data, 16, Some(Duration::from_secs(64)));
        assert_eq!((of.left.as_secs(), of.a_round.as_secs()), (36, 8));
        assert_eq!(of.rounds(16, false), Some(20));
    }
}
