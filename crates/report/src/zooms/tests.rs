use results::CellValue;
use spec::figures;
use spec::{MapPart, RunKey, RunKind, ScriptRecord, Slice};
use stats::Histogram;

use super::*;
use crate::explained::tests::{data, script};

type Zoom = (u8, u64, f64);

pub(crate) fn scripts(layer: &str, zooms: &[Zoom], cached: Option<bool>) -> Vec<ScriptRecord> {
    let one = |(zoom, requests, ms): &Zoom| {
        let mut service = Histogram::new();
        (0..*requests).for_each(|_| service.record((ms * 1e6) as u64));
        let counts = [
            (figures::OK, *requests),
            (figures::ROWS, requests - requests / 4),
            (figures::BYTES, requests * 1000),
        ];
        ScriptRecord {
            part: Some(MapPart { layer: layer.into(), zoom: Some(*zoom), cached }),
            counts: counts.into(),
            service: service.clone(),
            response: service,
            ..script(&format!("{layer}, z{zoom:02}"))
        }
    };
    zooms.iter().map(one).collect()
}

pub(crate) fn run(arm: &str, round: u32, scripts: Vec<ScriptRecord>) -> Run {
    let factors = [("clients".to_owned(), "4".to_owned())].into();
    let key = RunKey { workload: "map".into(), factors, arm: Some(arm.into()), round };
    let sample = TileSample {
        script: 0,
        tiles: 4,
        empty: 1,
        features_in: Some(400),
        features_out: Some(40),
        vertices: Some(99),
        bytes: 800,
    };
    Run {
        scripts,
        tile_samples: vec![sample],
        clients: 4,
        measured_s: 1.0,
        sequence: round,
        ..Run::new(RunKind::Client, key)
    }
}

/// Four rounds: `b` takes half as long at z9 and equally long at z12; z16 has few requests.
pub(crate) fn rounds() -> Vec<Run> {
    let round = |round: u32| {
        let noise = 1.0 + 0.001 * f64::from(round * 7 % 5);
        let zooms = |share: f64| [(9, 200, 40.0 * share), (12, 200, 10.0 * noise), (16, 3, 1.0)];
        [
            run("a", round, scripts("old.sql", &zooms(1.0), None)),
            run("b", round, scripts("new.sql", &zooms(0.5 * noise), None)),
        ]
    };
    (1..=4).flat_map(round).collect()
}

#[test]
fn what_takes_the_time_and_what_changed_is_told() {
    let all = ZoomsOfCell::all(&data(rounds()));
    let [of] = &all[..] else { panic!("{all:?}") };
    assert_eq!(of.layers(), ["old.sql → new.sql"]);
    let z9 = &of.arms[0].zooms[0];
    let percentiles = (z9.p95_ns.is_some(), z9.p99_ns.is_some());
    assert_eq!((z9.requests, percentiles, z9.empty), (800, (true, false), Some(0.25)));
    assert_eq!(z9.bytes, Some(1000.0));
    // 200 * 40 of 200 * 40 + 200 * 10 + 3 * 1, and the noise.
    assert!(
        (z9.time_share.unwrap() - 0.8).abs() < 1e-2 && (z9.tiles_share.unwrap() - 200.0 / 403.0).abs() < 1e-9
    );
    assert_eq!(z9.features().as_deref(), Some("10.0"));
    let z16 = &of.arms[1].zooms[2];
    assert_eq!(
        (z16.requests, z16.mean_ns, z16.p95_ns, z16.time_share.is_some()),
        (12, Some(1e6), None, true)
    );
    assert_eq!(z16.few().as_deref(), Some("1.00 ms, 12 requests"));
    let said = answers(of);
    assert_eq!(said[0], "a: z9 takes 80 % of its time with 50 % of its tiles.");
    let wanted = "A tile with b: 0.50 times as long [0.50, 0.50] as with a at z9; the same within 3 % at z12, z16; \
                  z9 takes 67 % of its time with 50 % of its tiles.";
    assert_eq!(said[1], wanted);
    let line = "tiles: b differs most from a at z9: 0.50 times as long [0.50, 0.50]; z9 takes 67 % of its time with 50 % of its tiles";
    assert_eq!(summary(&data(rounds())), [line]);
}

/// One round: 3 requests of 5 s at z2 against 400 of 2 ms; none for z1, which was probed.
fn slow_low_zooms() -> Vec<Run> {
    let probe =
        |script, ms| TileProbe { script, tiles: 1, mean_us: ms * 1e3, z: 1, x: 0, y: 1, max_us: ms * 1e3 };
    let of = |arm, low: [u64; 2], ms| {
        let zooms = [(1, low[0], ms), (2, low[1], ms), (14, 4000, 2.5)];
        let tile_probes = vec![probe(0, ms), probe(1, ms)];
        Run { tile_probes, ..run(arm, 1, scripts("tiles()", &zooms, None)) }
    };
    vec![of("a", [410, 400], 2.0), of("b", [0, 3], 5100.0)]
}

/// Regression: the slow zooms of a function had no request, or no figure, and the summary named none of them.
#[test]
fn a_slow_zoom_with_few_requests_stands_first() {
    let said = summary(&data(slow_low_zooms()));
    assert_eq!(
        said[..2],
        [
            "tiles: no request of b for z1 ended in the measured part; before the run a tile took 5.10 s (1/0/1)",
            "tiles: b at z2: 5.10 s, 3 requests, against 2.00 ms, 400 requests, with a",
        ]
    );
    assert!(!said.iter().any(|line| line.contains("no zoom at which")), "{said:?}");
    let all = ZoomsOfCell::all(&data(slow_low_zooms()));
    let z1 = &all[0].arms[1].zooms[0];
    assert_eq!((z1.time_share, z1.tiles_share), (None, None));
    assert_eq!(z1.few().as_deref(), Some("not reached; before the run a tile took 5.10 s (1/0/1)"));
    let answer = &answers(&all[0])[1];
    assert!(answer.contains("few requests at z2: 5.10 s, 3 requests, against 2.00 ms"), "{answer}");
    assert!(answer.contains("not requested in both at z1"), "{answer}");
}

/// The zoom that takes the time is not always the slowest.
#[test]
fn the_slowest_zoom_is_named_with_its_range() {
    let mut runs = slow_low_zooms();
    runs.truncate(1);
    runs[0].scripts = scripts("tiles()", &[(2, 2, 700.0), (14, 9000, 1.0)], None);
    let said = answers(&ZoomsOfCell::all(&data(runs))[0]);
    let wanted = "a: z2 is the slowest, 700 ms a tile (700 ms, 2 requests); z14 takes 87 % of its time";
    assert!(said[0].starts_with(wanted), "{said:?}");
}

/// Regression: with two cells, the line did not name the cell of its time.
#[test]
fn the_line_of_several_cells_names_its_cell() {
    let other = |mut run: Run| {
        run.factors.insert("clients".into(), "8".into());
        run
    };
    let alike = |run: &Run| run.arm.as_deref() == Some("a");
    let base: Vec<Run> = rounds().into_iter().filter(alike).collect();
    let same = base.iter().cloned().map(|run| Run { arm: Some("b".into()), ..run });
    let one: Vec<Run> = base.iter().cloned().chain(same).collect();
    let both: Vec<Run> = one.iter().cloned().chain(one.iter().cloned().map(other)).collect();
    let wanted = "tiles: no zoom at which b surely takes longer or shorter than a; z9 takes 80 % of its time with 50 % of its tiles";
    assert_eq!(summary(&data(one)), [wanted]);
    let wanted = "tiles: no zoom of any cell at which b surely takes longer or shorter than a; map, 4 clients: z9 takes 80 % of its \
                  time with 50 % of its tiles";
    assert_eq!(summary(&data(both)), [wanted]);
    let of_both: Vec<Run> = rounds().into_iter().flat_map(|run| [run.clone(), other(run)]).collect();
    assert!(summary(&data(of_both))[0].starts_with("tiles, map, "), "which of two");
}

/// Regression: quads that are excluded elsewhere were in the times of tiles without a remark.
#[test]
fn void_quads_are_told_where_times_of_tiles_are() {
    let slice = |quad, is_void| Slice {
        quad,
        start_us: 0,
        length_us: 1,
        drain_us: 0,
        succeeded: 1,
        at_work_us: 1.0,
        steal_pct: None,
        server_cpu_us: None,
        is_void,
    };
    let mut runs = rounds();
    runs.iter_mut().for_each(|run| run.slices = vec![slice(0, false), slice(1, run.round == 2)]);
    let said = void_quads(&data(runs.clone())).unwrap();
    assert!(said.starts_with("1 of 8 groups of four slices do not count"), "{said}");
    runs.iter_mut().for_each(|run| run.slices = vec![slice(0, false)]);
    assert_eq!(void_quads(&data(runs)), None);
}

#[test]
fn nothing_is_told_of_what_is_no_map_or_one_zoom() {
    let mut runs = rounds();
    runs.iter_mut().flat_map(|run| &mut run.scripts).for_each(|script| script.part = None);
    assert!(ZoomsOfCell::all(&data(runs.clone())).is_empty() && summary(&data(runs)).is_empty());
    let mut one = rounds();
    one.iter_mut().for_each(|run| run.scripts.truncate(1));
    assert!(summary(&data(one)).is_empty());
}

#[test]
fn the_table_has_a_line_for_each_and_marks_few() {
    let table = tiles(&data(rounds()));
    let of = |row: usize, name: &str| {
        let at = table.at(name).expect(name);
        &table.rows[row][at]
    };
    assert_eq!(table.rows.len(), 6);
    assert!(table.rows.iter().all(|row| row.len() == table.columns.len()));
    assert_eq!(
        (of(3, "zoom"), of(3, "base_layer"), of(3, "verdict")),
        (&CellValue::Int(9), &"old.sql".into(), &"faster".into())
    );
    assert_eq!(
        (of(3, "sample_features_in"), of(3, "sample_empty_pct")),
        (&CellValue::Real(100.0), &CellValue::Real(25.0))
    );
    assert!(matches!(of(3, "mean_change_pct"), CellValue::Real(pct) if (pct + 49.9).abs() < 0.2));
    assert_eq!(
        (of(5, "few"), of(5, "mean_us"), of(5, "p95_us"), of(5, "max_us")),
        (&"yes".into(), &CellValue::Real(1000.0), &CellValue::Null, &CellValue::Real(1000.0))
    );
    let words = tiles_in_words(&data(rounds()));
    assert!(words.rows.iter().all(|row| row.len() == words.columns.len()));
    assert_eq!(
        (&words.rows[5][7], &words.rows[5][17], &words.rows[4][17]),
        (&CellValue::Real(1000.0), &"1.00 to 1.00 ms".into(), &CellValue::Null)
    );
}

/// Behind a cache hits and misses are below the whole, and their shares are not counted twice.
#[test]
fn hits_stand_below_the_whole() {
    let round = |round| {
        let mut cached = scripts("t", &[(9, 90, 1.0)], Some(true));
        cached.extend(scripts("t", &[(9, 10, 91.0)], Some(false)));
        [run("a", round, scripts("t", &[(9, 50, 91.0)], None)), run("b", round, cached)]
    };
    let mut runs: Vec<Run> = (1..=2).flat_map(round).collect();
    runs[1].slices = vec![Slice {
        quad: 0,
        start_us: 0,
        length_us: 1,
        drain_us: 0,
        succeeded: 1,
        at_work_us: 1.0,
        steal_pct: None,
        server_cpu_us: None,
        is_void: false,
    }];
    let table = tiles(&data(runs));
    let column = |name: &str| {
        let at = table.at(name).expect(name);
        table.rows.iter().map(|row| row[at].clone()).collect::<Vec<_>>()
    };
    assert_eq!(column("cached"), [CellValue::Null, CellValue::Null, "yes".into(), "no".into()]);
    assert_eq!(column("time_share_pct")[1..3], [CellValue::Real(100.0), CellValue::Real(9.0)]);
    assert!(matches!(column("mean_change_pct")[1], CellValue::Real(pct) if (pct + 89.0).abs() < 0.1));
    assert_eq!(column("sliced")[..2], [CellValue::Null, "yes".into()]);
}

/// Three zooms took the same time, and one of them was called the one that takes it.
#[test]
fn zooms_that_take_as_much_are_named_together() {
    let said = |zooms: &[Zoom]| {
        let run = run("a", 1, scripts("tiles()", zooms, None));
        answers(&ZoomsOfCell::all(&data(vec![run]))[0])
    };
    let three = said(&[(5, 300, 90.0), (6, 300, 91.0), (7, 300, 89.0), (12, 900, 2.0)]);
    assert_eq!(three, ["a: z5, z6 and z7 take 98 % of its time with 50 % of its tiles."]);
    let all = said(&[(5, 300, 90.0), (6, 300, 91.0)]);
    assert!(!all.concat().contains("of its time"), "{all:?}");
}
