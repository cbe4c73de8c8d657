//! The page as a whole: what it must and must not contain, for any experiment.

use std::sync::Arc;

use crate::fixture::{Shape, data, doubt, offer, remade, speed_up};
use report::{ReportData, html};
use results::data::Wanted;
use spec::{Artifact, Reason, Relation, RelationKind, Run, RunEvent, RunKey, RunKind, Validity};
use stats::Histogram;

fn page_of(data: ReportData) -> String {
    html::page(&remade(data))
}

fn shapes() -> Vec<(&'static str, ReportData)> {
    let small = Shape::small;
    let one_run = Shape { arms: vec![], clients: vec![4], rounds: 1, ..small() };
    let three_arms = vec![("stock", 0.0), ("gis", 0.06), ("huge", -0.2)];
    vec![
        ("whole", data(&Shape::default())),
        ("small", data(&small())),
        ("three arms", data(&Shape { arms: three_arms, ..small() })),
        ("no arms", data(&Shape { arms: vec![], ..small() })),
        ("one arm", data(&Shape { arms: vec![("stock", 0.0)], ..small() })),
        ("one round", data(&Shape { rounds: 1, ..small() })),
        ("two rounds", data(&Shape { rounds: 2, ..small() })),
        ("no runs", changed(&small(), |runs| runs.clear())),
        ("one run", changed(&one_run, |runs| runs.truncate(1))),
        ("only a load", changed(&Shape { extras: true, ..small() }, |runs| runs.truncate(1))),
        ("all invalid", changed(&small(), |runs| runs.iter_mut().for_each(fail))),
        ("nothing measured", changed(&small(), |runs| runs.iter_mut().for_each(measure_nothing))),
        ("offered rates", offered()),
        ("large changes", large_changes()),
    ]
}

fn changed(shape: &Shape, change: impl Fn(&mut Vec<Run>)) -> ReportData {
    let mut data = data(shape);
    change(&mut data.runs);
    remade(data)
}

fn fail(run: &mut Run) {
    doubt(run, Validity::Invalid, Reason::Errors, "12 of 12 failed");
}

fn measure_nothing(run: &mut Run) {
    run.counts = Default::default();
    run.measured_s = 0.0;
    run.series.clear();
    run.scripts.iter_mut().for_each(|script| script.response = Histogram::new());
}

fn offered() -> ReportData {
    changed(&Shape::small(), |runs| {
        runs.iter_mut().for_each(|run| offer(run, f64::from(run.clients) * 1000.0));
    })
}

/// One cell 52 times as fast, one that lost 99 %.
fn large_changes() -> ReportData {
    changed(&Shape::small(), |runs| {
        for run in runs.iter_mut().filter(|run| run.arm.as_deref() == Some("gis")) {
            speed_up(run, if run.clients == 1 { 52.0 } else { 0.01 });
        }
    })
}

#[test]
fn no_page_reaches_for_the_network_or_needs_a_script() {
    for (name, data) in shapes() {
        let page = page_of(data).to_lowercase();
        for start in page
            .match_indices("href=\"")
            .chain(page.match_indices("src=\""))
            .map(|(at, found)| at + found.len())
        {
            assert!(
                page[start..].starts_with('#'),
                "{name}: a link leaves the page: {}",
                &page[start..start + 40]
            );
        }
        for never in
            ["<script", "<link", "<iframe", "<img", "@import", "url(", "javascript:", "http:", "https:"]
        {
            assert!(!page.contains(never), "{name}: holds {never}");
        }
    }
}

#[test]
fn every_page_is_whole_and_says_no_nonsense() {
    for (name, data) in shapes() {
        let page = page_of(data);
        assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"), "{name}");
        for nonsense in ["NaN", "inf ", "-0.0 %", ">null<", "Some(", "None"] {
            assert!(!page.contains(nonsense), "{name}: holds {nonsense}");
        }
        balanced(name, &page);
        accessible(name, &page);
    }
}

/// Every opened element is closed, in order; void elements are not.
fn balanced(name: &str, page: &str) {
    let (head, rest) = page.split_once("<style>").expect("a style");
    let (_, body) = rest.split_once("</style>").expect("its end");
    let tags = [head, body].into_iter().flat_map(|part| part.split('<').skip(1)).skip(1);
    let mut open: Vec<&str> = Vec::new();
    for tag in tags.filter_map(|piece| piece.split('>').next()) {
        let element = tag.split([' ', '\n']).next().unwrap_or_default();
        match tag.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed), "{name}: closed out of order"),
            None if ["meta", "br"].contains(&element) => {}
            None => open.push(element),
        }
    }
    assert!(open.is_empty(), "{name}: left open {open:?}");
}

fn accessible(name: &str, page: &str) {
    let count = |what: &str| page.matches(what).count();
    assert_eq!(count("<table"), count("<caption"), "{name}: every table has a caption");
    assert_eq!(count("<svg"), count("role=\"img\""), "{name}: every drawing is an image");
    assert_eq!(count("<svg"), count("<desc>"), "{name}: every drawing is described");
    assert_eq!(count("<h1"), 1, "{name}: one main heading");
    assert_eq!(count("<th "), count("scope=\""), "{name}: every head has a scope");
    assert!(page.contains("lang=\"en\""), "{name}");
}

#[test]
fn sections_without_content_are_left_out() {
    let small = page_of(data(&Shape::small()));
    for absent in ["Sample tiles", "Loading and sizes", "Beside the grid", "OpenStreetMap"] {
        assert!(!small.contains(absent), "{absent}");
    }
    let whole = page_of(data(&Shape::default()));
    for present in [
        "Sample tiles",
        "not available: not a vector tile",
        "© OpenStreetMap contributors",
        "Loading and sizes",
        "planet_osm_polygon_way_idx",
        "Beside the grid",
        "redis-get",
        "geometric mean",
        "A taste, not a measurement.",
        "not crash-safe",
        "full_page_writes = off",
        "docs/reference/figures.md",
        "pgdyno run demo.toml",
    ] {
        assert!(whole.contains(present), "{present}");
    }
    assert!(whole.len() < 600_000, "{} bytes", whole.len());
}

/// Regression: the p99 of a cell was pooled in a table and the mean of rounds in the chart next to it; the
/// crosstab's change was the quotient of two means, the verdict's came from the pairs.
#[test]
fn a_page_has_one_value_of_each_figure() {
    let mut data = data(&Shape::small());
    speed_up(&mut data.runs[2], 3.0);
    let data = remade(data);
    let page = html::page(&data);
    let cells = report::tables::cells(&data);
    let column = |name: &str| cells.at(name).expect("a column");
    for row in &cells.rows {
        let results::CellValue::Real(p99_us) = row[column("p99_us")] else { panic!("a figure") };
        let p99 = report::numbers::latency_us(p99_us);
        assert!(page.contains(&format!(" class=\"n\">{p99}</td>")), "the table of figures: {p99}");
        assert!(page.contains(&format!(" class=\"n\">{p99} (")), "the data of the chart: {p99}");
    }
    let compared = &data.throughput().expect("two arms").arms[0];
    for cell in &compared.cells {
        let change = report::numbers::change(cell.estimate.expect("pairs").change_pct());
        assert!(page.contains(&format!(" class=\"n strong\">{change}</td>")), "the crosstab: {change}");
        assert!(page.contains(&format!(" class=\"n\">{change} [")), "the verdict: {change}");
    }
}

/// Regression: names decided; a load by a custom style lacked the line, a synthetic extract had it.
#[test]
fn what_osm2pgsql_loaded_decides_whether_its_source_is_named() {
    let load = |workload: &str, round, file: &str| {
        let log = format!(
            "2026-11-23 16:02:35  [0] Reading file: /data/{file}\n2026-11-23 16:02:36  [0] Mid: pgsql\n"
        );
        let version = ("version".to_owned(), "osm2pgsql 1.8.0".to_owned());
        let key = RunKey { workload: workload.into(), factors: Default::default(), arm: None, round };
        Run {
            relations: vec![table("roads")],
            events: vec![RunEvent { time_us: 0, kind: version.0, detail: version.1 }],
            artifacts: vec![Artifact {
                name: format!("log/{workload}"),
                media_type: "text/plain".into(),
                caption: String::new(),
                bytes: log.into_bytes(),
            }],
            ..Run::new(RunKind::Job, key)
        }
    };
    let (own, synthetic) = ("malta.osm.pbf", "synthetic-0.1-seed-7-v1.osm.pbf");
    let tables_of_clients = |name: &str| {
        let mut run = data(&Shape::small()).runs.remove(0);
        run.relations = vec![table(name)];
        run
    };
    let unknown = |mut run: Run| {
        run.events.clear();
        run
    };
    let recorded = |is_of_osm, table: &str| {
        let mut run = tables_of_clients(table);
        run.events.push(RunEvent::map_source(is_of_osm));
        run
    };
    let on_unknown = tables_of_clients("planet_osm_line");
    for (what, runs, named) in [
        ("by a style of one's own", vec![load("import", 1, own)], true),
        ("synthetic, prepared", vec![load("osm", 0, synthetic), on_unknown.clone()], false),
        ("synthetic, measured", vec![load("osm import", 1, synthetic)], false),
        ("both", vec![load("osm", 0, synthetic), load("osm b", 0, own)], true),
        (
            "measured beside tables that were there",
            vec![load("import", 1, synthetic), on_unknown.clone()],
            true,
        ),
        ("of an old build", vec![unknown(load("osm", 0, own))], true),
        ("no map", vec![tables_of_clients("pgbench_accounts")], false),
        (
            "tiles of parcels, next to tables of OpenStreetMap",
            vec![recorded(false, "planet_osm_line")],
            false,
        ),
        ("tiles of a renamed table", vec![recorded(true, "streets")], true),
    ] {
        let page = page_of(changed(&Shape::small(), |all| all.extend(runs.clone())));
        assert_eq!(page.contains("© OpenStreetMap contributors"), named, "{what}");
    }
}

fn table(name: &str) -> Relation {
    Relation { name: name.into(), kind: RelationKind::Table, table: name.into(), bytes: 8192, rows: 1 }
}

#[test]
fn offered_rates_are_compared_by_response_times() {
    let page = html::page(&offered());
    for said in [
        "p99 response time against stock",
        "In all cells a schedule or think times set the throughput",
        "gis against stock: change of p99 response time",
        "No mean is taken over offered rates",
    ] {
        assert!(page.contains(said), "{said}");
    }
    assert!(
        !page.contains("geometric mean") && !page.contains("throughput against stock"),
        "nothing averages them"
    );
}

#[test]
fn a_rate_that_changes_is_drawn_beside_what_was_done() {
    let mut data = data(&Shape::small());
    let offered = |page: &str| page.contains(">offered<");
    assert!(!offered(&page_of(data.clone())));
    for run in &mut data.runs {
        let detail = "ramp 100..400 over 2s".to_owned();
        run.events.push(RunEvent { time_us: 0, kind: RunEvent::RATE.to_owned(), detail });
    }
    assert!(offered(&page_of(data)));
}

#[test]
fn large_changes_are_factors_in_words() {
    let page = html::page(&large_changes());
    assert!(page.contains("52 times [") && page.contains("-99.47 %"));
    assert!(!page.contains("+5,"), "not +5,088 %");
}

#[test]
fn doubtful_runs_are_in_the_headline_with_their_reasons() {
    let mut data = data(&Shape::small());
    doubt(&mut data.runs[3], Validity::Invalid, Reason::EmptyResults, "0 rows in 174 transactions");
    doubt(&mut data.runs[5], Validity::Suspect, Reason::Steal, "4.1 % of CPU time");
    let page = page_of(data);
    assert!(
        page.contains("1 of 16 runs is invalid (empty results 1) and left out of all figures."),
        "{page}"
    );
    assert!(page.contains("1 of 16 runs is suspect (CPU steal 1) but counted."));
    assert!(page.contains("1 pair left out"));
    assert!(page.contains("empty results: 0 rows in 174 transactions"));
}

/// Names, messages, tags and settings that try to be markup, wherever foreign text can occur.
#[test]
fn hostile_text_stays_text() {
    const EVIL: &str = "</title></style><script>alert('x\"')</script>&\u{1b}[2J\u{202e}";
    let mut data = data(&Shape { extras: true, ..Shape::small() });
    let evil = || EVIL.to_owned();
    data.experiment.name = evil();
    data.experiment.question = evil();
    data.experiment.file_text = evil();
    data.experiment.plan = spec::plan::Recorded::Unknown(evil().into());
    data.experiment.hash = evil();
    data.experiment.created_at = evil();
    data.experiment.taste = Some(evil());
    data.host.name = evil();
    data.host.cpu = evil();
    data.host.facts.insert(evil(), evil());
    data.target.kind = evil();
    data.target.dsn_redacted = evil();
    data.target.server_version = evil();
    data.target.postgis_version = Some(evil());
    data.target.versions.insert(evil(), evil());
    for arm in &mut data.experiment.arms {
        arm.name += EVIL;
        arm.settings.insert(evil(), evil());
        arm.unsafe_settings.push(evil());
    }
    data.experiment.base = data.experiment.base.map(|base| base + EVIL);
    for run in &mut data.runs {
        run.arm = run.arm.take().map(|arm| arm + EVIL);
        run.workload += EVIL;
        run.factors.insert(evil(), evil());
        run.started_at = evil();
        doubt(run, Validity::Suspect, Reason::Errors, EVIL);
        Arc::make_mut(&mut run.settings).iter_mut().for_each(|setting| setting.value += EVIL);
        run.scripts.iter_mut().for_each(|script| script.name += EVIL);
        run.phases.iter_mut().for_each(|phase| (phase.name, phase.item) = (evil(), evil()));
        run.relations.iter_mut().for_each(|relation| (relation.name, relation.table) = (evil(), evil()));
        run.artifacts.iter_mut().for_each(|artifact| (artifact.name, artifact.caption) = (evil(), evil()));
    }
    let data = remade(data);
    let page = html::page(&data);
    assert!(!page.contains("<script"));
    assert!(!page.contains(['\u{1b}', '\u{202e}']));
    assert_eq!(page.matches("</style>").count(), 1);
    assert_eq!(page.matches("</title></style>").count(), 0);
    assert!(page.contains("&lt;script&gt;alert('x&quot;')&lt;/script&gt;&amp;\\x1b[2J\\u{202e}"));
    balanced("hostile", &page);
    assert!(!report::summary::text(&data).contains(['\u{1b}', '\u{202e}']));
}

#[test]
fn the_same_data_gives_the_same_page() {
    assert_eq!(page_of(data(&Shape::small())), page_of(data(&Shape::small())));
}

/// The whole page of a small experiment, so that its changes are visible in review.
#[test]
fn a_small_page() {
    let page = page_of(data(&Shape { clients: vec![1, 4], rounds: 3, ..Shape::small() }));
    let from = page.find("<body>").unwrap_or(0);
    insta::assert_snapshot!(page[from..].replace("><", ">\n<").replace(">\n</", "></"));
}

#[test]
fn a_stored_experiment_gives_the_same_page_as_its_records() {
    let mut data = data(&Shape { rounds: 2, extras: true, ..Shape::small() });
    // One that cannot be read is noted.
    data.experiment.plan = spec::plan::Plan::default().into();
    let data = ReportData::new(data.experiment, data.host, data.target, data.runs);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("results.sqlite");
    let mut store = results::Store::create_or_open(&path).expect("a new file");
    let (id, _) = store.begin_experiment(&data.experiment, &data.host, &data.target, false).expect("stored");
    for run in &data.runs {
        let finished = results::Finished { run: run.clone(), seconds: results::Spool::default() };
        store.store(id, &[finished]).expect("stored");
    }
    let store = results::Store::open_read_only(&path).expect("opened");
    let read = ReportData::load(&store, id, Wanted::ALL).expect("read back");
    assert_eq!(html::page(&read), page_of(data));
}

/// Regression: "2 s" was printed for 1500 ms, and "0 s" for 400 ms.
#[test]
fn short_runs_keep_the_digits_of_their_length() {
    for (seconds, said) in [(1.5, "1.5 s"), (0.4, "400 ms"), (10.000_4, "10 s")] {
        let mut data = data(&Shape::small());
        data.runs.iter_mut().for_each(|run| run.measured_s = seconds);
        let page = page_of(data);
        assert!(page.contains(&format!("run length</th><td>{said}</td>")), "{said}");
    }
    let mut data = data(&Shape::small());
    for (run, seconds) in data.runs.iter_mut().zip([2.0, 10.0].into_iter().cycle()) {
        run.measured_s = seconds;
    }
    assert!(page_of(data).contains("<td>2 s, 10 s</td>"));
}
