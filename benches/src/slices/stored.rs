//! What the program says of a comparison, read from its JSON.

use anyhow::Context;
use serde::Deserialize;

/// A line of `pgdyno compare --format json`, as far as it is needed.
#[derive(Debug, Clone, Deserialize)]
struct Line {
    workload: String,
    change_pct: Option<f64>,
    low_pct: Option<f64>,
    high_pct: Option<f64>,
    verdict: String,
    quad_correlation: Option<f64>,
}

/// The workload of the line that speaks of everything.
const WHOLE: &str = "whole grid";

/// The answer to a comparison.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) change_pct: f64,
    /// Ends of the 95 % interval.
    pub(crate) interval_pct: (f64, f64),
    pub(crate) verdict: String,
    /// Of quads with those that follow them, where arms took turns.
    pub(crate) quad_correlation: Option<f64>,
}

impl Answer {
    /// # Errors
    /// What was printed is not a comparison with an interval.
    pub(crate) fn parse(json: &str) -> anyhow::Result<Self> {
        let lines: Vec<Line> = serde_json::from_str(json).with_context(|| format!("no table: {json}"))?;
        // There is one cell, whose line says it.
        let quad_correlation = lines.iter().find_map(|line| line.quad_correlation);
        let whole =
            lines.into_iter().find(|line| line.workload == WHOLE).context("no figure for the grid")?;
        let found = (whole.change_pct, whole.low_pct, whole.high_pct);
        let (Some(change_pct), Some(low), Some(high)) = found else {
            anyhow::bail!("no interval: the comparison is {}", whole.verdict);
        };
        Ok(Self { change_pct, interval_pct: (low, high), verdict: whole.verdict, quad_correlation })
    }

    /// Half the width of the 95 % interval, percentage points.
    pub(crate) fn half_width_pct(&self) -> f64 {
        (self.interval_pct.1 - self.interval_pct.0) / 2.0
    }

    pub(crate) fn leaves_out_0(&self) -> bool {
        self.interval_pct.0 > 0.0 || self.interval_pct.1 < 0.0
    }

    /// `-5.1 % [-6.9, -3.3]`.
    pub(crate) fn words(&self) -> String {
        let (low, high) = self.interval_pct;
        format!("{:+.1} % [{low:+.1}, {high:+.1}]", self.change_pct)
    }
}

/// Slices of one arm in a quad.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub(crate) struct Side {
    pub(crate) succeeded: f64,
    /// Sum over its clients.
    pub(crate) at_work_us: f64,
}

impl Side {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self { succeeded: self.succeeded + other.succeeded, at_work_us: self.at_work_us + other.at_work_us }
    }

    pub(crate) fn per_us(self) -> f64 {
        self.succeeded / self.at_work_us
    }
}

/// A quad: two slices of each arm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Quad {
    pub(crate) round: u32,
    pub(crate) base: Side,
    pub(crate) new: Side,
    pub(crate) is_void: bool,
    /// Mean over its slices.
    pub(crate) steal_pct: Option<f64>,
}

/// One arm's part of a quad, as [`QUADS`] asks for it.
#[derive(Debug, Clone, Deserialize)]
struct Half {
    round: u32,
    quad: u32,
    arm: String,
    #[serde(flatten)]
    side: Side,
    is_void: u8,
    steal_pct: Option<f64>,
}

/// The quads of the newest experiment.
pub(crate) const QUADS: &str = "SELECT run.round, slice.quad, run.arm, sum(slice.succeeded) AS succeeded, \
     sum(slice.at_work_us) AS at_work_us, max(slice.is_void) AS is_void, avg(slice.steal_pct) AS steal_pct \
     FROM slice JOIN run USING (run_id) WHERE run.validity <> 'invalid' \
     AND run.experiment_id = (SELECT max(experiment_id) FROM experiment) \
     GROUP BY run.run_id, slice.quad ORDER BY run.round, slice.quad";

/// Pairs the halves of quads.
///
/// # Errors
/// They are not what [`QUADS`] gives.
pub(crate) fn quads(json: &str, base: &str) -> anyhow::Result<Vec<Quad>> {
    let halves: Vec<Half> = serde_json::from_str(json).with_context(|| format!("no quads: {json}"))?;
    let pair = |own: &Half| {
        let of_quad = |half: &&Half| (half.round, half.quad) == (own.round, own.quad) && half.arm != base;
        let new = halves.iter().find(of_quad)?;
        let steals: Vec<f64> = own.steal_pct.into_iter().chain(new.steal_pct).collect();
        Some(Quad {
            round: own.round,
            base: own.side,
            new: new.side,
            is_void: own.is_void + new.is_void > 0,
            steal_pct: (!steals.is_empty()).then(|| steals.iter().sum::<f64>() / steals.len() as f64),
        })
    };
    Ok(halves.iter().filter(|half| half.arm == base).filter_map(pair).collect())
}

/// Mean share of CPU time that the hypervisor took in the runs of the newest experiment.
pub(crate) const STOLEN: &str = "SELECT avg(value) AS steal_pct FROM run_figure JOIN run USING (run_id) \
     WHERE name = 'steal_pct' AND kind = 'client' AND experiment_id = (SELECT max(experiment_id) FROM experiment)";

/// # Errors
/// It is not what [`STOLEN`] gives.
pub(crate) fn stolen(json: &str) -> anyhow::Result<Option<f64>> {
    #[derive(Deserialize)]
    struct Row {
        steal_pct: Option<f64>,
    }
    let rows: Vec<Row> = serde_json::from_str(json).with_context(|| format!("no figure: {json}"))?;
    Ok(rows.first().and_then(|row| row.steal_pct))
}

/// The placement that `pgdyno calibrate --format json` advised, and why.
///
/// # Errors
/// It is not what calibrate prints.
pub(crate) fn advice(json: &str) -> anyhow::Result<String> {
    #[derive(Deserialize)]
    struct Row {
        what: String,
        placement: Option<String>,
        verdict: Option<String>,
    }
    let rows: Vec<Row> = serde_json::from_str(json).with_context(|| format!("no table: {json}"))?;
    let advised = rows.into_iter().find(|row| row.what == "advised placement");
    Ok(match advised.and_then(|row| Some((row.placement?, row.verdict.unwrap_or_default()))) {
        Some((placement, why)) => format!("calibrate advised {placement} ({why})"),
        None => "calibrate advised none".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_that_of_the_whole_grid() {
        let line = |workload: &str, change: &str, correlation: &str| {
            format!(
                "{{\"arm\": \"b\", \"workload\": \"{workload}\", \"cell\": \"\", \"base_tps\": null, \"tps\": 1.5, \
                 \"change_pct\": {change}, \"low_pct\": -2.0, \"high_pct\": 1.0, \"p_adjusted\": null, \"n\": 12, \
                 \"verdict\": \"same\", \"groups\": null, \"remarks\": null, \"quad_correlation\": {correlation}}}"
            )
        };
        let lines = [line("tpcb", "7", "0.4"), line(WHOLE, "-0.5", "null")];
        let answer = Answer::parse(&format!("[{}]", lines.join(","))).unwrap();
        assert_eq!((answer.change_pct, answer.half_width_pct(), answer.leaves_out_0()), (-0.5, 1.5, false));
        assert_eq!(answer.quad_correlation, Some(0.4));
        assert_eq!(answer.words(), "-0.5 % [-2.0, +1.0]");
        assert!(Answer::parse(&format!("[{}]", line(WHOLE, "null", "null"))).is_err());
    }

    #[test]
    fn the_advised_placement_is_found_among_those_measured() {
        let row = |what: &str, placement: &str| {
            format!(
                "{{\"what\": \"{what}\", \"placement\": \"{placement}\", \"verdict\": \"steady\", \"clients\": null}}"
            )
        };
        let rows = format!("[{}, {}]", row("placement", "same"), row("advised placement", "apart"));
        assert_eq!(advice(&rows).unwrap(), "calibrate advised apart (steady)");
        assert_eq!(advice("[]").unwrap(), "calibrate advised none");
    }

    #[test]
    fn halves_of_quads_find_each_other() {
        let half = |quad: u32, arm: &str, succeeded: u32, steal: &str| {
            format!(
                "{{\"round\": 1, \"quad\": {quad}, \"arm\": \"{arm}\", \"succeeded\": {succeeded}, \"at_work_us\": 2.0, \
                 \"is_void\": 0, \"steal_pct\": {steal}}}"
            )
        };
        let halves = [half(0, "a", 4, "1.0"), half(0, "b", 6, "3.0"), half(1, "a", 4, "null")];
        let quads = quads(&format!("[{}]", halves.join(",")), "a").unwrap();
        assert_eq!(quads.len(), 1);
        assert_eq!((quads[0].base.per_us(), quads[0].new.per_us()), (2.0, 3.0));
        assert_eq!(quads[0].steal_pct, Some(2.0));
    }
}
