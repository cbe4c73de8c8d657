//! Open loads in every view: offered and done in time, what percentiles cover, charts of a ladder of rates.

use crate::fixture::{Shape, data, doubt};
use report::format::{TableFormat, print};
use report::{ReportData, html, summary, tables};
use spec::{Reason, Run, Validity, figures};

#[derive(Clone, Copy)]
struct Step {
    rate: f64,
    ok: u64,
    late: u64,
    skipped: u64,
}

const STEPS: [Step; 3] = [
    Step { rate: 1000.0, ok: 4000, late: 0, skipped: 0 },
    Step { rate: 4000.0, ok: 15_990, late: 10, skipped: 0 },
    Step { rate: 16_000.0, ok: 1_596, late: 42_900, skipped: 19_504 },
];

/// Runs of a closed load changed into a ladder of rates; the highest is overloaded.
fn ladder(arms: Vec<(&'static str, f64)>, steps: &[Step]) -> ReportData {
    let shape =
        Shape { arms, workloads: vec![("look", 500.0)], clients: vec![16], rounds: 2, ..Shape::small() };
    let made = data(&shape);
    let runs = made.runs.iter().flat_map(|run| steps.iter().map(|step| at(run, *step))).enumerate();
    let runs = runs.map(|(sequence, run)| Run { sequence: sequence as u32, ..run }).collect();
    ReportData::new(made.experiment, made.host, made.target, runs)
}

fn at(run: &Run, Step { rate, ok, late, skipped }: Step) -> Run {
    let mut run = run.clone();
    run.load = spec::OfferedLoad::Rate;
    run.offered_rate = Some(rate);
    run.factors.insert("rate".into(), rate.to_string());
    run.figures.set(figures::PROMISE_MS, 20.0);
    let counts = [
        (figures::DUE, ok + late + skipped),
        (figures::OK, ok),
        (figures::LATE, late),
        (figures::SKIPPED, skipped),
    ];
    run.counts.extend(counts);
    if skipped > 0 {
        doubt(&mut run, Validity::Suspect, Reason::Overloaded, "2.4 % …");
    }
    run
}

#[test]
fn an_overload_is_told_by_every_table_and_the_summary() {
    let data = ladder(vec![], &STEPS);
    for (name, table) in [("runs", tables::runs(&data).table()), ("cells", tables::cells(&data))] {
        for format in [TableFormat::Text, TableFormat::Json, TableFormat::Csv, TableFormat::Md] {
            let text = print(&table, format).replace('\\', "");
            for words in
                ["offered", "achieved", "late", "skipped", "unfinished", "percentiles", "16000", "399"]
            {
                assert!(text.contains(words), "{name} {format:?}: no {words} in\n{text}");
            }
        }
        let csv = print(&table, TableFormat::Csv);
        let with = |words: &str| csv.lines().filter(|line| line.contains(words)).count();
        let overloaded = if name == "runs" { 2 } else { 1 };
        assert_eq!((with(",started only,"), with(",all,")), (overloaded, 2 * overloaded), "{csv}");
    }
    assert!(print(tables::crosstab(&data), TableFormat::Csv).contains("open load: late ones are in it"));
    let text = summary::text(&data);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted = "look, rate 16000, 16 clients: offered 16,000/s, in time 399/s (2.4 %), late 85,800, \
                  skipped 39,008, unfinished 0; overloaded";
    assert!(words.contains(wanted), "{text}");
    assert!(
        words.contains("offered 1,000/s, in time 1,000/s (100 %), late 0, skipped 0, unfinished 0"),
        "{text}"
    );
    assert!(words.contains("2 of 6 runs are suspect (overloaded 2) but counted."), "{text}");
}

#[test]
fn a_comparison_of_open_loads_shows_the_arrivals_of_both_arms() {
    let data = ladder(vec![("stock", 0.0), ("gis", 0.06)], &STEPS);
    let found = data.throughput().expect("two arms");
    let table = tables::compared(&data, found);
    let at = |name: &str| table.at(name).expect(name);
    let row =
        table.rows.iter().find(|row| row[at("cell")] == "clients 16, rate 16000".into()).expect("a row");
    for arm in ["base_", ""] {
        let value = |name: &str| row[at(&format!("{arm}{name}"))].raw();
        assert_eq!(*value("offered_tps"), 16_000.0.into());
        assert_eq!(*value("achieved_tps"), 399.0.into());
        assert_eq!((value("late"), value("skipped")), (&85_800_u64.into(), &39_008_u64.into()));
        assert_eq!((value("unfinished"), value("percentiles_of")), (&0_u64.into(), &"started only".into()));
    }
    assert!(table.rows.iter().all(|row| row.len() == table.columns.len()));
}

#[test]
fn a_closed_load_shows_nothing_of_arrivals() {
    let data = data(&Shape::small());
    let compared = tables::compared(&data, data.throughput().expect("two arms"));
    for table in [tables::runs(&data).table(), tables::cells(&data), compared] {
        assert!(!table.names().iter().any(|name| name.contains("offered")), "{:?}", table.columns);
    }
    let page = html::page(&data);
    assert!(!page.contains("offered") && !summary::text(&data).contains("offered"));
}

#[test]
fn a_ladder_of_rates_gets_its_charts() {
    let three = vec![("stock", 0.0), ("gis", 0.1), ("huge", 0.2)];
    for (arms, at) in [
        (vec![], "16,000/s"),
        (vec![("stock", 0.0), ("gis", 0.06)], "16,000/s (stock); 16,000/s (gis)"),
        (three, "16,000/s (stock); 16,000/s (gis); 16,000/s (huge)"),
    ] {
        let page = html::page(&ladder(arms, &STEPS));
        for words in [
            "look: response time over offered rate",
            "look: achieved over offered rate",
            "promise 20 ms",
            "all that was offered",
            &format!("At {at} not all transactions were started: the times are of those that were"),
            &format!("Overloaded at {at}. What falls below"),
        ] {
            assert!(page.contains(words), "no {words:?}");
        }
        for nonsense in ["NaN", "inf ", "Some(", "None"] {
            assert!(!page.contains(nonsense), "holds {nonsense}");
        }
    }
    let healthy = html::page(&ladder(vec![], &STEPS[..2]));
    assert!(healthy.contains("No rate was an overload") && !healthy.contains("Overloaded"));
    let one = html::page(&ladder(vec![], &STEPS[2..]));
    assert!(!one.contains("over offered rate") && one.contains("Overloaded: look"), "one rate is no ladder");
}

#[test]
fn percentiles_of_an_overload_are_marked_wherever_the_page_shows_them() {
    let page = html::page(&ladder(vec![], &STEPS));
    // Tables of cells and runs, and the caption of the distribution.
    assert!(page.contains("Overloaded: response times are those of the transactions that were started"));
    assert!(page.contains("Overloaded: of the transactions that were started only."));
    // The workload's two tables, the ladder's two, and two runs, each in both tables of runs.
    assert_eq!(page.matches(">started only<").count(), 2 + 2 + 4);
}

#[test]
fn a_rate_at_which_nothing_was_in_time_is_drawn() {
    let nothing_in_time = [
        Step { rate: 10.0, ok: 40, late: 0, skipped: 0 },
        Step { rate: 1000.0, ok: 0, late: 0, skipped: 4000 },
    ];
    let page = html::page(&ladder(vec![], &nothing_in_time));
    assert!(page.contains("Overloaded at 1,000/s.") && !page.contains("NaN"), "{page}");
    // At 0, not at the lowest tick of a logarithmic scale.
    let chart = page.split("achieved over offered rate").nth(2).and_then(|rest| rest.split("</svg>").next());
    assert!(chart.is_some_and(|chart| chart.contains(">0</text>")), "{chart:?}");
}
