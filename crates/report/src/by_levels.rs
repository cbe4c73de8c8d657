//! An answer whose cells differ by more than their noise, by the levels that explain it.

use results::comparison::{ByLevels, Comparison, LevelFigure};
use results::data::{level_name, level_names};

use crate::compared::{change, verdict_or_invalid};
use crate::numbers;

/// Levels listed in an answer; of more only the extremes are named, as the cells are listed elsewhere.
const MOST: usize = 12;

/// A head, and a phrase for each level: `4 clients: faster, +17 % [12, 22]`.
pub(crate) fn words(of: &Comparison, by: &ByLevels) -> (String, Vec<String>) {
    let p = match by.heterogeneity.p < 0.001 {
        true => "p < 0.001".to_owned(),
        false => format!("p = {}", numbers::fixed(by.heterogeneity.p, 3)),
    };
    let differ = format!("Cells differ by more than their noise ({p})");
    let each = by.levels.iter().map(|level| level.cells).max().unwrap_or(1);
    let each =
        if each > 1 { format!(", each over {}", numbers::counted(each, "cell")) } else { String::new() };
    let head = match &by.factor {
        Some(factor) => format!("{differ}, mostly by {factor}{each}:"),
        None => format!("{differ}, and no factor alone explains it:"),
    };
    let phrase = |level: &LevelFigure| {
        format!(
            "{}: {}, {}",
            level_name(level),
            verdict_or_invalid(level.verdict, of),
            change(&level.estimate)
        )
    };
    if by.levels.len() <= MOST {
        return (head, by.levels.iter().map(phrase).collect());
    }
    let by_change =
        |a: &&LevelFigure, b: &&LevelFigure| a.estimate.log_ratio.total_cmp(&b.estimate.log_ratio);
    let ends = [by.levels.iter().min_by(by_change), by.levels.iter().max_by(by_change)];
    let all = format!("all {}: pgdyno table compare", by.levels.len());
    (head, ends.into_iter().flatten().map(phrase).chain([all]).collect())
}

/// `4 clients +17.2 %, 16 +37.0 %, 64 +25.1 %`; `None` if there are too many.
pub(crate) fn in_short(by: &ByLevels) -> Option<String> {
    let each = level_names(by).into_iter().zip(&by.levels);
    let each = each.map(|(name, level)| format!("{name} {}", numbers::change(level.estimate.change_pct())));
    (by.levels.len() <= MOST).then(|| each.collect::<Vec<_>>().join(", "))
}
