//! A rank test for two sets that were not measured together: a second opinion to Welch's t.

use statrs::distribution::{ContinuousCDF, Normal};

/// Most values per side for the exact test.
const EXACT: usize = 20;

/// Two-sided p of the Mann-Whitney U test (Ann. Math. Stat. 1947); `None` when a side is empty or a value is
/// not a number.
///
/// Exact up to 20 values per side without ties; otherwise the normal approximation with corrections for ties
/// and continuity. Like [`crate::welch`] it cannot separate drift from change.
#[must_use]
pub fn rank_sum_p(base: &[f64], new: &[f64]) -> Option<f64> {
    let values = || base.iter().chain(new);
    if base.is_empty() || new.is_empty() || values().any(|value| value.is_nan()) {
        return None;
    }
    let mut sorted: Vec<f64> = values().copied().collect();
    sorted.sort_by(f64::total_cmp);
    let ties: Vec<usize> = sorted.chunk_by(|a, b| a == b).map(<[f64]>::len).collect();
    let u = lower_u(base, new);
    if ties.len() == sorted.len() && base.len() <= EXACT && new.len() <= EXACT {
        Some(exact_p(u, base.len(), new.len()))
    } else {
        Some(normal_p(u, base.len(), new.len(), &ties))
    }
}

/// The smaller U of both sides: the number of pairs of a value of each side in the rarer order, ties as
/// halves.
fn lower_u(base: &[f64], new: &[f64]) -> f64 {
    let couples = base.iter().flat_map(|base| new.iter().map(move |new| (base, new)));
    let below: f64 = couples
        .map(|(base, new)| match base.total_cmp(new) {
            _ if base == new => 0.5,
            std::cmp::Ordering::Less => 1.0,
            _ => 0.0,
        })
        .sum();
    below.min((base.len() * new.len()) as f64 - below)
}

fn exact_p(u: f64, base: usize, new: usize) -> f64 {
    let counts = orders_by_u(base, new);
    let all: f64 = counts.iter().sum();
    let as_far: f64 = counts.iter().take(u as usize + 1).sum();
    (2.0 * as_far / all).min(1.0)
}

/// The number of orders of `base` + `new` values with U = 0, 1, 2, ... The largest value is of the base, and
/// then above all the new ones, or it is a new one: N(b, n, u) = N(b - 1, n, u - n) + N(b, n - 1, u).
fn orders_by_u(base: usize, new: usize) -> Vec<f64> {
    // One row per number of new values, for the current number of base values.
    let mut rows = vec![vec![1.0]; new + 1];
    for b in 1..=base {
        let mut next: Vec<Vec<f64>> = vec![vec![1.0]];
        for n in 1..=new {
            let count = |row: &[f64], u: Option<usize>| u.and_then(|u| row.get(u)).copied().unwrap_or(0.0);
            let row = (0..=b * n)
                .map(|u| count(&rows[n], u.checked_sub(n)) + count(&next[n - 1], Some(u)))
                .collect();
            next.push(row);
        }
        rows = next;
    }
    rows.pop().unwrap_or_default()
}

fn normal_p(u: f64, base: usize, new: usize, ties: &[usize]) -> f64 {
    let (base, new) = (base as f64, new as f64);
    let all = base + new;
    let tied: f64 = ties.iter().map(|&t| (t as f64).powi(3) - t as f64).sum();
    let variance = base * new / 12.0 * (all + 1.0 - tied / (all * (all - 1.0)));
    if variance <= 0.0 {
        // All values equal: nothing to rank.
        return 1.0;
    }
    let distance = (base * new / 2.0 - u - 0.5).max(0.0);
    2.0 * Normal::standard().sf(distance / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With all of one side above the other only two of the orders are as far out: 2 / C(2n, n).
    #[test]
    fn smallest_p_is_the_published_one() {
        for (n, p) in [(3u32, 0.1), (4, 2.0 / 70.0), (5, 2.0 / 252.0)] {
            let base: Vec<f64> = (0..n).map(f64::from).collect();
            let new: Vec<f64> = (0..n).map(|i| f64::from(i + n)).collect();
            let got = rank_sum_p(&base, &new).unwrap();
            assert!((got - p).abs() < 1e-12, "n {n}: {got}, published {p}");
        }
    }

    /// Hollander & Wolfe's permeability data as in R's `wilcox.test` help, both sides: U = 35 of 50, p = 0.2544.
    #[test]
    fn a_textbook_example() {
        let term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let early = [1.15, 0.88, 0.90, 0.74, 1.21];
        assert!((rank_sum_p(&term, &early).unwrap() - 0.2544).abs() < 1e-4);
    }

    #[test]
    fn all_orders_are_counted() {
        // Of 3 + 2 values there are 10 orders; U = 0..=6 in 1, 1, 2, 2, 2, 1, 1 of them.
        assert_eq!(orders_by_u(3, 2), [1.0, 1.0, 2.0, 2.0, 2.0, 1.0, 1.0]);
        assert_eq!(orders_by_u(10, 10).iter().sum::<f64>(), 184_756.0);
    }

    /// The approximation is near the exact answer where both exist.
    #[test]
    fn the_approximation_is_near() {
        for u in [10.0, 20.0, 35.0, 49.0] {
            let (exact, near) = (exact_p(u, 10, 10), normal_p(u, 10, 10, &[1; 20]));
            assert!((exact - near).abs() < 0.01, "U {u}: {exact} and {near}");
        }
    }

    #[test]
    fn odd_input_has_an_answer_or_none() {
        assert_eq!(rank_sum_p(&[], &[1.0]), None);
        assert_eq!(rank_sum_p(&[f64::NAN], &[1.0]), None);
        assert_eq!(rank_sum_p(&[1.0, 1.0], &[1.0, 1.0]), Some(1.0));
        assert!(rank_sum_p(&[1.0, 2.0, 2.0], &[2.0, 3.0, 4.0]).unwrap() > 0.1);
        assert!(rank_sum_p(&[f64::INFINITY], &[1.0]).is_some());
    }
}
