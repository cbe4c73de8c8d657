//! Tables and the summary of seeded data, as printed.

use std::collections::BTreeSet;

use crate::fixture::{Shape, data, doubt, offer, remade, speed_up};
use report::format::{TableFormat, print};
use report::{ReportData, html, summary, tables};
use results::{CellValue, Table};
use spec::plan::{Decision, NotRun, Plan, Slicing};
use spec::{OfferedLoad, Reason, Relation, RelationKind, RunEvent, Slice, Validity, figures};

fn compared(data: &ReportData) -> Table {
    tables::compared(data, data.throughput().expect("two arms"))
}

fn column<'a>(table: &'a Table, name: &str) -> Vec<&'a CellValue> {
    let at = table.at(name).expect(name);
    table.rows.iter().map(|row| row[at].raw()).collect()
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn csv(table: &Table) -> String {
    print(table, TableFormat::Csv)
}

fn sample() -> ReportData {
    let mut data = data(&Shape { extras: true, ..Shape::small() });
    doubt(&mut data.runs[4], Validity::Invalid, Reason::EmptyResults, "0 rows in 174 transactions");
    remade(data)
}

/// Regression: percentiles of runs in slices were not marked.
#[test]
fn what_was_measured_again_is_counted_and_shown() {
    let made = data(&Shape::small());
    let mut runs = made.runs;
    let (key, sequence) = (runs[0].key(), runs[0].sequence);
    let event =
        RunEvent { time_us: 0, kind: RunEvent::AGAIN.into(), detail: "polygons, round 1: throttled".into() };
    let mut again = spec::Run { uuid: "again".into(), events: vec![event], ..runs[0].clone() };
    again.sequence = sequence;
    runs.insert(1, again);
    doubt(&mut runs[0], Validity::Invalid, Reason::Throttled, "from 100 to 50");
    runs[0].set_aside = Some("polygons, round 1: throttled".into());
    assert_eq!(runs[1].key(), key);
    let data = ReportData::new(made.experiment, made.host, made.target, runs);
    let told = "All 16 runs are valid. 1 run was measured again, because the machine disturbed it (throttled 1): what it \
                gave before counts no more.";
    for (what, text) in [("summary", summary::text(&data)), ("page", html::page(&data))] {
        let text = flat(&text);
        assert!(text.contains(told), "{what}: {text}");
    }
    let runs = print(tables::runs(&data), TableFormat::Csv);
    assert_eq!(runs.matches("measured again").count(), 1, "{runs}");
    // So do the other tables of single runs.
    let mut replicated = data.clone();
    for run in &mut replicated.runs {
        run.events.push(RunEvent { time_us: 0, kind: RunEvent::REPLICA.into(), detail: String::new() });
    }
    for table in [tables::lag(&replicated), tables::figures(&replicated).table()] {
        let again = |row: &&Vec<CellValue>| row.iter().any(|cell| *cell.raw() == "measured again".into());
        let lines = |of: u32| table.rows.iter().filter(|row| row[1].raw() == &of.into()).count();
        let marked = table.rows.iter().filter(again).count();
        assert!(marked > 0 && marked < lines(1), "{marked} of {}", lines(1));
    }
    // The program was killed before it was measured again; the next one did not know the reason.
    let mut runs = data.runs;
    runs[1].events.clear();
    let data = ReportData::new(data.experiment, data.host, data.target, runs);
    let text = flat(&summary::text(&data));
    assert!(text.contains(told), "{text}");
}

#[test]
fn percentiles_from_slices_are_marked_in_every_table() {
    let mut data = data(&Shape::small());
    assert_eq!(tables::below_percentiles(&data), None);
    for run in data.runs.iter_mut().filter(|run| run.factors["clients"] == "4") {
        let slice = Slice {
            quad: 0,
            start_us: 0,
            length_us: 100_000,
            drain_us: 0,
            succeeded: 100,
            at_work_us: 400_000.0,
            steal_pct: None,
            server_cpu_us: None,
            is_void: false,
        };
        run.slices = vec![slice];
    }
    let data = remade(data);
    for table in [tables::runs(&data).table(), tables::cells(&data)] {
        let marks = column(&table, "cell").into_iter().zip(column(&table, "sliced"));
        for (cell, mark) in marks {
            let wanted = (*cell == CellValue::from("clients 4")).then_some("yes");
            assert_eq!(*mark, CellValue::from(wanted), "{cell:?}");
        }
        assert!(print(&table, TableFormat::Text).contains("sliced"));
    }
    assert!(tables::below_percentiles(&data).unwrap().contains("from slices, which empty the queues"));
    assert!(!print(tables::runs(&sample()), TableFormat::Text).contains("sliced"), "nothing is");
}

/// Regression: "+213 % [+208, +218] n 2 faster" was printed as certain.
#[test]
fn two_rounds_are_called_indicative_in_every_output() {
    for (rounds, wanted) in [(1, Some("from one: no interval")), (2, Some("from two rounds only")), (4, None)]
    {
        let data = data(&Shape { rounds, ..Shape::small() });
        let table = compared(&data);
        assert!(
            column(&table, "indicative").iter().all(|said| **said == CellValue::from(wanted)),
            "{rounds}"
        );
        let words = tables::compared_in_words(&data, data.throughput().unwrap());
        let changes = column(&words, "change, 95 %");
        let is_said = |change: &&CellValue| matches!(change, CellValue::Text(text) if text.ends_with(&format!("({})", wanted.unwrap_or("?"))));
        assert_eq!(changes.iter().copied().filter(is_said).count(), wanted.map_or(0, |_| changes.len()));
        assert_eq!(summary::text(&data).contains("from two rounds only"), rounds == 2);
    }
}

/// Regression: an index of one arm was shown for all arms.
#[test]
fn sizes_are_told_per_arm_where_runs_recorded_them() {
    let mut data = data(&Shape::small());
    let of = |name: &str, kind, bytes| Relation {
        name: name.into(),
        kind,
        table: "orders".into(),
        bytes,
        rows: 7,
    };
    let base = data.experiment.arms[0].name.clone();
    for run in data.runs.iter_mut().filter(|run| run.arm.is_some()) {
        run.relations = vec![of("orders", RelationKind::Table, 1 << 20)];
        if run.arm.as_ref() != Some(&base) {
            run.relations.push(of("orders_customer", RelationKind::Index, 1 << 16));
        }
    }
    let data = remade(data);
    let sizes = tables::sizes(&data);
    let other = &data.experiment.arms[1].name;
    assert_eq!(
        column(&sizes, "arm"),
        [&base, other, other].map(|arm| CellValue::from(arm.as_str())).iter().collect::<Vec<_>>()
    );
    let page = html::page(&data);
    let row = page.split("<tr>").find(|row| row.contains("orders_customer")).expect("a row of the index");
    assert!(row.contains(">n/a<"), "nothing in the base: {row}");
}

/// Regression: one run was shown with its figures, several only as a number.
#[test]
fn several_runs_of_one_cell_are_told_by_their_figures() {
    let mut data = data(&Shape { arms: Vec::new(), ..Shape::small() });
    let cell = data.runs.iter().find(|run| run.round > 0 && !run.beside).expect("a run").factors.clone();
    data.runs.retain(|run| run.round == 0 || run.factors == cell);
    let text = summary::text(&remade(data)).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("transactions per second, the mean of "), "{text}");
    assert!(text.contains("Nothing is compared.") && !text.contains("p50 n/a"), "{text}");
}

/// Regression: a line for each workload and each length of a median.
#[test]
fn why_there_are_no_slices_is_told_once() {
    let mut data = data(&Shape::small());
    let mut workloads = BTreeSet::new();
    for run in data.runs.iter_mut().filter(|run| run.round > 0) {
        workloads.insert(run.workload.clone());
        let detail = format!("{}: in the warm-up half took longer than {} ms", run.workload, 100 + run.round);
        run.events.push(RunEvent { time_us: 0, kind: RunEvent::UNCUT.into(), detail });
    }
    let text = summary::text(&remade(data)).split_whitespace().collect::<Vec<_>>().join(" ");
    let names = workloads.into_iter().collect::<Vec<_>>().join(", ");
    let wanted = format!("No slices: {names}: in the warm-up half took longer than 101 ms.");
    assert_eq!((text.matches("No slices").count(), text.contains(&wanted)), (1, true), "{wanted} {text}");
}

/// The arms were said to take turns in slices where every warm-up had decided against them.
#[test]
fn decisions_of_the_warm_ups_are_in_the_table_of_decisions() {
    let decided = |uncut_rounds: u32| {
        let mut data = data(&Shape::small());
        for run in data.runs.iter_mut().filter(|run| run.round > 0) {
            if run.round <= uncut_rounds {
                let detail = format!("{}: in the warm-up half took longer than 70 ms", run.workload);
                run.events.push(RunEvent { time_us: 0, kind: RunEvent::UNCUT.into(), detail });
                continue;
            }
            run.slices = vec![Slice {
                quad: 0,
                start_us: 0,
                length_us: 100_000,
                drain_us: 0,
                succeeded: 100,
                at_work_us: 4e5,
                steal_pct: None,
                server_cpu_us: None,
                is_void: false,
            }];
            run.figures.set(figures::SLICE_MS, f64::from(50 * run.round));
        }
        let mut plan = Plan::default();
        let slices = Decision::decided(Slicing::Slices, "take turns in slices");
        plan.decisions.slices.insert("polygons".into(), slices);
        data.experiment.plan = plan.into();
        let table = tables::decisions(&remade(data));
        let last = table.rows.last().expect("of the slices").clone();
        [1, 2].map(|at| print_cell(&last[at]))
    };
    let why = "in the warm-up half took longer than 70 ms; the rule: take turns in slices";
    assert_eq!(decided(4), ["one after the other".to_owned(), format!("the warm-ups decided: {why}")]);
    let [value, reason] = decided(1);
    assert_eq!(value, "by turns, in slices of 100 to 200 ms; in 1 of 4 rounds one after the other");
    assert!(reason.ends_with(why), "{reason}");
    assert_eq!(decided(0)[0], "by turns, in slices of 50 to 200 ms");
}

fn print_cell(cell: &CellValue) -> String {
    match cell.raw() {
        CellValue::Text(text) => text.to_string(),
        other => panic!("{other:?}"),
    }
}

/// Regression: of a small and a large city only the sizes of one were shown.
#[test]
fn sizes_are_told_for_each_level_of_what_was_prepared() {
    let mut data = data(&Shape::small());
    for run in data.runs.iter_mut().filter(|run| run.arm.is_some()) {
        let large = u64::from(run.round % 2);
        run.factors.insert("prepare.osm.scale".into(), if large == 1 { "10" } else { "1" }.into());
        let (name, kind, table) = ("roads".to_owned(), RelationKind::Table, "roads".to_owned());
        run.relations = vec![Relation { table, name, kind, bytes: (1 << 20) << (3 * large), rows: 7 }];
    }
    let data = remade(data);
    let sizes = tables::sizes(&data);
    let told: Vec<_> = column(&sizes, "arm").into_iter().zip(column(&sizes, "size_bytes")).collect();
    let arms = &data.experiment.arms;
    for (arm, scale, bytes) in [(0, 1, 1_u64 << 20), (0, 10, 8 << 20), (1, 1, 1 << 20), (1, 10, 8 << 20)] {
        let owner = CellValue::from(format!("{}, prepare.osm.scale {scale}", arms[arm].name));
        assert!(told.contains(&(&owner, &CellValue::from(bytes))), "{owner:?} in {told:?}");
    }
    assert_eq!(told.len(), 4);
}

/// Rows of two questions were counted as two of one; numbers of clients share one question, and one line.
#[test]
fn answers_to_other_questions_have_their_cell() {
    let made = data(&Shape::small());
    let asked = |(limit, rows): (&str, u32)| {
        let detail = format!(
            r#"{{"script": null, "transactions": 16, "differ": 16, "rows": {rows}, "base_rows": 9, "rows_differ": 16, "columns": []}}"#
        );
        let event = RunEvent { time_us: 0, kind: RunEvent::ANSWER_DIFFERENCE.into(), detail };
        let mut runs = made.runs.clone();
        for run in &mut runs {
            run.factors.insert("polygons.limit".into(), limit.into());
            run.events.extend((run.arm.as_deref() == Some("gis")).then(|| event.clone()));
        }
        runs
    };
    let told = |questions: &[(&str, u32)]| {
        let runs = questions.iter().copied().flat_map(asked).collect();
        let found = ReportData::new(made.experiment.clone(), made.host.clone(), made.target.clone(), runs);
        let table = tables::answers(&found);
        let column = |name| column(&table, name).into_iter().cloned().collect::<Vec<CellValue>>();
        column("cell").into_iter().zip(column("rows")).collect::<Vec<_>>()
    };
    let of =
        |limit: &str, rows: u32| (CellValue::from(format!("polygons.limit {limit}")), CellValue::from(rows));
    assert_eq!(told(&[("10", 160), ("100", 1600)]), [of("10", 160), of("100", 1600)]);
    // Equal answers, but to two questions.
    assert_eq!(told(&[("10", 160), ("100", 160)]), [of("10", 160), of("100", 160)]);
}

/// Regression: `compare --format json` reported neither, so a program took different answers for a fair
/// comparison.
#[test]
fn compared_arms_say_what_they_answer_otherwise_and_what_was_not_run() {
    let mut data = data(&Shape::small());
    let arm = data.experiment.arms[1].name.clone();
    let (kind, detail) = (RunEvent::OTHER_ANSWERS.to_owned(), "tpcb: 12 rows fewer".to_owned());
    for run in data.runs.iter_mut().filter(|run| run.arm.as_ref() == Some(&arm)) {
        run.events.push(RunEvent { time_us: 0, kind: kind.clone(), detail: detail.clone() });
    }
    let missing = NotRun { what: "version 19".into(), why: "it is not installed".into() };
    let failed = NotRun { what: format!("settings {arm}"), why: "no table".into() };
    let not_run = vec![failed, missing];
    let mut plan = Plan::default();
    plan.decisions.left_out = Decision::decided(not_run, "");
    data.experiment.plan = plan.into();
    let data = remade(data);
    let table = compared(&data);
    let told = column(&table, "remarks");
    assert_eq!(told[0], &CellValue::from(detail.clone()));
    assert_eq!(told.last(), Some(&&CellValue::from("it is not installed")));
    assert_eq!(column(&table, "verdict").last(), Some(&&CellValue::from("not run")));
    assert_eq!(column(&table, "cell").last(), Some(&&CellValue::from("version 19")));
    let named = column(&table, "arm");
    assert_eq!(named[named.len() - 2..], [&CellValue::from(&*arm), &CellValue::from("")]);
    let words = csv(&tables::compared_in_words(&data, data.throughput().unwrap()));
    assert!(
        words.contains(&format!("; {detail}")) && words.contains("not run; it is not installed"),
        "{words}"
    );
}

/// Regression: a mix of two scripts had one figure for both, which hid the slower one.
#[test]
fn every_output_tells_the_scripts_of_a_mix_apart() {
    let mut made = data(&Shape { workloads: vec![("mix", 500.0)], clients: vec![4], ..Shape::small() });
    for run in made.runs.iter_mut() {
        let times = if run.arm.as_deref() == Some("gis") { 2 } else { 1 };
        let script = |name: &str, weight: u32, ok: u64, ns: u64| {
            // The p95 of all is 2 times the usual; the mean over the rounds would be 2.5 times.
            let mut response = stats::Histogram::new();
            (0..ok).for_each(|at| response.record(if at % 10 == 0 { ns * u64::from(run.round) } else { ns }));
            let mut own = run.scripts[0].clone();
            own.counts = [(figures::OK, ok)].into();
            spec::ScriptRecord { name: name.into(), weight, service: response.clone(), response, ..own }
        };
        run.scripts =
            vec![script("read.sql", 3, 300, 1_000_000), script("write.sql", 1, 100, 8_000_000 * times)];
    }
    let made = remade(made);
    let table = tables::scripts(&made);
    let ints = |name: &str| column(&table, name).into_iter().cloned().collect::<Vec<_>>();
    assert_eq!(ints("transactions"), [1200_i64, 400, 1200, 400].map(CellValue::from));
    assert_eq!(ints("share_pct"), [75.0, 25.0, 75.0, 25.0].map(CellValue::from));
    assert_eq!(ints("tps_mean"), [75.0, 25.0, 75.0, 25.0].map(CellValue::from), "of runs of 4 s");
    assert_eq!(ints("script")[..2], ["read.sql", "write.sql"].map(CellValue::from));
    let near = |value: &CellValue, wanted: f64| matches!(value, CellValue::Real(us) if (us / wanted - 1.0).abs() < 2e-3);
    for (at, [p50, p95]) in [(0, [1e3, 2e3]), (1, [8e3, 16e3]), (3, [16e3, 32e3])] {
        assert!(near(&ints("p50_us")[at], p50) && near(&ints("p95_us")[at], p95), "{at}: {table:?}");
    }
    let page = html::page(&made);
    let row =
        page.split("<tr>").find(|row| row.contains("write.sql") && row.contains(">gis<")).expect("a row");
    assert!(row.contains("25 %") && row.contains("16.0 ms") && row.contains("32.0 ms"), "{row}");
    assert!(tables::scripts(&data(&Shape::small())).rows.is_empty(), "one script is all of it");
}

/// Regression: faster, with three times the WAL, which no output mentioned.
#[test]
fn every_output_tells_what_arms_differ_in_besides() {
    let mut made = data(&Shape { workloads: vec![("polygons", 17.3), ("tpcb", 620.0)], ..Shape::small() });
    let count = |run: &mut spec::Run| {
        let times = if run.arm.as_deref() == Some("gis") { 3.0 } else { 1.0 };
        let done = run.count(figures::OK) as f64;
        if run.workload == "tpcb" {
            let wal = [
                (figures::WAL_BYTES, 2048.0 * times),
                (figures::WAL_RECORDS, 12.0),
                (figures::TEMP_BYTES, (times - 1.0) * 4096.0),
            ];
            run.figures.extend(wal.map(|(of, each)| (of, each * done)));
        }
    };
    made.runs.iter_mut().for_each(count);
    let made = remade(made);
    let phrases = [
        "temporary files per transaction: stock 0 bytes, gis 8.00 kB",
        "WAL per transaction: stock 2.00 kB, gis 6.00 kB (3.0 times)",
    ];
    let words = tables::differences_in_words(&made, made.throughput().unwrap());
    let outputs = [
        flat(&summary::text(&made)),
        html::page(&made),
        print(&words, TableFormat::Md),
        flat(&print(&words, TableFormat::Text)),
    ];
    for text in outputs {
        for phrase in phrases {
            assert!(text.contains(phrase), "{phrase} in {text}");
        }
    }
    let lines: serde_json::Value = serde_json::from_str(&print(compared(&made), TableFormat::Json)).unwrap();
    let told: Vec<_> =
        lines.as_array().unwrap().iter().filter(|line| !line["differences"].is_null()).collect();
    assert_eq!(told.len(), 1, "one workload differs: {told:?}");
    let raw = &told[0]["differences"];
    let of = |at: usize| (raw[at]["figure"].as_str(), raw[at]["per"].as_str(), raw[at]["base"].as_f64());
    assert_eq!(of(0), (Some("temp_bytes"), Some("transaction"), Some(0.0)));
    assert_eq!((of(1).0, raw.as_array().map(Vec::len)), (Some("wal_bytes"), Some(2)));
    // All of it, large or not.
    let all = tables::differences(&made);
    assert!(column(&all, "figure").contains(&&CellValue::from("wal_records")));
    assert!(csv(&compared(&made)).contains(r#"""figure"":""temp_bytes"""#));
}

#[test]
fn every_table_as_text() {
    let data = sample();
    for (name, table) in [
        ("runs", tables::runs(&data).table()),
        ("cells", tables::cells(&data)),
        ("comparison", tables::compared_in_words(&data, data.throughput().expect("two arms"))),
        ("crosstab", tables::crosstab(&data)),
        ("phases", tables::phases(&data)),
        ("sizes", tables::sizes(&data)),
    ] {
        insta::assert_snapshot!(name, print(&table, TableFormat::Text));
    }
}

/// Regression: five runs about 6,900 and one of 32,149 tps were all valid, without a remark in any output.
#[test]
fn every_output_tells_of_runs_in_two_groups() {
    let mut data = data(&Shape { rounds: 6, workloads: vec![("select-only", 6900.0)], ..Shape::small() });
    let odd =
        |run: &&mut spec::Run| run.clients == 1 && run.round == 4 && run.arm.as_deref() == Some("stock");
    data.runs.iter_mut().filter(odd).for_each(|run| speed_up(run, 4.6));
    let data = remade(data);
    let words = "5 runs about 7,000, one 32,000";
    for table in [tables::cells(&data), compared(&data)] {
        for format in [TableFormat::Json, TableFormat::Csv, TableFormat::Md] {
            let printed = print(&table, format);
            assert!(printed.contains(words), "{format:?}: {printed}");
        }
        // Text output wraps the words in a narrow column.
        assert!(flat(&print(&table, TableFormat::Text)).contains("placement?"));
    }
    // With recorded placement it is not a question, and there is advice.
    let mut seen = data.clone();
    seen.runs.iter_mut().for_each(|run| {
        let same_cpu = if run.tps() > Some(20_000.0) { 97.0 } else { 3.0 };
        run.figures.set(figures::SAME_CPU_PCT, same_cpu);
    });
    let told = flat(&summary::text(&remade(seen)));
    let why = "placement, client and server on one CPU at 3 % of the looks in the slower, 97 % in the faster";
    assert!(told.contains(why) && told.contains("factors.placement = [\"apart\"]"), "{told}");
    let summary = summary::text(&data);
    assert!(summary.contains("Runs of 1 cell fall into two groups"), "{summary}");
    assert!(summary.contains(&format!("select-only, 1 client, stock: {words}")), "{summary}");
    assert!(summary.contains("All 24 runs are valid."), "a finding, not a verdict on runs");
    assert!(html::page(&data).matches(words).count() >= 3, "headline, verdict and figures of the cell");
}

/// A mean over offered rates would be a mean of requested values.
#[test]
fn offered_rates_have_no_figure_of_their_own() {
    let mut data = data(&Shape::small());
    data.runs.iter_mut().for_each(|run| offer(run, f64::from(run.clients) * 1000.0));
    let data = remade(data);
    let table = csv(&compared(&data));
    assert!(table.contains("gis,whole grid,\"\",,,,,,,,,0,none: the load sets the throughput"), "{table}");
    assert!(!csv(&tables::crosstab(&data)).contains("geometric"));
    insta::assert_snapshot!("summary_offered", summary::text(&data));
}

/// Changes with their intervals, latencies with their units: still no wider than a terminal.
#[test]
fn comparisons_fit_80_columns() {
    let mut data = data(&Shape::small());
    data.runs.iter_mut().filter(|run| run.round == 2).for_each(|run| speed_up(run, 4.0));
    let data = remade(data);
    for found in [data.throughput(), data.latency()].into_iter().flatten() {
        let text = print(tables::compared_in_words(&data, found), TableFormat::Text);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}

#[test]
fn tables_of_nothing_are_empty() {
    let mut data = data(&Shape { arms: vec![], ..Shape::small() });
    data.runs.clear();
    let data = remade(data);
    for table in
        [tables::runs(&data).table(), tables::cells(&data), tables::crosstab(&data), tables::sizes(&data)]
    {
        assert!(table.rows.is_empty() && !table.columns.is_empty());
    }
}

#[test]
fn every_row_is_as_long_as_its_columns() {
    for arms in [vec![], vec![("stock", 0.0)], vec![("stock", 0.0), ("gis", 0.1), ("huge", -0.1)]] {
        let data = data(&Shape { arms, extras: true, ..Shape::small() });
        let all = [
            |data: &ReportData| tables::runs(data).table(),
            tables::cells,
            tables::crosstab,
            tables::phases,
            tables::sizes,
        ];
        let tables = all.iter().map(|table| table(&data));
        for table in tables.chain(data.throughput().iter().map(|_| compared(&data))) {
            assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{table:?}");
        }
    }
}

#[test]
fn summaries() {
    insta::assert_snapshot!("summary_two_arms", summary::text(&remade(data(&Shape::default()))));
    insta::assert_snapshot!("summary_invalid", summary::text(&sample()));
    let three = Shape { arms: vec![("stock", 0.0), ("gis", 0.06), ("huge", -0.2)], ..Shape::small() };
    insta::assert_snapshot!("summary_three_arms", summary::text(&data(&three)));
    let mut one = data(&Shape { arms: vec![], clients: vec![4], rounds: 1, ..Shape::small() });
    one.runs.truncate(1);
    insta::assert_snapshot!("summary_one_run", summary::text(&remade(one)));
}

/// Regression: workloads with invalid runs only were missing in the tables, and the figure of the rest did
/// not mention it.
#[test]
fn every_output_tells_of_cells_without_a_valid_pair() {
    let shape = Shape {
        workloads: vec![("good", 17.3), ("none", 17.3), ("ser", 17.3)],
        clients: vec![1],
        ..Shape::small()
    };
    let mut data = data(&shape);
    for run in data.runs.iter_mut().filter(|run| run.workload != "good") {
        run.counts.set(figures::LATE, 1);
        doubt(run, Validity::Invalid, Reason::Errors, "68 % failed");
    }
    let data = remade(data);
    let cells = tables::cells(&data);
    assert!(print(&cells, TableFormat::Text).contains("invalid"));
    let (cells, comparison) = (csv(&cells), compared(&data));
    for line in ["ser,clients 1,stock,0,,,,,,,,,,4,", "ser,clients 1,gis,0,,,,,,,,,,4,"] {
        assert!(cells.contains(line), "{cells}");
    }
    let verdicts = column(&comparison, "workload").into_iter().zip(column(&comparison, "verdict"));
    for name in ["none", "ser"] {
        let of_it: Vec<_> = verdicts.clone().filter(|(workload, _)| **workload == name.into()).collect();
        assert!(of_it.len() == 2 && of_it.iter().all(|(_, verdict)| **verdict == "invalid".into()));
    }
    let comparison = csv(&comparison);
    let starting = |with: &str| comparison.lines().filter(|line| line.starts_with(with)).collect::<Vec<_>>();
    assert_eq!(starting("gis,whole grid").len(), 1);
    assert!(starting("gis,whole grid")[0].contains("incomplete: 1 of 3 cells"), "{comparison}");
    assert!(starting("gis,ser,").iter().any(|line| line.contains("incomplete: 0 of 1 cell,")));
    let crosstab = csv(&tables::crosstab(&data));
    assert!(crosstab.contains("ser,mean,clients 1,,,,no valid run\r\n"), "{crosstab}");
    let summary = flat(&summary::text(&data));
    for said in ["incomplete: 1 of 3 cells", "ser: invalid, no valid pair", ", 2 invalid"] {
        assert!(summary.contains(said), "no {said:?}: {summary}");
    }
    let page = html::page(&data);
    for said in [
        ", 2 invalid",
        "whole grid (incomplete: 1 of 3 cells)",
        "invalid, no valid pair",
        "; incomplete: 1 of 3 cells<",
    ] {
        assert!(page.contains(said), "no {said:?}");
    }
    assert!(!page.contains("3 inconclusive"));
}

/// Regression: if the whole grid was decided, an inconclusive workload had no next step.
#[test]
fn an_inconclusive_workload_of_a_decided_grid_has_a_next_step() {
    let shape = Shape {
        arms: vec![("stock", 0.0), ("gis", 0.0)],
        clients: vec![4],
        rounds: 12,
        extras: false,
        ..Shape::default()
    };
    let mut data = data(&shape);
    for run in &mut data.runs {
        if run.workload == "tpcb" && run.arm.as_deref() == Some("gis") {
            speed_up(run, if run.round.is_multiple_of(2) { 1.08 } else { 0.92 });
        }
    }
    let data = remade(data);
    let table = compared(&data);
    let rows = |name: &str| column(&table, name).into_iter().cloned().collect::<Vec<_>>();
    let (workloads, cells, needed) = (rows("workload"), rows("cell"), rows("rounds_needed"));
    let lines = workloads.into_iter().zip(cells).zip(needed);
    let with: Vec<_> = lines.filter(|(_, needed)| *needed != CellValue::Null).map(|(of, _)| of).collect();
    assert_eq!(with, [("tpcb".into(), "".into())]);
    let next = "Next: tpcb: ";
    let summary = flat(&summary::text(&data));
    assert!(summary.contains("gis: same within 3 %") && summary.contains(next), "{summary}");
    assert!(html::page(&data).contains("<strong>Next: </strong>tpcb: "));
}

/// Regression: the command of one part was advised for a file with all of them.
#[test]
fn a_merged_file_goes_on_in_each_part() {
    let next = |parts: u32| {
        let mut data = data(&Shape::small());
        let part = |number| spec::ExperimentPart { number, of: parts, shared: false };
        data.experiment.parts = (1..=parts).map(part).collect();
        flat(&summary::text(&remade(data)))
    };
    let (alone, merged) = (next(0), next(2));
    assert!(
        alone.contains("rounds would") && alone.contains("pgdyno run ") && !alone.contains("merge"),
        "{alone}"
    );
    let again = "measure them in each part, and merge again";
    assert!(merged.contains(again) && !merged.contains("pgdyno run "), "{merged}");
}

/// Regression: 11,202 of 11,202 were late in closed load, and every output said only "All 2 runs are
/// valid".
#[test]
fn every_output_tells_how_a_promise_was_kept_in_closed_load() {
    for load in [OfferedLoad::Closed, OfferedLoad::Users] {
        let mut data = data(&Shape { clients: vec![2], ..Shape::small() });
        for run in &mut data.runs {
            run.load = load;
            run.figures.set(figures::PROMISE_MS, 0.05);
            let done = run.count(figures::OK);
            run.counts.extend([(figures::OK, 0), (figures::LATE, done)]);
        }
        let data = remade(data);
        for (table, before) in [
            (tables::runs(&data).table(), ""),
            (tables::cells(&data), ""),
            (compared(&data), "base_"),
            (compared(&data), ""),
        ] {
            let first = |name: &str| column(&table, &format!("{before}{name}"))[0];
            assert_eq!((first("promise_ms"), first("late_share_pct")), (&0.05.into(), &100.0.into()));
            assert!(matches!(first("late"), CellValue::Int(1..)));
            assert!(!table.names().iter().any(|name| name.contains("offered")));
            assert!(print(&table, TableFormat::Text).contains("100 %"));
        }
        assert!(csv(&tables::crosstab(&data)).contains("late ones are in it"));
        let summary = flat(&summary::text(&data));
        assert!(summary.contains("(100 %), promise 0.05 ms"), "{summary}");
        let page = html::page(&data);
        for said in ["How the promise was kept", "0.05 ms", "late share", "<td class=\"n doubt\">100 %</td>"]
        {
            assert!(page.contains(said), "no {said:?}");
        }
        assert!(!page.contains("offered"));
    }
}

/// The small experiment with tiles of two zooms, for which each arm has a separate layer name; a third zoom
/// has hardly any.
fn tiles() -> ReportData {
    let ReportData { experiment, host, target, mut runs, .. } = data(&Shape::small());
    for run in &mut runs {
        let arm = run.arm.clone().unwrap_or_default();
        let faster = if arm == "gis" { 0.5 } else { 1.0 };
        let level = 1.0 + 0.004 * f64::from((run.round * 7 + u32::from(arm == "gis")) % 5);
        let script = |(zoom, requests, ms): (u8, u64, f64)| {
            let mut service = stats::Histogram::new();
            (0..requests).for_each(|at| service.record((ms * level * 1e6) as u64 + at * 1000));
            let counts = [
                (figures::OK, requests),
                (figures::ROWS, requests - requests / 10),
                (figures::BYTES, requests * 2048),
            ];
            spec::ScriptRecord {
                name: format!("{arm}.sql, z{zoom}"),
                text_hash: String::new(),
                weight: 1,
                part: Some(spec::MapPart { layer: format!("{arm}.sql"), zoom: Some(zoom), cached: None }),
                counts: counts.into(),
                response: service.clone(),
                service,
            }
        };
        run.scripts = [(12, 200, 40.0 * faster), (14, 200, 9.0), (16, 2, 1.0)].map(script).into();
        let sample = |script| spec::TileSample {
            script,
            tiles: 8,
            empty: 1,
            features_in: Some(800),
            features_out: Some(640),
            vertices: Some(9000),
            bytes: 16384,
        };
        run.tile_samples = (0..2).map(sample).collect();
    }
    ReportData::new(experiment, host, target, runs)
}

#[test]
fn tiles_have_a_line_for_each_layer_and_zoom() {
    let data = tiles();
    insta::assert_snapshot!("tiles", csv(&tables::tiles(&data)));
    insta::assert_snapshot!("tiles_in_words", print(tables::tiles_in_words(&data), TableFormat::Text));
    let summary = flat(&summary::text(&data));
    let line = "gis differs most from stock at z12: 0.50 times as long [0.49, 0.51]; z12 takes 69 % of its time with 50 % of its tiles";
    assert!(summary.contains(line), "{summary}");
    let page = html::page(&data);
    let start = page.find("<section id=\"zooms\">").expect("a section");
    let section = &page[start..start + page[start..].find("</section>").expect("its end")];
    insta::assert_snapshot!("tiles_on_a_page", section.replace("</tr>", "</tr>\n").replace("</p>", "</p>\n"));
}

/// A new figure needs only a line in the table of figures. (The house tests verify docs/reference/figures.md.)
#[test]
fn every_line_of_the_table_of_figures_is_in_every_output() {
    let mut made = data(&Shape::small());
    for run in &mut made.runs {
        let times = if run.arm.as_deref() == Some("gis") { 3.0 } else { 1.0 };
        for row in figures::table().filter(|row| run.counts.named(row.name).is_none()) {
            run.figures.set_named(row.name.to_owned(), 1e9 * times);
        }
        run.figures.set_named("new_s".to_owned(), 1.5);
    }
    let made = remade(made);
    let all = tables::figures(&made).table();
    let (named, differing) = (column(&all, "figure"), tables::differences(&made));
    let (json, csv, differing) = (print(&all, TableFormat::Json), csv(&all), column(&differing, "figure"));
    for row in figures::table() {
        let name = CellValue::from(row.name);
        assert!(named.contains(&&name), "{}", row.name);
        assert!(json.contains(row.label) && csv.contains(row.label), "{}", row.label);
        assert_eq!(differing.contains(&&name), row.notable.is_some(), "{}", row.name);
    }
    assert!(csv.contains(",new_s,1.5,,,"), "a name that the table does not have");
}
