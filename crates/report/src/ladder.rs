//! Ladders as text and tables.

use results::ladder::{Ladder, Quality, Rung, ladders};
use results::{CellValue, ReportData, Table};
use spec::{Arrivals, Term, figures};

use crate::arrivals::percentiles_of;
use crate::block::Block;
use crate::numbers::{self, real_cell};

/// `reporting, p99 < 250ms, arm gis`: the promise as one writes it for a search of a limit.
pub(crate) fn name(of: &Ladder) -> String {
    let promise = of.promise_ms.map(|ms| Term::words(&format!("{}ms", numbers::as_given(ms)), of.bound));
    let arm = of.arm.as_ref().map(|arm| format!("arm {arm}"));
    // The promise may distinguish ladders.
    let cell = of.cell.split(", ").filter(|part| !part.is_empty() && !part.starts_with("promise "));
    let parts = cell.map(str::to_owned).chain(promise).chain(arm);
    std::iter::once(of.workload.clone()).chain(parts).collect::<Vec<_>>().join(", ")
}

/// The answer of a ladder: where its promise breaks; without one where most is done, and how response times grow.
pub(crate) fn answer(of: &Ladder, with_name: bool) -> String {
    if of.is_judged() {
        return format!("{}: {}", name(of), verdict(of));
    }
    let name = if with_name { name(of) } else { of.workload.clone() };
    let tps = |rung: &&Rung| rung.tps.unwrap_or(0.0);
    let Some(most) = of.rungs.iter().max_by(|one, other| tps(one).total_cmp(&tps(other))) else {
        return format!("{name}: nothing was measured.");
    };
    let p99 = of.rungs.iter().filter_map(|rung| Some((rung_name(rung), rung.percentiles_ns[2]?)));
    let p99: Vec<(String, f64)> = p99.collect();
    let grows = match &p99[..] {
        [(first, low), .., (last, high)] => format!(
            "; p99 is {} with {first} and {} with {last}",
            numbers::latency_ns(*low),
            numbers::latency_ns(*high)
        ),
        _ => String::new(),
    };
    format!("{name} does most with {}: {} tps{grows}.", rung_name(most), numbers::tps(tps(&most)))
}

pub(crate) fn words(of: &Ladder) -> Vec<String> {
    if !of.is_judged() {
        return Vec::new();
    }
    let mut said = vec![verdict(of)];
    said.extend(
        of.ended_by()
            .map(|lacked| format!("The generator ended it there, so the server may hold more ({lacked}).")),
    );
    let one = of.rungs.iter().find(|rung| rung.bad_share.is_some() && rung.of * of.bound < 1.0);
    said.extend(one.map(|rung| {
        format!(
            "With {} transactions ({}) a single bad one passes the bound: longer runs tell more.",
            numbers::count(rung.of as u64),
            rung_name(rung)
        )
    }));
    let split: Vec<String> = of
        .rungs
        .iter()
        .filter(|rung| rung.rounds_broken > 0 && rung.rounds_broken < rung.rounds)
        .map(|rung| format!("{} in {} of {}", rung_name(rung), rung.rounds_broken, rung.rounds))
        .collect();
    if !split.is_empty() {
        said.push(format!("Broken in some rounds only: {}.", split.join("; ")));
    }
    if of.rungs.iter().any(|rung| rung.started_only) {
        said.push(crate::arrivals::STARTED_ONLY.to_owned());
    }
    said
}

fn verdict(of: &Ladder) -> String {
    let bound = numbers::percent(of.bound);
    let at = |quality| of.rungs.iter().find(|rung| rung.quality == quality);
    let bad = |rung: &Rung| {
        let share = rung.bad_share.map_or(numbers::ABSENT.to_owned(), numbers::percent);
        format!("{share} late, skipped, failed or unfinished (bound {bound})")
    };
    let breaks = match at(Quality::BreaksHere) {
        Some(rung) if of.rungs.first() == Some(rung) => {
            format!("Quality is broken from the first rung on, {}: {}.", rung_name(rung), bad(rung))
        }
        Some(rung) => format!("Quality breaks at {}: {}.", rung_name(rung), bad(rung)),
        None => match (named(of, Quality::Kept), of.rungs.len()) {
            (kept, all) if kept.len() == all => {
                format!("Quality holds on every rung, up to {} (bound {bound}).", kept[all - 1])
            }
            (kept, _) if kept.is_empty() => "Nothing can be said of quality.".to_owned(),
            (kept, _) if of.rungs.iter().any(|rung| rung.quality == Quality::Broken) => {
                format!("Quality holds from {} on (bound {bound}).", kept[0])
            }
            (kept, _) => format!("Quality holds at {} (bound {bound}).", kept.join("; ")),
        },
    };
    let more = [
        (Quality::BrokenOnce, "Irregular: broken at ", ", and kept higher up."),
        (Quality::Unknown, "Not known, since no run there is valid: ", "."),
    ];
    let more = more.map(|(quality, before, after)| match named(of, quality) {
        none if none.is_empty() => String::new(),
        some => format!(" {before}{}{after}", some.join("; ")),
    });
    breaks + &more.concat()
}

fn named(of: &Ladder, quality: Quality) -> Vec<String> {
    of.rungs.iter().filter(|rung| rung.quality == quality).map(rung_name).collect()
}

fn table(of: &Ladder) -> Table {
    let are_users = of.rungs.iter().any(|rung| rung.are_users);
    let mut table = Table::captioned(format_args!("Ladder: {}", name(of))).named([
        if are_users { "users" } else { "clients" },
        "rate",
        "tps",
        "mean_us",
        "stddev_us",
        "late_pct",
        "skipped_pct",
        "p50_us",
        "p99_us",
        "quality",
    ]);
    table.optional(["rate", "late_pct", "skipped_pct", "quality"]);
    for rung in &of.rungs {
        let [p50, _, p99] = rung.percentiles_ns.map(micros);
        table.push(vec![
            rung.clients.into(),
            rung.rate.map(numbers::as_given).into(),
            real_cell(rung.tps),
            micros(rung.mean_ns),
            micros(rung.stddev_ns),
            percent(rung.late_share),
            percent(rung.skipped_share),
            p50,
            p99,
            rung.quality.name().map(shown).into(),
        ]);
    }
    table
}

fn shown(quality: &'static str) -> &'static str {
    if quality == "breaks here" { "BREAKS" } else { quality }
}

fn micros(ns: Option<f64>) -> CellValue {
    real_cell(ns.map(|ns| ns / 1e3))
}

fn percent(share: Option<f64>) -> CellValue {
    real_cell(share.map(|share| share * 100.0))
}

/// `12 clients, 12/s`.
fn rung_name(rung: &Rung) -> String {
    let each = if rung.are_users { "user" } else { "client" };
    let clients = numbers::counted(rung.clients as usize, each);
    rung.rate.map_or(clients.clone(), |rate| format!("{clients}, {}/s", numbers::as_given(rate)))
}

/// One line per rung of every ladder, for programs.
#[must_use]
pub fn ladder(data: &ReportData) -> Table {
    let mut table = Table::new([
        "workload",
        "cell",
        "arm",
        figures::PROMISE_MS.name,
        "bound_pct",
        "clients",
        "rate",
        "runs",
        "tps_mean",
        "mean_us",
        "stddev_us",
        "p50_us",
        "p95_us",
        "p99_us",
        figures::LATE.name,
        "late_share_pct",
        figures::SKIPPED.name,
        "skipped_share_pct",
        "bad_share_pct",
        "quality",
        "generator",
        "percentiles_of",
        "invalid",
    ]);
    table.optional([
        "cell",
        "arm",
        figures::PROMISE_MS.name,
        "bound_pct",
        "rate",
        figures::LATE.name,
        figures::SKIPPED.name,
        "generator",
        "invalid",
    ]);
    for of in ladders(data) {
        of.rungs.iter().for_each(|rung| table.push(rung_row(&of, rung)));
    }
    table
}

fn rung_row(of: &Ladder, rung: &Rung) -> Vec<CellValue> {
    let [p50, p95, p99] = rung.percentiles_ns.map(micros);
    let started_only =
        rung.started_only.then(|| percentiles_of(&Arrivals { started_only: true, ..Arrivals::default() }));
    vec![
        of.workload.clone().into(),
        of.cell.clone().into(),
        of.arm.clone().into(),
        real_cell(of.promise_ms),
        real_cell(of.is_judged().then_some(of.bound * 100.0)),
        rung.clients.into(),
        real_cell(rung.rate),
        (rung.runs as u64).into(),
        real_cell(rung.tps),
        micros(rung.mean_ns),
        micros(rung.stddev_ns),
        p50,
        p95,
        p99,
        rung.late.into(),
        percent(rung.late_share),
        rung.skipped.into(),
        percent(rung.skipped_share),
        percent(rung.bad_share),
        rung.quality.name().into(),
        rung.generator.clone().into(),
        started_only.unwrap_or("all").into(),
        rung.invalid.into(),
    ]
}

/// The ladders for people: the rungs of each, and the point at which quality breaks. `judged_only` leaves
/// out ladders without a promise.
#[must_use]
pub fn ladders_in_words(data: &ReportData, judged_only: bool) -> Vec<Block> {
    let shown = ladders(data).into_iter().filter(|ladder| ladder.is_judged() || !judged_only);
    shown.flat_map(|ladder| blocks(&ladder)).collect()
}

pub(crate) fn blocks(of: &Ladder) -> Vec<Block> {
    [table(of).into()].into_iter().chain(words(of).into_iter().map(Block::remark)).collect()
}
