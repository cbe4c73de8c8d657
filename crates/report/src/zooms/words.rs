//! The answer as text: at which zoom arms differ, and which zoom takes the time.

use std::collections::BTreeMap;

use results::comparison::Cell;
use results::comparison::zooms::ZoomComparison;
use spec::{Counts, Run, ScriptRecord, Validity};
use stats::Verdict;

use super::few::{self, ranges};
use super::names::{is_of, named, of_several};
use super::{ZoomFigures, ZoomsOfArm, ZoomsOfCell, is_of_map};
use crate::compared::indicative;
use crate::numbers;
use results::ReportData;
use results::data::cell_text;

/// Zooms listed by name, at most.
const MOST: usize = 3;

/// A sentence for each arm of a cell: its time against the base by zoom, and which zoom takes its time.
pub(crate) fn answers(of: &ZoomsOfCell) -> Vec<String> {
    of.arms.iter().filter_map(|own| answer(of, own)).collect()
}

/// A line for each arm, for the cell and zoom where it differs most from the base; empty if there is only
/// one zoom.
pub(crate) fn summary(data: &ReportData) -> Vec<String> {
    let cells = ZoomsOfCell::all(data);
    let Some(base) = cells.iter().find_map(|of| of.base.clone()) else {
        let all = cells.iter().flat_map(|of| of.arms.iter().map(move |own| (of, own)));
        let alone = all
            .filter_map(|(of, own)| Some(format!("tiles{}: {}", of_several(&cells, of), most_of_time(own)?)));
        return few::summary(&cells, None).into_iter().chain(alone.take(1)).collect();
    };
    let few = data.arms().into_iter().flat_map(|arm| few::summary(&cells, arm));
    let others = data.arms().into_iter().flatten().filter(|arm| *arm != base);
    let (mut sure, mut unsure) = (Vec::new(), Vec::new());
    for (arm, (of, most)) in others.filter_map(|arm| Some((arm, farthest(&cells, arm)?))) {
        let time = of.arms.iter().find(|own| own.arm.as_deref() == Some(arm)).and_then(most_of_time);
        match most.verdict {
            verdict if verdict.is_change() => {
                let time = time.map(|said| format!("; {said}")).unwrap_or_default();
                let (cell, zoom) = (of_several(&cells, of), named(of, most));
                sure.push(format!(
                    "tiles{cell}: {arm} differs most from {base} at {zoom}: {}{time}",
                    as_long(most)
                ));
            }
            _ => unsure.push((arm, of, time)),
        }
    }
    sure.extend(not_told_apart(&cells, &base, &unsure));
    few.chain(sure).collect()
}

/// The place where an arm surely differs most from the base; else its first zoom. `None` if there is only
/// one zoom.
fn farthest<'c>(cells: &'c [ZoomsOfCell], arm: &str) -> Option<(&'c ZoomsOfCell, &'c ZoomComparison)> {
    let whole = |of: &ZoomsOfCell| of.changes.iter().filter(|change| is_of(change, arm)).count();
    cells
        .iter()
        .filter(|of| whole(of) > 1)
        .flat_map(|of| of.changes.iter().filter(|own| is_of(own, arm)).map(move |own| (of, own)))
        .filter(|(_, own)| own.verdict.is_change())
        .max_by(|(_, one), (_, other)| size(one).total_cmp(&size(other)))
        .or_else(|| {
            let of = cells.iter().find(|of| whole(of) > 1)?;
            Some((of, of.changes.iter().find(|change| is_of(change, arm))?))
        })
}

/// One line for all arms that differ at no zoom; with a single arm also which zoom takes the time.
///
/// Arms whose few requests are all slower or all faster than the base's have another line.
fn not_told_apart(
    cells: &[ZoomsOfCell],
    base: &str,
    arms: &[(&str, &ZoomsOfCell, Option<String>)],
) -> Option<String> {
    let is_apart = |arm: &str| {
        cells.iter().flat_map(|of| &of.changes).any(|own| is_of(own, arm) && own.is_few() && own.is_apart())
    };
    let arms: Vec<_> = arms.iter().filter(|(arm, ..)| !is_apart(arm)).collect();
    let (_, of, time) = arms.first()?;
    // That holds for all cells; the time is from one.
    let (any, cell) = match cells.len() {
        1 => ("", String::new()),
        _ => (" of any cell", format!("{}: ", cell_text(&of.cell))),
    };
    let time = time.as_ref().filter(|_| arms.len() == 1);
    let time = time.map(|said| format!("; {cell}{said}")).unwrap_or_default();
    let names: Vec<&str> = arms.iter().map(|(arm, ..)| *arm).collect();
    let takes = if names.len() == 1 { "takes" } else { "take" };
    Some(format!(
        "tiles: no zoom{any} at which {} surely {takes} longer or shorter than {base}{time}",
        names.join(", ")
    ))
}

fn size(change: &ZoomComparison) -> f64 {
    change.judged().map_or(0.0, |of| of.log_ratio.abs())
}

fn answer(of: &ZoomsOfCell, arm: &ZoomsOfArm) -> Option<String> {
    let time = most_of_time(arm);
    let name = arm.arm.as_deref().unwrap_or(&of.cell.workload);
    let base = of.base.as_deref().filter(|base| arm.arm.as_deref() != Some(*base));
    let changes = base.and_then(|base| changes(of, name, base));
    match (changes, time) {
        (Some(changes), Some(time)) => Some(format!("{changes}; {time}.")),
        (Some(changes), None) => Some(format!("{changes}.")),
        (None, Some(time)) => Some(format!("{name}: {time}.")),
        (None, None) => None,
    }
}

/// `new.sql takes 2.1 times as long [1.9, 2.4] as old.sql at z12; the same within 3 % at z15`.
fn changes(of: &ZoomsOfCell, arm: &str, base: &str) -> Option<String> {
    let own: Vec<&ZoomComparison> = of.changes.iter().filter(|change| is_of(change, arm)).collect();
    let with = |wanted: fn(Verdict) -> bool| -> Vec<&ZoomComparison> {
        own.iter().copied().filter(|own| own.mean.is_some() && wanted(own.verdict)).collect()
    };
    let mut surely = with(Verdict::is_change);
    surely.sort_by(|one, other| size(other).total_cmp(&size(one)));
    let places =
        |zooms: &[&ZoomComparison]| zooms.iter().map(|own| named(of, own)).collect::<Vec<_>>().join(", ");
    let mut said: Vec<String> = surely
        .iter()
        .take(MOST)
        .enumerate()
        .map(|(at, own)| {
            let than = if at == 0 { format!(" as with {base}") } else { String::new() };
            format!("{}{than} at {}", as_long(own), named(of, own))
        })
        .collect();
    let mut more: Vec<&ZoomComparison> = surely.into_iter().skip(MOST).collect();
    more.sort_by_key(|own| own.place);
    let (longer, shorter): (Vec<_>, Vec<_>) =
        more.into_iter().partition(|own| own.judged().is_some_and(|of| of.log_ratio > 0.0));
    for (word, zooms) in [("longer", longer), ("shorter", shorter)] {
        if !zooms.is_empty() {
            said.push(format!("{word}, too, at {}", places(&zooms)));
        }
    }
    let [same, unclear] = [with(|verdict| verdict == Verdict::Same), with(|verdict| !verdict.is_decided())];
    let (few, unclear): (Vec<_>, Vec<_>) = unclear.into_iter().partition(|own| own.is_few());
    let none: Vec<&ZoomComparison> = own.iter().copied().filter(|own| own.mean.is_none()).collect();
    if !same.is_empty() {
        said.push(format!("the same within {} at {}", numbers::percent(of.margin), places(&same)));
    }
    if !unclear.is_empty() {
        said.push(format!("not told apart at {}", places(&unclear)));
    }
    said.extend(few.into_iter().map(|own| format!("few requests at {}", ranges(of, own, base))));
    if !none.is_empty() {
        said.push(format!("not requested in both at {}", places(&none)));
    }
    (!said.is_empty()).then(|| format!("A tile with {arm}: {}", said.join("; ")))
}

/// `2.1 times as long [1.9, 2.4]`; of medians, that a few requests rule the mean.
fn as_long(change: &ZoomComparison) -> String {
    let Some(judged) = change.judged() else { return numbers::ABSENT.to_owned() };
    let said = numbers::longer(judged.change_pct(), judged.interval_pct());
    let said = if change.verdict == Verdict::Differs { format!("{said}, measured apart,") } else { said };
    let said = if change.by_median { format!("{said}, by medians{}", beside(change)) } else { said };
    indicative(&judged).map_or(said.clone(), |why| format!("{said} ({why})"))
}

/// What the means say, which a few requests rule.
fn beside(change: &ZoomComparison) -> String {
    let mean = change.mean.map(|mean| numbers::longer(mean.change_pct(), None));
    mean.map_or_else(String::new, |mean| {
        format!(" (the slowest 1 % takes most of the time: {mean} by means)")
    })
}

/// `z12 takes 64 % of its time with 20 % of its tiles`, and which zoom is the slowest. Zooms that take nearly as much
/// are named with it. `None` if there is only one zoom, or if none stands out.
fn most_of_time(arm: &ZoomsOfArm) -> Option<String> {
    let share = |zoom: &&ZoomFigures| zoom.time_share.unwrap_or(0.0);
    let most = arm.whole().max_by(|one, other| share(one).total_cmp(&share(other)))?;
    let named: Vec<&ZoomFigures> = arm.whole().filter(|zoom| share(zoom) >= NEARLY * share(&most)).collect();
    let slowest = few::slowest(arm, most);
    if arm.whole().count() == 1 || named.len() == arm.whole().count() {
        return slowest.filter(|_| arm.whole().count() > 1);
    }
    let time: f64 = named.iter().map(share).sum();
    let tiles = named.iter().map(|zoom| zoom.tiles_share).sum::<Option<f64>>()?;
    let names: Vec<String> = named.iter().map(|zoom| arm.named(zoom)).collect();
    let (names, verb) = match &names[..] {
        [all @ .., last] if !all.is_empty() => (format!("{} and {last}", all.join(", ")), "take"),
        _ => (names.concat(), "takes"),
    };
    let said = format!(
        "{names} {verb} {} of its time with {} of its tiles",
        whole_percent(time),
        whole_percent(tiles)
    );
    let slowest = slowest.map(|slowest| format!("{slowest}; ")).unwrap_or_default();
    Some(format!("{slowest}{said}"))
}

/// A zoom with this share of the longest time takes nearly as much.
const NEARLY: f64 = 0.75;

/// A remark on times of tiles if quads of slices do not count; `None` if all do. Tiles are counted by run,
/// so those of such quads cannot be excluded.
pub(crate) fn void_quads(data: &ReportData) -> Option<String> {
    // The arms of a round share its quads.
    let mut rounds: BTreeMap<(Cell, u32), (usize, usize)> = BTreeMap::new();
    for run in data.grid_runs().filter(|run| is_of_map(run) && run.validity != Validity::Invalid) {
        rounds.insert((Cell::of(run), run.round), run.quads());
    }
    let (quads, void) = rounds.values().fold((0, 0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
    (void > 0).then(|| {
        format!(
            "{} of {} of four slices do not count, because the last transactions took too long to end: the throughput leaves them out, times of tiles have them in.",
            numbers::count(void as u64),
            numbers::counted(quads, "group")
        )
    })
}

pub(crate) fn caveats(data: &ReportData) -> Vec<String> {
    views(data).into_iter().chain(void_quads(data)).collect()
}

/// If users pan and zoom, a request is a view: its time is the time of its last tile.
pub(crate) fn are_views(data: &ReportData) -> bool {
    let is_view = |script: &&ScriptRecord| {
        let counts = Counts::of(&script.counts);
        script.part.as_ref().is_some_and(|part| part.cached.is_none()) && counts.queries > counts.ok
    };
    let asks_for_views = |run: &Run| run.scripts.iter().any(|script| is_view(&script));
    data.grid_runs().chain(data.runs_beside()).any(asks_for_views)
}

fn views(data: &ReportData) -> Option<String> {
    are_views(data).then(|| {
        "A request is a view here, and ends with its last tile: times and throughput are of views, bytes, empty ones and features of tiles. \
         Single tiles have their own times in the map and in the table of tiles."
            .to_owned()
    })
}

pub(crate) fn whole_percent(share: f64) -> String {
    format!("{} %", numbers::fixed(share * 100.0, 0))
}
