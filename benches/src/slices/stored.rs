//! The program's answers, parsed from its JSON.

use anyhow::Context;
use serde::Deserialize;

/// The needed fields of a line of `pgdyno compare --format json`.
#[derive(Debug, Clone, Deserialize)]
struct ComparisonLine {
    workload: String,
    change_pct: Option<f64>,
    low_pct: Option<f64>,
    high_pct: Option<f64>,
    verdict: String,
}

/// The workload of the line for the whole grid.
pub(crate) const WHOLE: &str = "whole grid";

#[derive(Debug, Clone)]
pub(crate) struct ComparisonAnswer {
    pub(crate) change_pct: f64,
    /// 95 % interval.
    pub(crate) interval_pct: (f64, f64),
    pub(crate) verdict: String,
}

impl ComparisonAnswer {
    /// # Errors
    /// The output is not a comparison with an interval.
    pub(crate) fn parse(json: &str) -> anyhow::Result<Self> {
        let lines: Vec<ComparisonLine> =
            serde_json::from_str(json).with_context(|| format!("no table: {json}"))?;
        let whole =
            lines.into_iter().find(|line| line.workload == WHOLE).context("no figure for the grid")?;
        let found = (whole.change_pct, whole.low_pct, whole.high_pct);
        let (Some(change_pct), Some(low), Some(high)) = found else {
            anyhow::bail!("no interval: the comparison is {}", whole.verdict);
        };
        Ok(Self { change_pct, interval_pct: (low, high), verdict: whole.verdict })
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

/// Mean share of CPU time that the hypervisor took in the runs of the newest experiment.
pub(crate) const STOLEN: &str = "SELECT avg(value) AS steal_pct FROM run_figure JOIN run USING (run_id) \
     WHERE name = 'steal_pct' AND kind = 'client' AND experiment_id = (SELECT max(experiment_id) FROM experiment)";

/// # Errors
/// It is not the result of [`STOLEN`].
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
/// It is not the output of calibrate.
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
        let line = |workload: &str, change: &str| {
            format!(
                "{{\"arm\": \"b\", \"workload\": \"{workload}\", \"cell\": \"\", \"base_tps\": null, \"tps\": 1.5, \
                 \"change_pct\": {change}, \"low_pct\": -2.0, \"high_pct\": 1.0, \"p_adjusted\": null, \"n\": 12, \
                 \"verdict\": \"same\", \"groups\": null, \"remarks\": null}}"
            )
        };
        let lines = [line("tpcb", "7"), line(WHOLE, "-0.5")];
        let answer = ComparisonAnswer::parse(&format!("[{}]", lines.join(","))).unwrap();
        assert_eq!((answer.change_pct, answer.half_width_pct(), answer.leaves_out_0()), (-0.5, 1.5, false));
        assert_eq!(answer.words(), "-0.5 % [-2.0, +1.0]");
        assert!(ComparisonAnswer::parse(&format!("[{}]", line(WHOLE, "null"))).is_err());
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
}
