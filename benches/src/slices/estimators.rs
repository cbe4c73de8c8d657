//! Other ways to make one ratio of a round from its quads: what they would have gained on the same slices.

use std::collections::BTreeMap;

use super::stored::Quad;

/// How a round's ln(new / base) is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Of the sums over its quads: what pgdyno does.
    Sums,
    /// The median of its quads' own.
    Median,
    /// The mean of its quads' own, without the lowest and the highest tenth.
    Trimmed,
    /// Of the sums, without the fifth of all quads in which most was stolen: alike for both arms.
    LessStolen,
}

impl Way {
    pub(crate) const ALL: [Self; 4] = [Self::Sums, Self::Median, Self::Trimmed, Self::LessStolen];

    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Sums => "sums over quads (as it is)",
            Self::Median => "median of quads",
            Self::Trimmed => "mean of quads without a tenth at each end",
            Self::LessStolen => "sums without the fifth of quads with most stolen",
        }
    }

    /// Half the width of the 95 % interval over the rounds, percentage points; `None` with fewer than two rounds.
    pub(crate) fn half_width_pct(self, quads: &[Quad]) -> Option<f64> {
        let most = if self == Self::LessStolen { tolerated(quads) } else { f64::INFINITY };
        let mut rounds: BTreeMap<u32, Vec<&Quad>> = BTreeMap::new();
        for quad in quads.iter().filter(|quad| !quad.is_void && quad.steal_pct.unwrap_or(0.0) <= most) {
            rounds.entry(quad.round).or_default().push(quad);
        }
        let ratios: Vec<f64> = rounds.values().filter_map(|quads| self.of_round(quads)).collect();
        let (low, high) = stats::paired(&ratios)?.interval_pct()?;
        Some((high - low) / 2.0)
    }

    fn of_round(self, quads: &[&Quad]) -> Option<f64> {
        let mut own: Vec<f64> = quads.iter().map(|quad| ratio(quad)).collect();
        own.sort_by(f64::total_cmp);
        match self {
            Self::Sums | Self::LessStolen => {
                let (base, new) = quads
                    .iter()
                    .map(|quad| (quad.base, quad.new))
                    .reduce(|sum, quad| (sum.0.plus(quad.0), sum.1.plus(quad.1)))?;
                Some((new.per_us() / base.per_us()).ln())
            }
            Self::Median => super::table::median(&own),
            Self::Trimmed => {
                let cut = own.len().div_ceil(10).min((own.len() - 1) / 2);
                let kept = &own[cut..own.len() - cut];
                Some(kept.iter().sum::<f64>() / kept.len() as f64)
            }
        }
        .filter(|ratio| ratio.is_finite())
    }
}

fn ratio(quad: &Quad) -> f64 {
    (quad.new.per_us() / quad.base.per_us()).ln()
}

/// What four of five quads do not exceed.
fn tolerated(quads: &[Quad]) -> f64 {
    let mut steals: Vec<f64> = quads.iter().filter_map(|quad| quad.steal_pct).collect();
    steals.sort_by(f64::total_cmp);
    steals.get(steals.len() * 4 / 5).copied().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::super::stored::Side;
    use super::*;

    fn quad(round: u32, new: f64, steal_pct: f64) -> Quad {
        let side = |succeeded| Side { succeeded, at_work_us: 1.0 };
        Quad { round, base: side(100.0), new: side(new), is_void: false, steal_pct: Some(steal_pct) }
    }

    /// Two rounds alike but for one quad, in which much was stolen while the new arm was at work.
    #[test]
    fn a_stolen_quad_widens_sums_and_nothing_else() {
        let calm = |round: u32| (0..9).map(move |_| quad(round, 101.0, 1.0));
        let quads: Vec<Quad> =
            calm(1).chain([quad(1, 101.0, 1.0)]).chain(calm(2)).chain([quad(2, 20.0, 60.0)]).collect();
        let widths = Way::ALL.map(|way| way.half_width_pct(&quads).unwrap());
        assert!(widths[0] > 10.0, "{widths:?}");
        assert!(widths[1..].iter().all(|width| *width < 1e-9), "{widths:?}");
    }
}
