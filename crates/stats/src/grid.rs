//! Combines the cells of a grid: one figure.

use crate::paired::{Estimate, mean, paired};

/// One figure for a grid of cells, each measured in the same rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GridEstimate {
    /// Mean log ratio over cells; `n` counts complete rounds, otherwise the fewest pairs of a cell.
    pub estimate: Estimate,
    pub cells: usize,
    /// Whether every cell has every round. If not, the error comes from the cells' own spreads, which misses
    /// what the cells of a round share.
    pub complete: bool,
}

/// The grid's figure from `cells[c][r]`: the log ratio of cell c in round r, or none.
///
/// Complete rounds: the mean over cells per round, then a t interval over rounds, so that the error includes
/// what the cells of a round share (drift). Incomplete: standard errors of the cells added, with
/// Satterthwaite's degrees of freedom (Biometrics Bulletin 1946). `None` without any value.
#[must_use]
pub fn grid(cells: &[Vec<Option<f64>>]) -> Option<GridEstimate> {
    let cells: Vec<&Vec<Option<f64>>> =
        cells.iter().filter(|cell| cell.iter().any(Option::is_some)).collect();
    let rounds = cells.iter().map(|cell| cell.len()).max()?;
    let complete = cells.iter().all(|cell| cell.len() == rounds && cell.iter().all(Option::is_some));
    let estimate = if complete { by_round(&cells, rounds) } else { by_cell(&cells) }?;
    Some(GridEstimate { estimate, cells: cells.len(), complete })
}

fn by_round(cells: &[&Vec<Option<f64>>], rounds: usize) -> Option<Estimate> {
    let per_round: Option<Vec<f64>> = (0..rounds)
        .map(|round| mean(&cells.iter().filter_map(|cell| cell[round]).collect::<Vec<_>>()))
        .collect();
    paired(&per_round?)
}

fn by_cell(cells: &[&Vec<Option<f64>>]) -> Option<Estimate> {
    let parts: Option<Vec<Estimate>> =
        cells.iter().map(|cell| paired(&cell.iter().flatten().copied().collect::<Vec<_>>())).collect();
    sum(&parts?)
}

/// One figure for cells without common rounds: the mean of their estimates, with standard errors added and
/// Satterthwaite's degrees of freedom. It counts as complete, since no rounds can be missing. `None` without
/// a cell.
#[must_use]
pub fn combined(cells: &[Estimate]) -> Option<GridEstimate> {
    Some(GridEstimate { estimate: sum(cells)?, cells: cells.len(), complete: true })
}

fn sum(parts: &[Estimate]) -> Option<Estimate> {
    let weight = 1.0 / parts.len() as f64;
    let log_ratio = parts.iter().map(|part| part.log_ratio * weight).sum();
    let n = parts.iter().map(|part| part.n).min()?;
    let squares: Option<Vec<(f64, f64)>> = parts
        .iter()
        .map(|part| part.standard_error.map(|error| ((weight * error).powi(2), part.df)))
        .collect();
    let Some(squares) = squares else {
        return Some(Estimate { log_ratio, standard_error: None, df: 0.0, n, lines: 1 });
    };
    let total: f64 = squares.iter().map(|(square, _)| square).sum();
    let below: f64 = squares.iter().map(|(square, df)| square * square / df).sum();
    let df = if below == 0.0 { squares.iter().map(|(_, df)| df).sum() } else { total * total / below };
    Some(Estimate { log_ratio, standard_error: Some(total.sqrt()), df, n, lines: 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance, "{a} is not {b} within {tolerance}");
    }

    #[test]
    fn complete_rounds_keep_what_cells_share() {
        // Both cells move together by round: averaging over cells must not hide that noise.
        let cell = vec![Some(0.05), Some(-0.05), Some(0.06), Some(-0.04)];
        let one = grid(std::slice::from_ref(&cell)).unwrap();
        let two = grid(&[cell.clone(), cell]).unwrap();
        assert!(two.complete);
        assert_eq!(one.estimate, two.estimate);
    }

    #[test]
    fn incomplete_rounds_use_the_cells_own_errors() {
        let cells = [vec![Some(0.02), Some(0.04), Some(0.03)], vec![Some(0.01), None, Some(0.03)]];
        let found = grid(&cells).unwrap();
        assert!(!found.complete);
        close(found.estimate.log_ratio, 0.025, 1e-12);
        // Errors by hand: 0.01/√3 and 0.01414/√2 = 0.01; half of each, squared and added.
        close(found.estimate.standard_error.unwrap(), (0.25 * 1e-4 / 3.0 + 0.25 * 1e-4f64).sqrt(), 1e-9);
        assert!(found.estimate.df > 1.0 && found.estimate.df < 3.0);
    }

    #[test]
    fn grids_without_values_have_no_figure() {
        assert!(grid(&[]).is_none());
        assert!(grid(&[vec![None, None]]).is_none());
        let one_round = grid(&[vec![Some(0.1)], vec![Some(0.2)]]).unwrap();
        assert_eq!(one_round.estimate.standard_error, None);
    }
}
