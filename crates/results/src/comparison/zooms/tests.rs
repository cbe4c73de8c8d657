use super::*;
use crate::fixture::{experiment, run};
use spec::figures;
use spec::{MapPart, OrderScheme, ScriptRecord, TileProbe, TileSample, Validity};
use stats::Histogram;

/// A script of this part with this many requests, each of this many µs.
fn script(layer: &str, zoom: u8, cached: Option<bool>, requests: u64, us: f64) -> ScriptRecord {
    let mut service = Histogram::new();
    (0..requests).for_each(|at| service.record((us * 1000.0) as u64 + at % 3));
    let counts = [(figures::OK, requests), (figures::ROWS, requests / 2), (figures::BYTES, requests * 100)];
    ScriptRecord {
        name: format!("{layer}, z{zoom:02}"),
        text_hash: String::new(),
        weight: 1,
        part: Some(MapPart { layer: layer.into(), zoom: Some(zoom), cached }),
        counts: counts.into(),
        response: service.clone(),
        service,
    }
}

fn of(arm: &str, round: u32, scripts: Vec<ScriptRecord>) -> Run {
    Run { scripts, ..run("tiles", 4, Some(arm), round, 100.0) }
}

/// Four rounds of A and B; B takes twice as long at z12 and equally long at z15, with some common noise per
/// round.
fn rounds(layers: [&str; 2]) -> Vec<Run> {
    let one = |round: u32| {
        let level = 100.0 * (1.0 + 0.2 * f64::from(round));
        let noise = 1.0 + 0.002 * f64::from(round * 7 % 5);
        let own = |layer, times: [f64; 2]| {
            vec![script(layer, 12, None, 40, times[0]), script(layer, 15, None, 40, times[1])]
        };
        [
            of("A", round, own(layers[0], [level * 10.0, level])),
            of("B", round, own(layers[1], [level * 20.0 * noise, level * noise])),
        ]
    };
    (1..=4).flat_map(one).collect()
}

#[test]
fn a_zoom_is_told_from_another() {
    let found = zooms(&experiment(&["A", "B"]), &rounds(["old.sql", "new.sql"]));
    let [at_12, at_15] = &found[..] else { panic!("{found:?}") };
    assert_eq!((at_12.place.zoom, at_12.layers().as_str()), (Some(12), "old.sql → new.sql"));
    let (low, high) = at_12.mean.unwrap().interval_pct().unwrap();
    assert!(low > 95.0 && low < 101.0 && high > 99.0 && high < 105.0, "{low} {high}");
    assert_eq!((at_12.verdict, at_15.verdict), (Verdict::Slower, Verdict::Same));
    assert_eq!((at_12.requests, at_12.differences.len()), ([160, 160], 4));
    assert!(at_12.mean.unwrap().p_adjusted().unwrap() < 0.05 && at_12.median.unwrap().change_pct() > 90.0);
    // Imported sets have no pairs, and the drift of rounds hides small changes.
    let apart = ExperimentRecord { order_scheme: OrderScheme::Imported, ..experiment(&["A", "B"]) };
    let unpaired = zooms(&apart, &rounds(["old.sql", "new.sql"]));
    assert!(matches!(unpaired[1].verdict, Verdict::Inconclusive { .. }), "{:?}", unpaired[1]);
}

/// A request that waited for a lock made a zoom 60 times as slow as its other requests were.
#[test]
fn medians_are_judged_where_a_few_requests_rule_a_mean() {
    let mut runs = rounds(["t", "t"]);
    for run in runs.iter_mut().filter(|run| run.arm.as_deref() == Some("B")) {
        let slow = &mut run.scripts[1].service;
        slow.record(6_000_000_000);
    }
    let found = zooms(&experiment(&["A", "B"]), &runs);
    let [at_12, at_15] = &found[..] else { panic!("{found:?}") };
    assert!(!at_12.by_median && at_15.by_median);
    assert!(at_15.mean.unwrap().change_pct() > 1000.0, "{at_15:?}");
    assert_eq!((at_12.verdict, at_15.verdict), (Verdict::Slower, Verdict::Same));
    assert_eq!(at_15.judged().unwrap().change_pct(), at_15.median.unwrap().change_pct());
}

/// Regression: a zoom that took 700 times as long had three requests, and no figure.
#[test]
fn few_requests_have_a_wide_interval_and_a_range() {
    let with = |requests: [u64; 2], slow: f64| {
        let mut runs = rounds(["t", "t"]);
        for (run, at) in runs.iter_mut().zip(0..) {
            let of_base = at % 2 == 0;
            let us = if of_base { 100.0 } else { slow } * (1.0 + 0.3 * f64::from(at % 3));
            run.scripts[1] = script("t", 15, None, requests[usize::from(!of_base)], us);
        }
        zooms(&experiment(&["A", "B"]), &runs).pop().unwrap()
    };
    let few = with([90, 1], 70_000.0);
    let (low, high) = few.mean.unwrap().interval_pct().unwrap();
    assert!(low > 10_000.0 && high / low > 2.0, "{low} {high}");
    assert_eq!((few.requests, few.verdict, few.differences.len()), ([360, 4], Verdict::Slower, 4));
    assert!(few.is_few() && few.is_apart() && few.why_none().is_none());
    assert_eq!(few.ranges_ns[1], Some((70_000_000, 112_000_000)));
    // As long as the base: nothing is decided, and nothing is missing.
    let alike = with([90, 2], 100.0);
    assert!(matches!(alike.verdict, Verdict::Inconclusive { .. }) && !alike.is_apart(), "{alike:?}");
    let none = with([90, 0], 100.0);
    assert_eq!((none.why_none(), none.is_few(), none.mean), (Some("no request of the arm"), true, None));
}

/// A round with one request would outweigh those with many.
#[test]
fn rounds_with_few_requests_count_only_where_hardly_any_has_more() {
    let mut runs = rounds(["t", "t"]);
    runs[0].scripts[1] = script("t", 15, None, 1, 9000.0);
    let counted = |runs: &[Run]| {
        let found = zooms(&experiment(&["A", "B"]), runs).pop().unwrap();
        found.differences.into_keys().collect::<Vec<_>>()
    };
    assert_eq!(counted(&runs), [2, 3, 4]);
    for run in &mut runs[2..6] {
        run.scripts[1] = script("t", 15, None, 2, 100.0);
    }
    assert_eq!(counted(&runs), [1, 2, 3, 4]);
}

#[test]
fn what_is_invalid_takes_its_pair_out() {
    let mut runs = rounds(["t", "t"]);
    runs[0].validity = Validity::Invalid;
    let found = zooms(&experiment(&["A", "B"]), &runs);
    assert_eq!(found[0].differences.keys().copied().collect::<Vec<_>>(), [2, 3, 4]);
    assert!(zooms(&experiment(&[]), &runs).is_empty());
}

/// Behind a cache a zoom is compared as a whole; an arm without a cache has no hits to compare.
#[test]
fn hits_and_misses_are_apart_and_together() {
    let rounds = |round| {
        let cached = vec![script("t", 12, Some(true), 60, 10.0), script("t", 12, Some(false), 20, 1100.0)];
        [of("A", round, vec![script("t", 12, None, 40, 1000.0)]), of("B", round, cached)]
    };
    let runs: Vec<Run> = (1..=4).flat_map(rounds).collect();
    let of_cached = requests(&runs[1]);
    let requests: Vec<(Which, u64)> =
        of_cached.iter().map(|(place, own)| (place.which, own.requests)).collect();
    assert_eq!(requests, [(Which::All, 80), (Which::Hits, 60), (Which::Misses, 20)]);
    let all = &of_cached.values().next().unwrap();
    assert_eq!((all.empty_share(), all.bytes_per_tile()), (Some(0.5), Some(100.0)));
    let found = zooms(&experiment(&["A", "B"]), &runs);
    let [own] = &found[..] else { panic!("{found:?}") };
    // (60 * 10 + 20 * 1100) / 80 = 282.5
    let change = own.mean.unwrap().change_pct();
    assert!((change + 71.75).abs() < 0.1 && own.place.which == Which::All, "{change}");
}

/// Each round has the same sample and its own probe; hits and misses share one.
#[test]
fn a_sample_counts_once() {
    let mut runs = rounds(["t", "t"]);
    for run in &mut runs {
        run.tile_samples =
            vec![TileSample { script: 1, tiles: 8, empty: 2, bytes: 800, ..TileSample::default() }];
        let mean_us = f64::from(run.round);
        run.tile_probes = vec![TileProbe { script: 1, tiles: 8, mean_us, z: 15, x: 1, y: 2, max_us: 9.0 }];
    }
    let mut sum = PlaceRequests::default();
    for run in runs.iter().filter(|run| run.arm.as_deref() == Some("A")) {
        sum.add(&requests(run)[&LayerAtZoom { layer: 0, zoom: Some(15), which: Which::All }]);
    }
    assert_eq!((sum.requests, sum.sample.unwrap().tiles), (160, 8));
    assert_eq!(sum.probe.map(|probe| (probe.tiles, probe.mean_us)), Some((8, 1.0)));
    assert_eq!(layers(&runs[0]), ["t"]);
}
