//! Cells of an arm that differ from each other by more than their noise, by the levels of the factor that
//! explains it.

use std::collections::{BTreeMap, BTreeSet};

use stats::{Estimate, Heterogeneity, Verdict};

use super::pairs::{Cell, Level};
use super::{ArmComparison, CellComparison, Rule};

/// Share of the differences between cells that one factor must explain; else each cell stands for itself.
const MOST: f64 = 0.5;
const WORKLOAD: &str = "workload";

/// What an arm gains at each level of a factor, or in each cell.
#[derive(Debug, Clone, PartialEq)]
pub struct ByLevels {
    /// The factor that explains most; `None` if none explains enough: then each level is a cell.
    pub factor: Option<String>,
    /// In order; at least two.
    pub levels: Vec<LevelFigure>,
    pub heterogeneity: Heterogeneity,
}

/// The change over the cells of one level.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelFigure {
    /// The level of the factor, or the levels of all factors of a cell that vary.
    pub levels: BTreeMap<String, Level>,
    /// Set if the cells are of several workloads and each stands for itself.
    pub workload: Option<String>,
    /// Of a single cell its own; else the mean over its cells. Adjusted like the cells, which are at least as many.
    pub estimate: Estimate,
    pub verdict: Verdict,
    pub cells: usize,
}

/// What names a level: its workload, if each cell stands for itself, and levels of factors.
type LevelKey = (Option<String>, BTreeMap<String, Level>);

/// Finds the levels for each workload and for the whole grid. Cells must have their verdicts; `lines` is the number
/// of cells that are read together.
pub(super) fn find(arm: &mut ArmComparison, lines: usize, rule: Rule) {
    let of_workloads = arm.workloads.keys().map(|name| {
        let own = arm.cells.iter().filter(|cell| cell.cell.workload == *name);
        Some((name.clone(), by_levels(&own.collect::<Vec<_>>(), lines, rule)?))
    });
    let of_workloads = of_workloads.flatten().collect();
    arm.grid_levels = by_levels(&arm.cells.iter().collect::<Vec<_>>(), lines, rule);
    arm.workload_levels = of_workloads;
}

/// `None` if the cells do not differ by more than their noise, or do so because their workloads differ.
fn by_levels(cells: &[&CellComparison], lines: usize, rule: Rule) -> Option<ByLevels> {
    let cells: Vec<&CellComparison> =
        cells.iter().copied().filter(|cell| !cell.scheduled && cell.estimate.is_some()).collect();
    // The parts of such a cell are its scripts.
    if cells.iter().any(|cell| cell.verdict == Verdict::PartsDiffer) {
        return None;
    }
    let estimates: Vec<Estimate> = cells.iter().filter_map(|cell| cell.estimate).collect();
    let heterogeneity = stats::heterogeneity(&estimates).filter(Heterogeneity::is_beyond_noise)?;
    let varying = varying(&cells);
    let explained = |factor: &String| between(&cells, factor) / heterogeneity.q;
    let best = varying.iter().max_by(|a, b| explained(a).total_cmp(&explained(b)))?;
    let factor = Some(best).filter(|best| explained(best) >= MOST);
    if factor.is_some_and(|factor| factor == WORKLOAD) {
        return None;
    }
    let mut groups: BTreeMap<LevelKey, Vec<&CellComparison>> = BTreeMap::new();
    for cell in &cells {
        let is_named = |name: &String| factor.map_or(varying.contains(name), |factor| factor == name);
        let named = cell.cell.factors.iter().filter(|(name, _)| is_named(name));
        let workload = factor.is_none().then(|| cell.cell.workload.clone());
        let workload = workload.filter(|_| varying.contains(WORKLOAD));
        let levels = named.map(|(name, level)| (name.clone(), level.clone())).collect();
        groups.entry((workload, levels)).or_default().push(cell);
    }
    let levels: Option<Vec<LevelFigure>> = groups
        .into_iter()
        .map(|((workload, levels), own)| {
            let (estimate, verdict) = figure(&own, lines, rule)?;
            Some(LevelFigure { levels, workload, estimate, verdict, cells: own.len() })
        })
        .collect();
    Some(ByLevels { factor: factor.cloned(), levels: levels?, heterogeneity })
}

fn figure(cells: &[&CellComparison], lines: usize, rule: Rule) -> Option<(Estimate, Verdict)> {
    if let [cell] = cells {
        return Some((cell.estimate?, cell.verdict));
    }
    let estimate = rule.mean(cells)?.estimate.among(lines);
    let verdict = rule.verdict(&estimate);
    let differs = cells.iter().any(|cell| cell.verdict.contradicts(verdict));
    Some((estimate, if differs { Verdict::PartsDiffer } else { verdict }))
}

/// Factors that not all cells have at one level, the workload among them.
fn varying(cells: &[&CellComparison]) -> BTreeSet<String> {
    let names: BTreeSet<&String> = cells.iter().flat_map(|cell| cell.cell.factors.keys()).collect();
    let names = names.into_iter().cloned().chain([WORKLOAD.to_owned()]);
    names
        .filter(|name| cells.iter().any(|cell| level(&cell.cell, name) != level(&cells[0].cell, name)))
        .collect()
}

fn level<'c>(cell: &'c Cell, factor: &str) -> Option<&'c str> {
    match factor {
        WORKLOAD => Some(&cell.workload),
        _ => cell.factors.get(factor).map(|level| level.0.as_str()),
    }
}

/// The part of Cochran's Q that is between the levels of a factor (the analysis of subgroups in Borenstein et al.,
/// Introduction to Meta-Analysis, 2009, chapter 19).
fn between(cells: &[&CellComparison], factor: &str) -> f64 {
    let weighted = |cell: &CellComparison| {
        let estimate = cell.estimate?;
        let error = estimate.standard_error.filter(|error| *error > 0.0)?;
        Some((estimate.log_ratio, error.powi(-2)))
    };
    let mut levels: BTreeMap<Option<&str>, (f64, f64)> = BTreeMap::new();
    for cell in cells {
        let Some((value, weight)) = weighted(cell) else { continue };
        let (sum, weights) = levels.entry(level(&cell.cell, factor)).or_default();
        *sum += value * weight;
        *weights += weight;
    }
    let (sum, weights) = levels.values().fold((0.0, 0.0), |all, own| (all.0 + own.0, all.1 + own.1));
    levels.values().map(|own| own.1 * (own.0 / own.1 - sum / weights).powi(2)).sum()
}
