use super::*;
use crate::fixture::{experiment, run};
use spec::figures;
use spec::{MapPart, OrderScheme, ScriptRecord, TileSample, Validity};
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

#[test]
fn a_few_requests_make_no_figure() {
    let mut runs = rounds(["t", "t"]);
    for run in &mut runs {
        run.scripts[1] = script("t", 15, None, 4, 100.0);
    }
    let found = zooms(&experiment(&["A", "B"]), &runs);
    assert!(found[0].mean.is_some() && found[0].why_none().is_none());
    let few = &found[1];
    assert_eq!(
        (few.requests, few.why_none().as_deref(), few.mean, few.verdict),
        ([16, 16], Some("fewer than 20 requests"), None, Verdict::Invalid)
    );
    // Enough together, but hardly any in a round.
    runs.iter_mut()
        .filter(|run| run.round == 1)
        .for_each(|run| run.scripts[1] = script("t", 15, None, 40, 100.0));
    let found = zooms(&experiment(&["A", "B"]), &runs);
    assert_eq!((found[1].differences.len(), found[1].mean.unwrap().n), (1, 1));
}

/// Regression: 24 requests were "fewer than 20", since no round had five of them.
#[test]
fn requests_that_are_spread_too_thin_are_told_as_that() {
    let thin = |run: Run| Run { scripts: vec![script("t", 15, None, 4, 100.0)], ..run };
    let own = rounds(["t", "t"]);
    let more = own.iter().cloned().map(|run| Run { round: run.round + 4, ..run });
    let runs: Vec<Run> = own.iter().cloned().chain(more).map(thin).collect();
    let found = zooms(&experiment(&["A", "B"]), &runs);
    assert_eq!((found[0].requests, found[0].mean), ([32, 32], None));
    assert_eq!(found[0].why_none().as_deref(), Some("no round with 5 requests of both arms"));
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

/// Each round has the same sample; hits and misses share one.
#[test]
fn a_sample_counts_once() {
    let mut runs = rounds(["t", "t"]);
    for run in &mut runs {
        run.tile_samples =
            vec![TileSample { script: 1, tiles: 8, empty: 2, bytes: 800, ..TileSample::default() }];
    }
    let mut sum = PlaceRequests::default();
    for run in runs.iter().filter(|run| run.arm.as_deref() == Some("A")) {
        sum.add(&requests(run)[&LayerAtZoom { layer: 0, zoom: Some(15), which: Which::All }]);
    }
    assert_eq!((sum.requests, sum.sample.unwrap().tiles), (160, 8));
    assert_eq!(layers(&runs[0]), ["t"]);
}
