use results::ExperimentId;

use super::*;

fn gate(at: usize, change: f64) -> (ExperimentId, GateRecord) {
    let record = GateRecord {
        name: "queries".into(),
        arm: "new".into(),
        base: "old".into(),
        commit: format!("{at:040x}"),
        subject: (at == 6).then(|| "Use a *slow* list | of\u{1b}[31m things".to_owned()),
        base_commit: Some("release".into()),
        judged_at: "2026-01-02T03:04:05Z".into(),
        metric: WorkMetric::Cpu,
        judgement: if change > 0.03 { Judgement::Worse } else { Judgement::Same },
        log_ratio: Some(change),
        interval: Some((change - 0.01, change + 0.01)),
    };
    (ExperimentId(at as i64), record)
}

fn history() -> GateHistory {
    let noise = [0.001, -0.002, 0.0, 0.002];
    GateHistory::of((0..12).map(|at| gate(at, noise[at % 4] + if at >= 6 { 0.08 } else { 0.0 })).collect())
}

#[test]
fn a_change_in_the_history_names_its_commit_and_what_it_did() {
    let history = history();
    let said = history::changes(&history);
    assert_eq!(said.len(), 1);
    let begins = "history: server CPU per transaction changed by +8.";
    assert!(said[0].starts_with(begins) && said[0].contains(" by 000000000000 ("), "{said:?}");
    let chart = chart("queries", &history).unwrap();
    assert!(chart.svg.contains("against release") && chart.svg.contains("over commits"), "{}", chart.svg);
    let table = history_table(&history);
    assert_eq!(table.rows.len(), 12);
    assert!(super::chart("queries", &GateHistory::default()).is_none());
}

#[test]
fn the_summary_begins_with_the_judgement_and_shows_foreign_text_as_text() {
    let history = history();
    let (_, record) = gate(6, 0.08);
    let answer = GateAnswer {
        change: stats::paired(&[0.08, 0.083, 0.079, 0.081]),
        ..GateAnswer::unmeasured(Judgement::Worse, ["old", "new"].map(str::to_owned), WorkMetric::Cpu)
    };
    let files = ["summary.md".to_owned()];
    let report = GateReport {
        record: &record,
        answer: &answer,
        data: None,
        against: None,
        looks: (2, 3),
        history: &history,
        notes: &[],
        files: &files,
        exit_code: 1,
    };
    let page = report.markdown();
    let begins = "## ❌ worse: new against old: server CPU per transaction +8.4 %";
    assert!(page.starts_with(begins), "{page}");
    assert!(page.contains("\\*slow\\*") && !page.contains('\u{1b}'), "{page}");
    assert!(page.contains("Looked at 2 of 3 times"));
    let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
    assert_eq!((json["outcome"].as_str(), json["metric"].as_str()), (Some("worse"), Some("cpu")));
    assert_eq!(json["changes"][0]["causes"][0]["commit"], json["history"][6]["commit"]);
    assert!(json["low_pct"].as_f64() < json["change_pct"].as_f64());
}
