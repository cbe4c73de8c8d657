//! Simulated series: false alarms, and how exactly real changes are found.

use super::*;

/// A small generator of our own, so that these series stay as they are.
pub(crate) struct Noise(pub(crate) u64);

impl Noise {
    /// From 0 to 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// With mean 0 and deviation 1.
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Arrivals of a Poisson process with this mean.
    pub(crate) fn poisson(&mut self, mean: f64) -> f64 {
        let (mut count, mut time) = (0.0, 0.0);
        loop {
            time -= (1.0 - self.uniform()).ln();
            if time > mean {
                return count;
            }
            count += 1.0;
        }
    }

    pub(crate) fn poissons(&mut self, count: usize, mean: f64) -> Vec<f64> {
        (0..count).map(|_| self.poisson(mean)).collect()
    }

    /// Values around 100 with this deviation in percent, each alike the one before.
    pub(crate) fn alike(&mut self, count: usize, deviation: f64, alike: f64) -> Vec<f64> {
        let mut last = self.normal();
        let next = |_| {
            last = alike * last + (1.0 - alike * alike).sqrt() * self.normal();
            100.0 + deviation * last
        };
        (0..count).map(next).collect()
    }
}

/// As a run's seconds are judged: levels of ten seconds, or of a quarter of a short run.
fn fewest(count: usize) -> usize {
    (count / 4).clamp(3, 10)
}

/// Of so many series in which nothing happens.
const TRIES: usize = 300;

/// What a series without a step is made of, and how many in 1000 may show one.
struct Kept {
    what: &'static str,
    make: fn(&mut Noise, usize) -> Vec<f64>,
    most: usize,
}

#[test]
fn a_level_that_is_kept_is_one() {
    let kept: [Kept; 5] = [
        Kept { what: "independent", make: |noise, count| noise.alike(count, 5.0, 0.0), most: 10 },
        Kept { what: "rather alike", make: |noise, count| noise.alike(count, 5.0, 0.3), most: 25 },
        Kept { what: "alike", make: |noise, count| noise.alike(count, 5.0, 0.6), most: 70 },
        Kept { what: "Poisson, many", make: |noise, count| noise.poissons(count, 500.0), most: 10 },
        Kept { what: "Poisson, few", make: |noise, count| noise.poissons(count, 10.0), most: 10 },
    ];
    for count in [12, 15, 30, 60] {
        for Kept { what, make, most } in &kept {
            let mut noise = Noise(count as u64);
            let alarms = (0..TRIES)
                .filter(|_| levels(&make(&mut noise, count), fewest(count), 0.03).len() > 1)
                .count();
            assert!(alarms * 1000 <= most * TRIES, "{alarms} of {TRIES} {what} series of {count}");
        }
    }
}

/// A step in the middle, and how many of 100 are to be found.
struct Step {
    /// The level behind it, as a share of that before.
    change: f64,
    /// Deviation of single values, percent.
    deviation: f64,
    /// In 12 values, and in 60.
    found: (usize, usize),
}

#[test]
fn steps_are_found_where_they_are() {
    let steps = [
        Step { change: 0.5, deviation: 5.0, found: (98, 98) },
        Step { change: 0.8, deviation: 3.0, found: (85, 98) },
        Step { change: 0.9, deviation: 2.0, found: (70, 98) },
        Step { change: 1.2, deviation: 3.0, found: (85, 98) },
    ];
    for Step { change, deviation, found } in steps {
        for (count, wanted) in [(12, found.0), (60, found.1)] {
            let (mut noise, at) = (Noise(7), count / 2);
            let exact = (0..100).filter(|_| {
                let mut series = noise.alike(count, deviation, 0.2);
                series[at..].iter_mut().for_each(|value| *value *= change);
                levels(&series, fewest(count), 0.03).iter().any(|level| level.from.abs_diff(at) <= 1)
            });
            let exact = exact.count();
            assert!(exact >= wanted, "{exact} of 100: {change} in {deviation} %, {count} values");
        }
    }
}

/// A single cut in two would not show it: both parts are alike.
#[test]
fn a_dip_between_equal_levels_is_seen() {
    for count in [12, 15, 60] {
        let mut noise = Noise(3);
        let found = (0..100).filter(|_| {
            let mut series = noise.alike(count, 5.0, 0.2);
            series[5..8].iter_mut().for_each(|value| *value = 0.0);
            let levels = levels(&series, 3, 0.03);
            matches!(levels[..], [_, dip, _] if (dip.from, dip.to) == (5, 8))
        });
        let found = found.count();
        assert!(found >= 95, "{found} of 100 in {count} values");
    }
}

/// What a server did whose processes stood still from within the fourth second to within the ninth: nothing was found.
#[test]
fn a_stall_that_begins_and_ends_within_a_second_is_seen() {
    let still = [839.0, 827.0, 841.0, 456.0, 0.0, 0.0, 0.0, 0.0, 741.0, 845.0, 864.0, 858.0];
    let found = levels(&still, 3, 0.05);
    assert!(found.windows(2).any(|pair| pair[1].change_from(&pair[0]) < -0.9), "{found:?}");
    assert_eq!(found.last().map(|last| (last.from, last.to)), Some((8, 12)), "{found:?}");
}

#[test]
fn small_and_odd_series_have_one_level_or_none() {
    let flat = |series: &[f64]| levels(series, 3, 0.03).len();
    assert_eq!(flat(&[]), 0);
    assert_eq!(flat(&[1.0, f64::NAN, 3.0]), 0);
    assert_eq!(flat(&[5.0]), 1);
    assert_eq!(flat(&[5.0, 5.0, 5.0, 1.0, 1.0]), 1, "no room for two of three");
    assert_eq!(flat(&[0.0; 20]), 1);
    let up = [vec![0.0; 6], vec![7.0; 6]].concat();
    let found = levels(&up, 3, 0.03);
    assert_eq!(found[1], SeriesLevel { from: 6, to: 12, mean: 7.0 });
    assert_eq!(found[1].change_from(&found[0]), f64::INFINITY);
    let little = [vec![100.0; 6], vec![102.0; 6]].concat();
    assert_eq!((flat(&little), levels(&little, 3, 0.01).len()), (1, 2), "what is too small to be reported");
}

/// A host whose credits end in the run: where, and how slow it is then.
#[test]
fn the_end_of_credits_is_found() {
    let mut noise = Noise(11);
    for ends in [200, 300, 400] {
        let mut bucket = crate::credits::Bucket::t2_micro(0.9 * f64::from(ends) / 60.0);
        let series: Vec<f64> =
            (0..600).map(|_| 1000.0 * bucket.pass(1.0, 1.0) * (1.0 + 0.03 * noise.normal())).collect();
        let found = levels(&series, 10, 0.03);
        let end = found.windows(2).find(|pair| pair[1].change_from(&pair[0]) < -0.5).expect("an end");
        assert!(end[1].from.abs_diff(ends as usize) <= 1, "{found:?}");
        assert!((end[1].mean / end[0].mean - 0.1).abs() < 0.01, "{found:?}");
    }
}

/// In 400 series with one step of two deviations, the places that hold 95 % held the true one.
#[test]
fn the_place_of_a_step_is_among_the_likely_ones() {
    let mut noise = Noise(5);
    let (mut first, mut held) = (0, 0);
    for trial in 0..400 {
        let at = 3 + trial % 9;
        let series: Vec<f64> = (0..15).map(|i| noise.normal() + if i >= at { 2.0 } else { 0.0 }).collect();
        let places = places_of_step(&series);
        assert!((places.iter().map(|(_, part)| part).sum::<f64>() - 1.0).abs() < 1e-9);
        first += usize::from(places[0].0 == at);
        let mut sum = 0.0;
        let likely = places.iter().take_while(|(_, part)| {
            let is_needed = sum < 0.95;
            sum += part;
            is_needed
        });
        held += usize::from(likely.into_iter().any(|(place, _)| *place == at));
    }
    assert!(first > 200, "{first} of 400 named");
    assert!((370..=400).contains(&held), "{held} of 400 held");
}

#[test]
fn a_step_without_noise_has_one_place() {
    assert!(places_of_step(&[1.0, 2.0]).is_empty());
    let places = places_of_step(&[5.0, 5.0, 5.0, 6.0, 6.0]);
    assert_eq!(places[0].0, 3);
    assert!(places[0].1 > 0.999, "{places:?}");
}
