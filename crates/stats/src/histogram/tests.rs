use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer, V2Serializer};
use proptest::prelude::*;

use super::*;

fn of(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    values.iter().for_each(|&ns| histogram.record(ns));
    histogram
}

/// HdrHistogram's own, to compare with.
fn hdr(values: &[u64]) -> hdrhistogram::Histogram<u64> {
    let mut histogram = hdrhistogram::Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, DIGITS).unwrap();
    values.iter().for_each(|&ns| histogram.saturating_record(ns));
    histogram
}

fn decoded(histogram: &Histogram) -> Result<Histogram, HistogramError> {
    Histogram::decode(
        &histogram.encode(),
        histogram.sum_ns(),
        histogram.sum_squares(),
        histogram.min_ns().unwrap_or(u64::MAX),
        histogram.max_ns().unwrap_or(0),
    )
}

fn assert_same(got: &Histogram, wanted: &Histogram) {
    assert_eq!(got.encode(), wanted.encode());
    assert_eq!((got.sum_ns, got.min_ns(), got.max_ns()), (wanted.sum_ns, wanted.min_ns(), wanted.max_ns()));
    let tolerance = wanted.sum_squares * 1e-12;
    assert!((got.sum_squares - wanted.sum_squares).abs() <= tolerance);
}

/// The slow exact answer: the smallest value with at least a share `q` of all values at or below it.
fn exact_quantile(values: &[u64], q: f64) -> u64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let rank = (q * values.len() as f64).ceil().max(1.0) as usize;
    sorted[rank.min(values.len()) - 1]
}

/// Latencies over the whole range, every size equally likely.
fn latencies() -> impl Strategy<Value = Vec<u64>> {
    let one = (6u32..42, any::<u64>()).prop_map(|(bits, raw)| (1u64 << bits) | (raw & ((1u64 << bits) - 1)));
    proptest::collection::vec(one.prop_map(|ns| ns.min(HIGHEST_NS)), 1..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn merging_any_split_is_the_histogram_of_all(values in latencies(), cuts in proptest::collection::vec(0usize..4, 200)) {
        let mut parts = vec![Vec::new(); 4];
        for (value, part) in values.iter().zip(&cuts) {
            parts[*part].push(*value);
        }
        let mut merged = Histogram::new();
        parts.iter().for_each(|part| merged.add(&of(part)));
        assert_same(&merged, &of(&values));
        // Some of them are as they were recorded, some as they are read.
        let mixed: Vec<Histogram> =
            (0..).zip(&parts).map(|(at, part)| if at % 2 == 0 { of(part) } else { decoded(&of(part)).unwrap() }).collect();
        assert_same(&Histogram::sum(&mixed), &of(&values));
    }

    #[test]
    fn it_counts_and_encodes_as_hdrhistogram_does(values in latencies(), q in 0.0f64..=1.0) {
        let (own, other) = (of(&values), hdr(&values));
        let read: hdrhistogram::Histogram<u64> = Deserializer::new().deserialize(&mut &*own.encode()).unwrap();
        prop_assert_eq!(&read, &other);
        let (mut plain, mut theirs) = (Vec::new(), Vec::new());
        V2Serializer::new().serialize(&read, &mut plain).unwrap();
        V2Serializer::new().serialize(&other, &mut theirs).unwrap();
        prop_assert_eq!(plain, theirs);
        for histogram in [&own, &decoded(&own).unwrap()] {
            for q in [0.0, q, 1.0] {
                let wanted = other.value_at_quantile(q).clamp(own.min_ns, own.max_ns);
                prop_assert_eq!(histogram.quantile_ns(q), Some(wanted));
            }
            let above = other.len() - other.count_between(0, values[0]);
            prop_assert_eq!(histogram.count_above(values[0]), above);
        }
    }

    #[test]
    fn what_is_encoded_comes_back(values in latencies()) {
        let histogram = of(&values);
        assert_same(&decoded(&histogram).unwrap(), &histogram);
        assert_same(&Histogram::from_text(&histogram.to_text()).unwrap(), &histogram);
    }

    #[test]
    fn a_decoded_histogram_goes_on_like_any_other(first in latencies(), second in latencies()) {
        let all = of(&[&first[..], &second[..]].concat());
        let mut recorded = decoded(&of(&first)).unwrap();
        second.iter().for_each(|&ns| recorded.record(ns));
        assert_same(&recorded, &all);
        let mut added = decoded(&of(&first)).unwrap();
        added.add(&of(&second));
        assert_same(&added, &all);
        let mut both = decoded(&of(&first)).unwrap();
        both.add(&decoded(&of(&second)).unwrap());
        assert_same(&both, &all);
        prop_assert_eq!(both.quantile_ns(0.99), all.quantile_ns(0.99));
    }

    /// A decoded histogram has only the counters with values; one that was recorded has all.
    #[test]
    fn a_decoded_histogram_has_the_figures_of_the_full_one(
        values in latencies(),
        others in latencies(),
        qs in proptest::collection::vec(-0.5f64..=1.5, 20),
    ) {
        let (full, packed) = (of(&values), decoded(&of(&values)).unwrap());
        let mut shrunk = full.clone();
        shrunk.shrink();
        let is_packed = |own: &Histogram| own.counters.growing.count() == 0;
        prop_assert!(!is_packed(&full) && is_packed(&packed) && is_packed(&shrunk));
        let figures = |own: &Histogram| {
            let fixed = [0.0, 0.5, 0.9, 0.99, 0.999, 1.0];
            let quantiles = fixed.iter().chain(&qs).map(|q| (own.quantile_ns(*q), own.percentile_ns(*q)));
            let above = values.iter().chain(&others).flat_map(|ns| [0, ns - 1, *ns, ns + 1]);
            let above = above.chain([HIGHEST_NS, u64::MAX]).map(|ns| own.count_above(ns));
            let (quantiles, above): (Vec<_>, Vec<_>) = (quantiles.collect(), above.collect());
            (own.count(), own.mean_ns(), own.stddev_ns(), own.curve(), quantiles, above)
        };
        prop_assert_eq!(figures(&packed), figures(&full));
        prop_assert_eq!(figures(&shrunk), figures(&full));
        assert_same(&shrunk, &full);
        prop_assert!(is_packed(&packed.clone()), "figures do not unpack");
    }

    #[test]
    fn quantiles_are_the_exact_ones_to_three_digits(values in latencies(), q in 0.0f64..=1.0) {
        let (got, wanted) = (of(&values).quantile_ns(q).unwrap() as f64, exact_quantile(&values, q) as f64);
        // A bucket is at most 0.1 % wide, and never narrower than the smallest value told apart.
        prop_assert!((got - wanted).abs() <= wanted * 0.001 + LOWEST_NS as f64, "{got} is not {wanted}");
    }

    #[test]
    fn decoding_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200), flip in 0usize..60) {
        let _ = Histogram::decode(&bytes, 0, 0.0, 0, 0);
        let mut broken = of(&[1_000, 2_000_000]).encode();
        if let Some(byte) = broken.get_mut(flip) {
            *byte ^= 0x55;
        }
        if let Ok(histogram) = Histogram::decode(&broken, 0, 0.0, 1_000, 2_000_000) {
            let _ = (histogram.quantile_ns(0.99), histogram.curve(), histogram.count_above(1_000));
        }
    }
}

#[test]
fn an_empty_histogram_has_no_figures_and_survives_storage() {
    let empty = decoded(&Histogram::new()).unwrap();
    assert!(empty.is_empty());
    assert_eq!(
        (empty.min_ns(), empty.max_ns(), empty.mean_ns(), empty.quantile_ns(0.5)),
        (None, None, None, None)
    );
}

#[test]
fn figures_beside_the_counts_must_fit_them() {
    let bytes = of(&[1_000]).encode();
    // As other tools store it: not compressed.
    let mut plain = Vec::new();
    V2Serializer::new().serialize(&hdr(&[1_000, 70_000]), &mut plain).unwrap();
    assert_same(&Histogram::decode(&plain, 71_000, 4_901e6, 1_000, 70_000).unwrap(), &of(&[1_000, 70_000]));
    let found = Histogram::decode(&bytes, 1_000, 1e6, u64::MAX, 0);
    assert!(matches!(found, Err(HistogramError::Extremes { count: 1, .. })));
    assert!(matches!(Histogram::decode(b"no histogram", 0, 0.0, 0, 0), Err(HistogramError::Encoding(_))));
}

/// What `decoding_never_panics` would seldom find: numbers that lead out of the counters.
#[test]
fn damaged_counters_are_refused() {
    let mut plain = Vec::new();
    V2Serializer::new().serialize(&hdr(&[1_000]), &mut plain).unwrap();
    let decode = |numbers: &[u8]| {
        let mut bytes = plain[..40].to_vec();
        bytes[4..8].copy_from_slice(&(numbers.len() as u32).to_be_bytes());
        bytes.extend(numbers);
        Histogram::decode(&bytes, 1_000, 1e6, 1_000, 1_000)
    };
    assert_eq!(decode(&plain[40..]).unwrap().count(), 1);
    let far = [&[0xff; 9][..], &[2]].concat();
    for (numbers, wanted) in
        [(&[0x80, 0x80][..], "cut off"), (&far[..], "too many"), (&[0xff, 0xff, 0x7f, 2], "too many")]
    {
        let error = decode(numbers).expect_err("damaged").to_string();
        assert!(error.contains(wanted), "{error}");
    }
    plain[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
    let error = Histogram::decode(&plain, 1_000, 1e6, 1_000, 1_000).expect_err("a long one").to_string();
    assert!(error.contains("too long"), "{error}");
}

#[test]
fn other_bounds_are_refused() {
    let mut other = hdrhistogram::Histogram::<u64>::new_with_bounds(1, HIGHEST_NS, DIGITS).unwrap();
    other.record(5).unwrap();
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(&other, &mut bytes).unwrap();
    assert!(matches!(Histogram::decode(&bytes, 5, 25.0, 5, 5), Err(HistogramError::Bounds)));
}

/// Mean and deviation come from exact sums: 1, 2, 3, 4 µs have mean 2.5 and population deviation √1.25.
#[test]
fn mean_and_deviation_are_exact() {
    let histogram = of(&[1_000, 2_000, 3_000, 4_000]);
    assert_eq!(histogram.mean_ns(), Some(2_500.0));
    assert!((histogram.stddev_ns().unwrap() - 1_250_000.0f64.sqrt()).abs() < 1e-6);
    assert_eq!(histogram.count_above(2_500), 2);
}

/// Longer than the bounds: counted in the last bucket, and still known exactly as sum and maximum.
#[test]
fn values_beyond_the_bounds_are_kept() {
    let histogram = of(&[HIGHEST_NS * 3, 1]);
    assert_eq!(
        (histogram.count(), histogram.max_ns(), histogram.min_ns()),
        (2, Some(HIGHEST_NS * 3), Some(1))
    );
    assert_eq!(histogram.sum_ns(), u128::from(HIGHEST_NS) * 3 + 1);
}

#[test]
fn a_text_that_is_no_histogram_is_refused() {
    assert_eq!(Histogram::from_text(&Histogram::new().to_text()).unwrap().count(), 0);
    for text in ["", "1 2 3 4", "a b c d AAAA", "1 2.0 3 4 ====", "1 2.0 3 4 AAAA"] {
        assert!(Histogram::from_text(text).is_err(), "{text}");
    }
}
