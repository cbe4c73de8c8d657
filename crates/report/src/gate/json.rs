//! A gate as JSON, for programs.

use results::gate::HistoryChange;
use serde::Serialize;
use spec::plan::WorkMetric;
use stats::percent_change;

use super::GateReport;

#[derive(Serialize)]
struct Json<'a> {
    gate: &'a str,
    outcome: &'static str,
    exit_code: u8,
    commit: &'a str,
    subject: Option<&'a str>,
    base_commit: Option<&'a str>,
    arm: &'a str,
    base: &'a str,
    metric: WorkMetric,
    change_pct: Option<f64>,
    low_pct: Option<f64>,
    high_pct: Option<f64>,
    looks: u32,
    looks_planned: u32,
    experiment: Option<i64>,
    remarks: Vec<String>,
    files: &'a [String],
    history: Vec<Point<'a>>,
    changes: Vec<Change<'a>>,
}

#[derive(Serialize)]
struct Point<'a> {
    commit: &'a str,
    subject: Option<&'a str>,
    judged_at: &'a str,
    base_commit: Option<&'a str>,
    metric: WorkMetric,
    outcome: &'static str,
    change_pct: Option<f64>,
    low_pct: Option<f64>,
    high_pct: Option<f64>,
    experiment: i64,
}

#[derive(Serialize)]
struct Change<'a> {
    commit: &'a str,
    change_pct: f64,
    causes: Vec<Cause<'a>>,
}

#[derive(Serialize)]
struct Cause<'a> {
    commit: &'a str,
    probability: f64,
}

impl GateReport<'_> {
    /// One object; percentages are changes of the judged arm over all cells.
    #[must_use]
    pub fn json(&self) -> String {
        let points = &self.history.points;
        let change = |of: &HistoryChange| Change {
            commit: &points[of.at].gate.commit,
            change_pct: of.change_pct,
            causes: of
                .causes
                .iter()
                .map(|cause| Cause { commit: &points[cause.at].gate.commit, probability: cause.probability })
                .collect(),
        };
        let interval = self.answer.change.and_then(|change| change.interval_pct());
        let json = Json {
            gate: &self.record.name,
            outcome: self.answer.judgement.word(),
            exit_code: self.exit_code,
            commit: &self.record.commit,
            subject: self.record.subject.as_deref(),
            base_commit: self.record.base_commit.as_deref(),
            arm: &self.answer.arm,
            base: &self.answer.base,
            metric: self.answer.metric,
            change_pct: self.answer.change.map(|change| change.change_pct()),
            low_pct: interval.map(|(low, _)| low),
            high_pct: interval.map(|(_, high)| high),
            looks: self.looks.0,
            looks_planned: self.looks.1,
            experiment: self.data.and_then(|data| data.stored.as_ref()).map(|(id, _)| id.0),
            remarks: self.remarks(),
            files: self.files,
            history: points
                .iter()
                .map(|point| Point {
                    commit: &point.gate.commit,
                    subject: point.gate.subject.as_deref(),
                    judged_at: &point.gate.judged_at,
                    base_commit: point.gate.base_commit.as_deref(),
                    metric: point.gate.metric,
                    outcome: point.gate.judgement.word(),
                    change_pct: point.change_pct(),
                    low_pct: point.gate.interval.map(|(low, _)| percent_change(low)),
                    high_pct: point.gate.interval.map(|(_, high)| percent_change(high)),
                    experiment: point.experiment.0,
                })
                .collect(),
            changes: self.history.changes.iter().map(change).collect(),
        };
        serde_json::to_string_pretty(&json).unwrap_or_default() + "\n"
    }
}
