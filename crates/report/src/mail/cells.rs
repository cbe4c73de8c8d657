//! The verdict of each cell, a table for each arm.

use std::collections::BTreeSet;

use results::comparison::{ArmComparison, Comparison, Metric};
use results::data::{cell_label, varying};
use results::{CellValue, ReportData, Table};
use stats::Estimate;

use super::WIDTH;
use super::ascii::ascii;
use crate::compared::{indicative, value_of, verdict};
use crate::format::text_of_width;
use crate::lines::wrapped;
use crate::numbers;
use crate::spread::{repeats, spread_in_words};

/// Cells of an arm with a line each; the mail names the file with all of them.
const MOST: usize = 24;
/// Longer names of arms do not fit above a number.
const LONGEST_HEAD: usize = 14;

/// Tables with their captions. Without a comparison: mean and interval of each cell.
pub(super) fn tables(data: &ReportData) -> Vec<String> {
    if data.limits().is_some() {
        return Vec::new();
    }
    let compared = data.comparisons();
    if compared.is_empty() {
        let found = repeats(data, Metric::Tps);
        let table = spread_in_words(&found, Metric::Tps);
        let caption = "Mean of each cell, with its 95 % interval";
        return if found.is_empty() { Vec::new() } else { vec![printed(caption, &table)] };
    }
    let arms = compared.iter().flat_map(|of| of.arms.iter().map(move |arm| (*of, arm)));
    arms.filter(|(_, arm)| !arm.cells.is_empty()).map(|(of, arm)| of_arm(of, arm)).collect()
}

fn of_arm(of: &Comparison, arm: &ArmComparison) -> String {
    let names = [&of.base, &arm.arm].map(|name| ascii(name));
    let heads = match names.iter().all(|name| name.len() <= LONGEST_HEAD) {
        true => names,
        false => ["base", "arm"].map(str::to_owned),
    };
    let mut table =
        Table::default().text(["cell"]).numbers(heads).numbers(["change [95 %]"]).text(["verdict"]);
    let mut factors = varying(arm.cells.iter().map(|cell| &cell.cell));
    // The number of clients is shown even if it is the same in all cells.
    factors.extend(Some("clients".to_owned()).filter(|clients| !factors.contains(clients)));
    let is_several = arm.workload_names().len() > 1;
    for cell in arm.cells.iter().take(MOST) {
        let levels = cell_label(&cell.cell, &factors);
        let workload = Some(&cell.cell.workload).filter(|_| is_several || levels.is_empty());
        let parts = workload.cloned().into_iter().chain(Some(levels).filter(|levels| !levels.is_empty()));
        table.push([
            parts.collect::<Vec<_>>().join(", ").into(),
            value_of(cell, of.metric, cell.base).into(),
            value_of(cell, of.metric, cell.new).into(),
            cell.estimate.as_ref().map_or(numbers::ABSENT.to_owned(), change).into(),
            verdict(cell.verdict, of.margin).into(),
        ]);
    }
    let what = if arm.cells.iter().all(|cell| cell.job) { "time from start to end" } else { of.noun() };
    let from = if of.paired { "pairs of the same round" } else { "all runs" };
    // It is the same for all cells that have as many rounds.
    let doubts: BTreeSet<&str> =
        arm.cells.iter().filter_map(|cell| cell.estimate.as_ref().and_then(indicative)).collect();
    let doubts: String = doubts.iter().map(|doubt| format!("; {doubt}")).collect();
    let caption = format!("{} against {}: {what}, changes from {from}{doubts}", arm.arm, of.base);
    let more = arm.cells.len().saturating_sub(MOST);
    let more = (more > 0).then(|| format!("and {}\n", numbers::counted(more, "more cell")));
    printed(&caption, &table) + &more.unwrap_or_default()
}

/// The table is made from ASCII, so that its columns stay aligned.
fn printed(caption: &str, table: &Table) -> String {
    let mut table = table.clone();
    for value in table.rows.iter_mut().flatten() {
        if let CellValue::Text(text) = value {
            *text = ascii(text);
        }
    }
    for column in &mut table.columns {
        column.name = ascii(&column.name);
    }
    wrapped(&ascii(caption), WIDTH) + &text_of_width(&table, WIDTH)
}

fn change(of: &Estimate) -> String {
    numbers::change_with_interval(of.change_pct(), of.interval_pct())
}
