//! Ladders and the scalability law in every view.

use crate::fixture::{Shape, data};
use report::format::{TableFormat, blocks, print};
use report::{Block, ReportData, charts, html, tables};
use results::CellValue;
use results::ladder::{Ladder, LadderOutcome, ladders};
use spec::plan::Plan;
use spec::{Doubt, Reason, Run, RunEvent, Validity, figures};

/// Clients, and of 1,000 arrivals the late and the skipped ones.
type Rung = (u32, u64, u64);

/// Clients and rate in step, at a promise of 250 ms.
fn in_step(rungs: &[Rung], bound: Option<f64>) -> ReportData {
    let shape = Shape {
        arms: vec![],
        workloads: vec![("reporting", 5.0)],
        clients: rungs.iter().map(|(clients, ..)| *clients).collect(),
        rounds: 2,
        ..Shape::small()
    };
    let made = data(&shape);
    let run = |run: &Run| {
        let (clients, late, skipped) =
            rungs.iter().find(|(clients, ..)| *clients == run.clients).copied().expect("one of them");
        let mut run = run.clone();
        run.load = spec::OfferedLoad::Rate;
        run.offered_rate = Some(f64::from(clients));
        run.measured_s = 1000.0 / f64::from(clients);
        run.factors.insert("rate_per_client".into(), "1".into());
        run.factors.insert("promise".into(), "250ms".into());
        run.figures.set(figures::PROMISE_MS, 250.0);
        let counts = [
            (figures::DUE, 1000),
            (figures::OK, 1000 - late - skipped),
            (figures::LATE, late),
            (figures::SKIPPED, skipped),
        ];
        run.counts.extend(counts);
        run
    };
    let runs = made.runs.iter().map(run).collect();
    let mut experiment = made.experiment;
    let mut plan = Plan::default();
    plan.content.measure.bound = bound;
    experiment.plan = plan.into();
    ReportData::new(experiment, made.host, made.target, runs)
}

fn column(data: &ReportData, name: &str) -> Vec<CellValue> {
    let table = tables::ladder(data);
    let at = table.at(name).expect(name);
    table.rows.iter().map(|row| row[at].clone()).collect()
}

fn sentences(blocks: &[Block]) -> Vec<String> {
    let words = |block: &Block| match block {
        Block::Paragraph(paragraph) => Some(paragraph.words()),
        _ => None,
    };
    blocks.iter().filter_map(words).collect()
}

#[test]
fn quality_breaks_at_the_first_rung_from_which_on_it_stays_broken() {
    let rungs = [(3, 0, 0), (8, 10, 0), (10, 20, 0), (12, 300, 10), (14, 400, 14)];
    let data = in_step(&rungs, None);
    let qualities = ["kept", "kept", "breaks here", "broken", "broken"];
    assert_eq!(column(&data, "quality"), qualities.map(CellValue::from));
    assert_eq!(column(&data, "rate"), [3.0, 8.0, 10.0, 12.0, 14.0].map(CellValue::from));
    assert_eq!(ladders(&data).iter().map(Ladder::outcome).collect::<Vec<_>>(), [LadderOutcome::Decided]);
    // As in pgbench: late of processed, skipped of all.
    assert_eq!(column(&data, "late_share_pct")[3], (300.0 / 990.0 * 100.0).into());
    assert_eq!(column(&data, "skipped_share_pct")[3], 1.0.into());
    let told = tables::ladders_in_words(&data, true);
    assert_eq!(
        sentences(&told)[0],
        "Quality breaks at 10 clients, 10/s: 2 % late, skipped, failed or unfinished (bound 1 %)."
    );
    let text = blocks(&told, TableFormat::Text);
    assert!(text.contains("Ladder: reporting, p99 < 250ms"), "{text}");
    let [Block::Table(table), ..] = &told[..] else { panic!("{text}") };
    let text = print(table, TableFormat::Text);
    assert!(text.contains("BREAKS") && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let page = html::page(&data);
    assert!(page.contains("Ladder: reporting, p99 &lt; 250ms") && page.contains("BREAKS"));
    assert!(page.contains("response time over offered rate"), "clients and rate in step are one ladder");
}

/// Regression: a rung with a saturated generator was reported as the server's limit.
#[test]
fn a_rung_that_the_generator_broke_is_no_limit_of_the_server() {
    let mut data = in_step(&[(3, 0, 0), (8, 10, 0), (10, 20, 0)], None);
    for run in data.runs.iter_mut().filter(|run| run.clients == 10) {
        run.doubts = vec![Doubt { reason: Reason::ClientSaturated, detail: "busy".into() }];
    }
    let data = ReportData::new(data.experiment, data.host, data.target, data.runs);
    assert_eq!(ladders(&data)[0].outcome(), LadderOutcome::ByGenerator);
    let said = "The generator ended it there, so the server may hold more (client saturated: busy).";
    assert_eq!(sentences(&tables::ladders_in_words(&data, true))[1], said);
    assert!(html::page(&data).contains(said));
    assert_eq!(column(&data, "generator")[2], CellValue::from("client saturated: busy".to_owned()));
}

#[test]
fn a_bound_of_ones_own_and_ladders_that_never_break_or_never_hold() {
    let rungs = [(3, 20, 0), (8, 30, 0), (10, 60, 0)];
    let wanted = [
        (None, LadderOutcome::NeverHolds, "broken from the first rung on, 3 clients, 3/s: 2 %"),
        (Some(0.05), LadderOutcome::Decided, "breaks at 10 clients, 10/s: 6 %"),
        (Some(0.2), LadderOutcome::Decided, "holds on every rung, up to 10 clients, 10/s (bound 20 %)"),
    ];
    for (bound, outcome, words) in wanted {
        let data = in_step(&rungs, bound);
        assert_eq!(ladders(&data)[0].outcome(), outcome);
        let told = sentences(&tables::ladders_in_words(&data, true));
        assert!(told[0].contains(words), "{told:?}");
    }
}

#[test]
fn what_is_broken_below_a_rung_that_holds_is_irregular() {
    let data = in_step(&[(3, 20, 0), (8, 0, 0), (10, 300, 0)], None);
    assert_eq!(column(&data, "quality"), ["broken here only", "kept", "breaks here"].map(CellValue::from));
    assert_eq!(ladders(&data)[0].outcome(), LadderOutcome::Irregular);
    let told = sentences(&tables::ladders_in_words(&data, true));
    assert!(told[0].contains("Irregular: broken at 3 clients, 3/s, and kept higher up."), "{told:?}");
}

#[test]
fn a_rung_without_a_valid_run_is_no_answer() {
    let mut made = in_step(&[(3, 0, 0), (8, 0, 0), (10, 300, 0)], None);
    made.runs.iter_mut().filter(|run| run.clients == 8).for_each(|run| run.validity = Validity::Invalid);
    let data = ReportData::new(made.experiment, made.host, made.target, made.runs);
    assert_eq!(column(&data, "quality"), ["kept", "no valid run", "breaks here"].map(CellValue::from));
    assert_eq!(ladders(&data)[0].outcome(), LadderOutcome::Invalid);
    let told = sentences(&tables::ladders_in_words(&data, true));
    assert!(told[0].ends_with("Not known, since no run there is valid: 8 clients, 8/s."), "{told:?}");
    // The same if nothing else breaks.
    let mut made = in_step(&[(3, 0, 0), (8, 0, 0)], None);
    made.runs.iter_mut().filter(|run| run.clients == 8).for_each(|run| run.validity = Validity::Invalid);
    let data = ReportData::new(made.experiment, made.host, made.target, made.runs);
    let told = sentences(&tables::ladders_in_words(&data, true));
    assert!(told[0].starts_with("Quality holds at 3 clients, 3/s (bound 1 %). Not known"), "{told:?}");
}

/// More than 1 % fail, so no run of the rung is a figure of speed; the promise is still broken there.
#[test]
fn a_rung_that_breaks_by_failures_breaks() {
    let failing = |gives_up: bool| {
        let mut made = in_step(&[(3, 0, 0), (8, 0, 0), (10, 0, 0)], None);
        for run in made.runs.iter_mut().filter(|run| run.clients == 10) {
            run.counts.extend([(figures::OK, 960), (figures::FAILED, 40)]);
            run.validity = Validity::Invalid;
            run.doubts.push(Doubt { reason: Reason::Errors, detail: "40 of 1000 failed".into() });
            let abort = || RunEvent { time_us: 0, kind: RunEvent::ABORT.into(), detail: String::new() };
            run.events.extend(gives_up.then(abort));
        }
        ReportData::new(made.experiment, made.host, made.target, made.runs)
    };
    let data = failing(false);
    assert_eq!(column(&data, "quality"), ["kept", "kept", "breaks here"].map(CellValue::from));
    assert_eq!(column(&data, "bad_share_pct")[2], CellValue::from(4.0));
    assert_eq!(ladders(&data)[0].outcome(), LadderOutcome::Decided);
    // If clients gave up, nothing is known about it.
    assert_eq!(column(&failing(true), "quality"), ["kept", "kept", "no valid run"].map(CellValue::from));
}

/// More clients at one rate only help.
#[test]
fn too_few_clients_for_a_rate_are_not_irregular() {
    let mut made = in_step(&[(3, 400, 0), (8, 0, 0), (10, 0, 0)], None);
    for run in &mut made.runs {
        run.offered_rate = Some(100.0);
        run.measured_s = 10.0;
        run.factors.remove("rate_per_client");
        run.factors.insert("rate".into(), "100".into());
    }
    let data = ReportData::new(made.experiment, made.host, made.target, made.runs);
    assert_eq!(ladders(&data)[0].outcome(), LadderOutcome::Decided);
    let told = sentences(&tables::ladders_in_words(&data, true));
    assert!(told[0].starts_with("Quality holds from 8 clients, 100/s on"), "{told:?}");
}

#[test]
fn what_is_broken_below_and_kept_on_top_does_not_hold_on_every_rung() {
    let data = in_step(&[(3, 20, 0), (8, 0, 0), (10, 0, 0)], None);
    assert_eq!(ladders(&data)[0].outcome(), LadderOutcome::Irregular);
    let told = sentences(&tables::ladders_in_words(&data, true));
    assert!(told[0].starts_with("Quality holds at 8 clients, 8/s; 10 clients, 10/s"), "{told:?}");
    assert!(told[0].contains("Irregular: broken at 3 clients"), "{told:?}");
}

/// With 20 arrivals, one is 5 %.
#[test]
fn rungs_that_are_too_short_for_the_bound_are_named() {
    let mut made = in_step(&[(3, 0, 0), (8, 0, 0)], None);
    for run in &mut made.runs {
        run.measured_s = 20.0 / f64::from(run.clients);
        run.counts.extend([(figures::DUE, 20), (figures::OK, 20)]);
    }
    let data = ReportData::new(made.experiment, made.host, made.target, made.runs);
    let told = sentences(&tables::ladders_in_words(&data, true));
    assert!(
        told[1].contains("With 40 transactions (3 clients, 3/s) a single bad one passes the bound"),
        "{told:?}"
    );
}

#[test]
fn the_scalability_law_stands_in_table_page_and_chart() {
    let shape = Shape {
        arms: vec![],
        workloads: vec![("tpcb", 600.0)],
        clients: vec![1, 2, 4, 8, 16, 32],
        rounds: 4,
        ..Shape::small()
    };
    let made = data(&shape);
    let table = tables::scaling(&made);
    let at = |name: &str| table.at(name).expect(name);
    let real = |name: &str| match table.rows[0][at(name)] {
        CellValue::Real(number) => number,
        ref other => panic!("{name}: {other:?}"),
    };
    assert_eq!(table.rows.len(), 1);
    assert!(real("sigma_low") <= real("sigma") && real("sigma") <= real("sigma_high"));
    assert_eq!(table.rows[0][at("clients_levels")], 6_i64.into());
    let told = sentences(&tables::scalings_in_words(&made));
    let page = html::page(&made);
    for words in ["Throughput over clients: tpcb", "it does not describe p99", "contention", "fitted"] {
        assert!(page.contains(words), "{words}");
    }
    assert!(page.contains(&told[1]), "{told:?}");
    let drawn = charts(&made).iter().any(|chart| chart.svg.contains("fitted"));
    assert!(drawn, "the curve stands in the chart of throughput over clients");
    // A ladder of clients without a promise is a table too, without a verdict.
    assert_eq!(ladders(&made)[0].outcome(), LadderOutcome::Decided);
    assert_eq!(column(&made, "quality"), vec![CellValue::Null; 6]);
    assert!(tables::ladders_in_words(&made, true).is_empty());
}

/// Throughput on a schedule does not show capacity.
#[test]
fn the_law_is_for_closed_loads_with_three_numbers_of_clients() {
    assert!(tables::scaling(&in_step(&[(1, 0, 0), (2, 0, 0), (4, 0, 0), (8, 0, 0)], None)).rows.is_empty());
    let two = data(&Shape { arms: vec![], clients: vec![1, 4], ..Shape::small() });
    assert!(tables::scaling(&two).rows.is_empty());
    let arms = data(&Shape { clients: vec![1, 4, 16], rounds: 2, ..Shape::small() });
    assert_eq!(tables::scaling(&arms).rows.len(), 2);
}
