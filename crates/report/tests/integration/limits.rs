//! Limits in every view.

use crate::fixture::{Shape, data, offer};
use report::{ReportData, html, tables};
use results::CellValue;
use spec::plan::Plan;
use spec::{AskedLimit, OfferedLoad, Run, Term, figures};

/// Runs of 4 s: one at full speed, then three trials at each of two rates, of which the slower keeps the
/// promise; `late` of its arrivals were late.
fn searched(late: [u64; 3]) -> ReportData {
    let shape = Shape { arms: vec![], clients: vec![4], rounds: 7, ..Shape::small() };
    let made = data(&shape);
    let mut runs = made.runs;
    runs[0].figures.set(figures::PEAK_PER_S, 600.0);
    let trial = |(run, (rate, late)): (&mut Run, (f64, u64))| {
        offer(run, rate);
        let due = (rate * run.measured_s) as u64;
        run.counts.extend([(figures::DUE, due), (figures::OK, due - late), (figures::LATE, late)]);
        run.figures.set(figures::PROMISE_MS, 20.0);
        run.figures.set(figures::PROMISE_KEPT, if rate < 450.0 { 1.0 } else { 0.0 });
        run.figures.set(figures::PROMISE_BAD_PCT, 100.0 * late as f64 / due as f64);
    };
    let trials = late.map(|late| (400.0, late)).into_iter().chain([(500.0, 300); 3]);
    runs[1..].iter_mut().zip(trials).for_each(trial);
    let mut plan = Plan::default();
    let term = Term { script: None, within_us: 20_000, share: 0.01, written: "p99 < 20ms".into() };
    plan.content.measure.search = Some(AskedLimit {
        promise: vec![term],
        lowest: Some(400.0),
        highest: Some(500.0),
        width: 0.25,
        grow_clients: false,
        users: None,
        confirm: Vec::new(),
    });
    let mut experiment = made.experiment;
    experiment.plan = plan.into();
    ReportData::new(experiment, made.host, made.target, runs)
}

/// Regression: the report of a limit of users spoke of rates and of arrivals on a schedule, had an empty column, and
/// the 99th percentile where the 95th was promised.
#[test]
fn the_trials_of_users_are_told_as_users_with_the_promised_percentile() {
    let shape = Shape { arms: vec![], clients: vec![9], rounds: 3, ..Shape::small() };
    let made = data(&shape);
    let mut runs = made.runs;
    for run in &mut runs {
        run.load = OfferedLoad::Users;
        run.figures.extend([(figures::PROMISE_KEPT, 1.0), (figures::PROMISE_BAD_PCT, 2.0)]);
    }
    let term = |name: &str, share| Term { script: None, within_us: 20_000, share, written: name.into() };
    let mut plan = Plan::default();
    plan.content.measure.search = Some(AskedLimit {
        promise: vec![term("p99.9 < 20ms", 0.001), term("p90 < 4ms", 0.1)],
        lowest: None,
        highest: Some(9.0),
        width: 0.03,
        grow_clients: false,
        users: Some(9),
        confirm: Vec::new(),
    });
    let mut experiment = made.experiment;
    experiment.plan = plan.into();
    let page = html::page(&ReportData::new(experiment, made.host, made.target, runs));
    let (_, trials) = page.split_once("trials at each number of users").expect("the table of trials");
    let (trials, _) = trials.split_once("</table>").expect("its end");
    assert!(trials.contains("p90<") && trials.contains("p99.9<"), "{trials}");
    assert!(!trials.contains("p99<") && !trials.contains("done in time"), "{trials}");
    assert!(
        page.contains("a number counts as one that keeps it") && !page.contains("arrivals on a schedule")
    );
}

/// Regression: what was done in time was the median of the trials in one table, and that of all of them
/// together in the others.
#[test]
fn what_was_done_in_time_at_a_rate_has_one_value() {
    // 1,600 arrivals each in 4 s.
    let data = searched([0, 0, 12]);
    let together = (4800.0 - 12.0) / 12.0;
    let limits = tables::limits(&data).expect("limits");
    let at = limits.at("achieved_per_s").expect("its column");
    assert_eq!(limits.rows[0][at], CellValue::from(together));
    let cells = tables::cells(&data);
    let [rate, achieved] = ["offered_tps", "achieved_tps"].map(|name| cells.at(name).expect(name));
    let row = cells.rows.iter().find(|row| row[rate] == CellValue::from(400.0)).expect("the rate");
    assert_eq!(row[achieved], CellValue::from(together));
    let page = html::page(&data);
    let (_, trials) = page.split_once("trials at each rate").expect("the table of trials");
    let (trials, _) = trials.split_once("</table>").expect("its end");
    assert!(trials.contains(">399<"), "{trials}");
}
