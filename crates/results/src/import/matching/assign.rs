//! Which log belongs to which report, where each fits several.

use std::collections::BTreeMap;

/// Squared standard errors by which an assignment must be better than the next one: odds of 20 to 1.
const CLEARLY: f64 = 6.0;

/// Pairs of a report and a log that fit, with their distance.
pub(in crate::import) type Distances = BTreeMap<(usize, usize), f64>;

/// The nearest log of each report, each log once: no exchange of two is nearer.
pub(in crate::import) fn nearest(distances: &Distances) -> BTreeMap<usize, usize> {
    let mut sorted: Vec<(&(usize, usize), &f64)> = distances.iter().collect();
    sorted.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let mut chosen: BTreeMap<usize, usize> = BTreeMap::new();
    for ((report, log), _) in sorted {
        if !chosen.contains_key(report) && chosen.values().all(|taken| taken != log) {
            chosen.insert(*report, *log);
        }
    }
    while let Some((one, other)) = exchange(&chosen, distances, 0.0) {
        let (a, b) = (chosen[&one], chosen[&other]);
        chosen.insert(one, b);
        chosen.insert(other, a);
    }
    chosen
}

/// Two reports whose logs may be each other's: exchanged, they are less than this farther.
fn exchange(chosen: &BTreeMap<usize, usize>, distances: &Distances, farther: f64) -> Option<(usize, usize)> {
    let pairs = chosen.iter().flat_map(|one| chosen.range(one.0 + 1..).map(move |other| (one, other)));
    pairs.into_iter().find_map(|((one, a), (other, b))| {
        let now = distances.get(&(*one, *a))? + distances.get(&(*other, *b))?;
        let exchanged = distances.get(&(*one, *b))? + distances.get(&(*other, *a))?;
        // Not for a difference of rounding: exchanging ends.
        (exchanged < now + farther - 1e-9).then_some((*one, *other))
    })
}

/// A report and two logs, or two reports and a log, between which nothing decides: reports, then logs.
pub(in crate::import) fn undecided(
    chosen: &BTreeMap<usize, usize>,
    distances: &Distances,
) -> Option<(Vec<usize>, Vec<usize>)> {
    if let Some((one, other)) = exchange(chosen, distances, CLEARLY) {
        return Some((vec![one, other], vec![chosen[&one], chosen[&other]]));
    }
    distances.iter().find_map(|((report, log), distance)| {
        let own = chosen.get(report);
        let taken = chosen.iter().find(|(_, taken)| *taken == log);
        match (own, taken) {
            // Another log is left over that is as near.
            (Some(own), None) if *distance < distances[&(*report, *own)] + CLEARLY => {
                Some((vec![*report], vec![*own, *log]))
            }
            (None, Some((owner, _))) if *distance < distances[&(*owner, *log)] + CLEARLY => {
                Some((vec![*owner, *report], vec![*log]))
            }
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distances(rows: &[&[f64]]) -> Distances {
        let cell = |report: usize, log: usize, far: f64| far.is_finite().then_some(((report, log), far));
        rows.iter()
            .enumerate()
            .flat_map(|(report, row)| {
                row.iter().enumerate().filter_map(move |(log, far)| cell(report, log, *far))
            })
            .collect()
    }

    #[test]
    fn the_best_assignment_is_taken_and_doubts_are_known() {
        const NO: f64 = f64::INFINITY;
        for (rows, wanted, is_decided) in [
            // The nearest pair alone would make the other one far.
            (&[&[1.0, 0.5][..], &[30.0, 2.0]][..], &[0, 1][..], true),
            (&[&[0.5, 9.0], &[9.0, 0.5]], &[0, 1], true),
            (&[&[0.5, 1.0], &[1.0, 0.5]], &[0, 1], false),
            (&[&[0.5, NO], &[1.0, 0.5]], &[0, 1], true),
            (&[&[3.0, 0.5, 20.0]], &[1], false),
            (&[&[30.0, 0.5, 20.0]], &[1], true),
            (&[&[0.5], &[1.0]], &[0], false),
            (&[&[NO, 0.1, 9.0], &[0.1, NO, NO], &[9.0, 9.0, 0.1]], &[1, 0, 2], true),
        ] {
            let distances = distances(rows);
            let chosen = nearest(&distances);
            assert_eq!(chosen.values().copied().collect::<Vec<_>>(), wanted, "{rows:?}");
            assert_eq!(undecided(&chosen, &distances).is_none(), is_decided, "{rows:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn an_assignment_always_comes_to_an_end(rows in proptest::collection::vec(proptest::collection::vec(0.0..9.0_f64, 4), 1..5)) {
            let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
            let distances = distances(&rows);
            let chosen = nearest(&distances);
            proptest::prop_assert_eq!(chosen.len(), rows.len().min(4));
            let _ = undecided(&chosen, &distances);
        }
    }
}
