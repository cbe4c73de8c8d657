//! Verdicts are the same in every output: they come from one answer.

use crate::fixture::{Shape, data, doubt, remade, speed_up};
use report::format::{TableFormat, print};
use report::{Conclusion, ReportData, html, summary, tables};
use results::answer::Verdicts;
use results::comparison::Comparison;
use results::data::Wanted;
use results::{Course, Finished, Spool, Store};
use spec::shell::PrintedCommand;
use spec::{Judgement, OfferedLoad, Reason, Run, RunEvent, ScriptRecord, Validity, figures};

fn verdicts(data: &ReportData) -> Verdicts {
    Verdicts::of(data.compared().expect("a comparison"), &data.experiment, &data.runs)
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn outputs(data: &ReportData, found: &Comparison) -> Vec<(&'static str, String)> {
    let words = tables::compared_in_words(data, found);
    let programs = tables::compared(data, found);
    vec![
        ("text", flat(&print(&words, TableFormat::Text))),
        ("Markdown", flat(&print(&words, TableFormat::Md))),
        ("CSV", print(&programs, TableFormat::Csv)),
        ("JSON", print(&programs, TableFormat::Json)),
    ]
}

fn two_arms(workloads: &[(&'static str, f64)], clients: &[u32]) -> ReportData {
    data(&Shape {
        arms: vec![("stock", 0.0), ("gis", 0.0)],
        workloads: workloads.to_vec(),
        clients: clients.to_vec(),
        rounds: 8,
        extras: false,
        ..Shape::default()
    })
}

fn change(data: &mut ReportData, of: impl Fn(&mut Run)) {
    data.runs.iter_mut().filter(|run| run.arm.as_deref() == Some("gis")).for_each(of);
}

/// Regression: "same within 3 %" was printed for a workload that is 9 % slower, among others.
#[test]
fn workloads_that_differ_have_a_line_each_in_every_output() {
    let mut data = two_arms(&[("checkout", 620.0), ("points", 740.0), ("search", 8354.0)], &[4]);
    change(&mut data, |run| match run.workload.as_str() {
        "search" => speed_up(run, 30.0),
        "checkout" => speed_up(run, 0.7),
        _ => {}
    });
    let data = remade(data);
    let answer = verdicts(&data);
    assert_eq!((answer.lines.len(), answer.judgement), (3, Judgement::Worse));
    let summary = flat(&summary::text(&data));
    for said in [
        "gis: checkout, full_page_writes on → off, ",
        "and 1 more: slower: -",
        "and 1 more: faster: 30",
        "whole grid: no verdict, its parts differ, ",
    ] {
        assert!(summary.contains(said), "no {said:?}: {summary}");
    }
    let page = html::page(&data);
    assert!(page.contains(": slower") && page.contains("no verdict, its parts differ"));
    // Columns of the text break lines.
    for (name, text) in outputs(&data, data.throughput().unwrap()).into_iter().skip(1) {
        assert!(text.contains("no verdict, its parts differ"), "{name}: {text}");
        assert!(text.contains("on → off, "), "{name}: {text}");
    }
}

/// Regression: the command showed it, and `compare` in no format.
#[test]
fn scripts_that_differ_have_a_line_each_in_every_output() {
    let mut data = two_arms(&[("mix", 740.0)], &[4]);
    for run in &mut data.runs {
        let is_new = run.arm.as_deref() == Some("gis");
        let of = |name: &str, ms: u64| {
            let mut script = run.scripts[0].clone();
            script.name = name.into();
            script.part = None;
            script.service.clear();
            (0..200).for_each(|_| script.service.record(ms * 1_000_000));
            script
        };
        run.scripts =
            vec![of("search.sql", if is_new { 2 } else { 50 }), of("insert.sql", if is_new { 8 } else { 5 })];
    }
    let data = remade(data);
    let answer = verdicts(&data);
    assert_eq!((answer.lines.len(), answer.judgement), (2, Judgement::Worse));
    for (name, text) in outputs(&data, data.throughput().unwrap()) {
        for script in ["search.sql", "insert.sql"] {
            assert!(text.contains(script), "{name} has no {script}: {text}");
        }
        assert!(text.contains("slower") && text.contains("faster"), "{name}: {text}");
    }
    let page = html::page(&data);
    assert!(page.contains("insert.sql") && page.contains(": slower"), "the page");
}

/// Regression: 15 of 24 runs were suspect, and the answer was a plain "same".
#[test]
fn a_third_of_suspect_runs_stands_in_the_answer_of_every_output() {
    let mut data = two_arms(&[("points", 740.0)], &[4]);
    for (at, run) in data.runs.iter_mut().enumerate().take(7) {
        let reason = if at == 0 { Reason::Steal } else { Reason::Unsteady };
        doubt(run, Validity::Suspect, reason, "from 15,867 to 4,666");
    }
    let data = remade(data);
    let told = "7 of 16 runs are suspect, mostly unsteady (6)";
    let short = flat(&Conclusion::of(&data).text());
    assert!(short.contains(&format!("but: doubtful: {told}")), "{short}");
    let summary = flat(&summary::text(&data));
    assert!(summary.contains(&format!(", doubtful: {told}: ")), "{summary}");
    assert!(html::page(&data).contains(&format!(", doubtful: {told}")));
    for (name, text) in outputs(&data, data.throughput().unwrap()) {
        assert!(text.contains(told), "{name}: {text}");
    }
}

/// `compare` repeated why counters are missing in the verdict of every cell: 310 lines for four arms.
#[test]
fn a_remark_on_all_cells_is_said_once() {
    let mut data = two_arms(&[("points", 740.0)], &[1, 4, 16]);
    let remark = |detail: &str| RunEvent { time_us: 0, kind: RunEvent::REMARK.into(), detail: detail.into() };
    for run in &mut data.runs {
        run.events.push(remark("counts are not available"));
        run.events.extend((run.clients == 4).then(|| remark("four are special")));
    }
    let data = remade(data);
    let found = data.compared().unwrap();
    let words = print(tables::compared_in_words(&data, found), TableFormat::Text);
    assert!(flat(&words).contains("four are special") && !words.contains("counts"), "{words}");
    let below = report::format::blocks(&tables::below(&data, found), TableFormat::Text);
    assert_eq!(below.matches("Counts are not available.").count(), 1, "{below}");
    assert_eq!(summary::text(&data).matches("counts are not available").count(), 1);
    let programs = print(tables::compared(&data, found), TableFormat::Csv);
    assert_eq!(programs.matches("counts are not available").count(), 3, "{programs}");
}

/// Regression: `--metric p99` reported "slower" for runs of one to three transactions.
#[test]
fn a_percentile_of_few_transactions_is_no_figure_and_has_no_verdict() {
    let mut data = two_arms(&[("slow", 740.0)], &[4]);
    for run in &mut data.runs {
        let mut few = stats::Histogram::new();
        (1..=u64::from(run.round % 3) + 1).for_each(|value| few.record(value * 1_000_000));
        run.scripts[0].response = few;
    }
    let data = remade(data);
    let told = "too few for p99: 1 of at least 1,000";
    for (name, text) in outputs(&data, data.latency().unwrap()) {
        assert!(text.contains(told), "{name}: {text}");
        for verdict in ["slower", "faster", "same within"] {
            assert!(!text.contains(verdict), "{name}: {text}");
        }
    }
    let runs = tables::runs(&data).table();
    let at = runs.at("p99_us").unwrap();
    assert!(runs.rows.iter().all(|row| row[at] == results::CellValue::Null), "no figure of a run");
    // One to three transactions in each of 8 rounds.
    assert!(html::page(&data).contains("n/a (17 of 1,000 transactions)"));
}

/// Regression: the advice for runs of four transactions was thousands of rounds.
#[test]
fn runs_that_are_all_too_short_are_to_be_longer() {
    let mut data = two_arms(&[("slow", 1.0)], &[4]);
    for run in &mut data.runs {
        run.counts.set(figures::OK, 4 + u64::from(run.round % 3));
        doubt(run, Validity::Suspect, Reason::TooShort, "only 4 transactions succeeded in the measured part");
    }
    let mut data = remade(data);
    data.course = Course {
        command: PrintedCommand::read("pgdyno bench -f slow.sql -T 20 --against 'script: b.sql'"),
        ..Course::default()
    };
    let summary = summary::text(&data);
    assert!(
        flat(&summary).contains("all runs are too short: 4 to 6 of at least 30 transactions in each"),
        "{summary}"
    );
    assert!(
        summary.contains("\n    pgdyno bench -f slow.sql --against 'script: b.sql' -T 225 --rounds 8\n"),
        "{summary}"
    );
    assert!(!summary.contains("rounds would"), "{summary}");
}

fn stored(data: &ReportData, wanted: Wanted) -> ReportData {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut store = Store::create_or_open(&folder.path().join("results.sqlite")).expect("a new file");
    let (id, _) = store.begin_experiment(&data.experiment, &data.host, &data.target, false).expect("stored");
    for run in &data.runs {
        let finished = Finished { run: run.clone(), seconds: Spool::default() };
        store.store(id, &[finished]).expect("stored");
    }
    ReportData::load(&store, id, wanted).expect("read back")
}

/// What is not read for an answer is in none. Thousands of runs have more distributions than all else.
#[test]
fn an_answer_lacks_nothing_of_what_is_left_out_for_it() {
    let grid = two_arms(&[("points", 500.0)], &[1, 4]);
    let cell = two_arms(&[("points", 500.0)], &[4]);
    let alone = data(&Shape { arms: vec![], ..Shape::small() });
    let changed = |change: fn(&mut Run)| {
        let mut data = grid.clone();
        data.runs.iter_mut().for_each(change);
        data
    };
    let rated = changed(|run| run.load = OfferedLoad::Rate);
    let promised = changed(|run| run.figures.set(figures::PROMISE_MS, 5.0));
    let scripted = changed(|run| {
        run.scripts.push(ScriptRecord { name: "other".to_owned(), ..run.scripts[0].clone() });
    });
    let times = |data: &ReportData| -> u64 {
        let scripts = data.runs.iter().flat_map(|run| &run.scripts);
        scripts.map(|own| own.response.count() + own.service.count()).sum()
    };
    let (all, none) =
        ([grid, cell, alone, rated, promised, scripted], [true, false, false, false, false, false]);
    for (data, is_without) in all.iter().zip(none) {
        let [whole, own] = [Wanted::ALL, Wanted::ANSWER].map(|wanted| stored(data, wanted));
        assert_eq!(times(&own) == 0, is_without, "{}", own.runs.len());
        let texts = |data: &ReportData| {
            let compared = data.compared().map(|found| outputs(data, found));
            (summary::text(data), Conclusion::of(data).text(), compared)
        };
        assert_eq!(texts(&own), texts(&whole));
    }
}

/// Words of statistics that only the details have.
const TERMS: [&str; 8] =
    ["Holm", "I²", "quad", "void", "indicative", "heteroscedastic", "Bonferroni", "bootstrap"];

#[test]
fn a_short_answer_fits_a_screen_and_has_no_terms_of_statistics() {
    let mut doubtful = two_arms(&[("points", 740.0)], &[4]);
    for run in &mut doubtful.runs {
        doubt(run, Validity::Suspect, Reason::OtherPrograms, "other programs used 70 % of the CPUs");
        run.figures.set(figures::CPU_OTHERS_PCT, 70.2);
    }
    let mut faster = two_arms(&[("points", 740.0)], &[1, 4]);
    change(&mut faster, |run| speed_up(run, 2.0));
    let mut mixed = two_arms(&[("checkout", 620.0), ("search", 8354.0)], &[4]);
    change(&mut mixed, |run| speed_up(run, if run.workload == "search" { 30.0 } else { 0.7 }));
    let three =
        Shape { arms: vec![("stock", 0.0), ("gis", 0.5), ("huge", -0.4)], rounds: 8, ..Shape::small() };
    for (name, data, wanted) in [
        (
            "doubtful",
            doubtful,
            "but: doubtful: 16 of 16 runs are suspect (other programs); they used 70 % of the CPUs.",
        ),
        ("faster", faster, "is faster than"),
        ("mixed", mixed, "slower in checkout; faster in search"),
        ("three", data(&three), "Against stock, "),
    ] {
        let text = Conclusion::of(&remade(data)).text();
        assert!(flat(&text).contains(wanted), "{name}: {text}");
        assert!(text.lines().count() <= 12, "{name}: {text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{name}: {text}");
        assert!(TERMS.iter().all(|term| !text.contains(term)), "{name}: {text}");
        assert_eq!(
            flat(&text).matches("95 % interval").count(),
            usize::from(name == "doubtful" || name == "faster"),
            "{text}"
        );
    }
}
