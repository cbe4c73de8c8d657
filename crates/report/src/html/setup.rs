//! Host, versions, settings per arm with what differs, and how the experiment was laid out.

use std::collections::{BTreeMap, BTreeSet};

use record::{OrderScheme, Setting};

use super::when;
use crate::data::ReportData;
use crate::markup::Markup;
use crate::numbers;
use crate::sheet::{Cell, Sheet};

pub(super) fn write(data: &ReportData, out: &mut Markup) {
    out.tag("div").class("pair").with(|out| {
        facts("Host", &host(data)).write(out);
        facts("Target", &target(data)).write(out);
        facts("Experiment", &experiment(data)).write(out);
    });
    arms(data, out);
    in_force(data, out);
}

type Facts = Vec<(String, String)>;

fn facts(caption: &str, facts: &Facts) -> Sheet {
    let mut sheet = Sheet::new(caption).text(["what", "value"]);
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
        sheet.row(vec![name.into(), value.into()]);
    }
    sheet
}

fn host(data: &ReportData) -> Facts {
    let host = &data.host;
    let mut facts = vec![
        ("name".to_owned(), host.name.clone()),
        ("CPU".to_owned(), host.cpu.clone()),
        ("usable cores".to_owned(), if host.cores > 0 { host.cores.to_string() } else { String::new() }),
        (
            "usable memory".to_owned(),
            Some(host.memory_bytes).filter(|n| *n > 0).map(numbers::bytes).unwrap_or_default(),
        ),
    ];
    facts.extend(host.facts.iter().map(|(name, value)| (name.clone(), value.clone())));
    facts
}

fn target(data: &ReportData) -> Facts {
    let target = &data.target;
    let mut facts = vec![
        ("kind".to_owned(), target.kind.clone()),
        ("connection".to_owned(), target.dsn_redacted.clone()),
        ("PostgreSQL".to_owned(), target.server_version.clone()),
        ("PostGIS".to_owned(), target.postgis_version.clone().unwrap_or_default()),
    ];
    facts.extend(target.versions.iter().map(|(name, value)| (name.clone(), value.clone())));
    facts
}

fn experiment(data: &ReportData) -> Facts {
    let experiment = &data.experiment;
    let invocations: BTreeSet<u32> = data.runs.iter().map(|run| run.invocation).collect();
    let order = match experiment.order_scheme {
        OrderScheme::Pairs => "pairs: the arms of a cell next to each other, order swapped every round",
        OrderScheme::HalfRounds => {
            "half-rounds: all cells in one arm, then in the next, order swapped every round"
        }
        OrderScheme::Imported => "not interleaved: imported results, in the order they were given",
        OrderScheme::Single => "single: nothing is compared",
    };
    let pairs = [
        ("name", experiment.name.clone()),
        ("begun", when(&experiment.created_at)),
        ("rounds planned", experiment.rounds.to_string()),
        ("order", order.to_owned()),
        ("compared factor", experiment.compare_factor.clone().unwrap_or_else(|| "none".to_owned())),
        ("base", data.base().unwrap_or("none").to_owned()),
        ("margin", numbers::percent(experiment.margin)),
        ("run length", lengths(data)),
        ("invocations", invocations.len().to_string()),
        ("seed", experiment.seed.to_string()),
        ("plan", experiment.hash.chars().take(16).collect()),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Different lengths that are named one by one.
const LENGTHS: usize = 4;

/// How long the runs of the grid were; of many lengths the shortest and the longest.
fn lengths(data: &ReportData) -> String {
    let mut seconds: Vec<f64> = data.grid_runs().map(|run| run.measured_s).collect();
    seconds.sort_by(f64::total_cmp);
    let mut lengths: Vec<String> = seconds.into_iter().map(numbers::duration).collect();
    lengths.dedup();
    match lengths.as_slice() {
        [first, .., last] if lengths.len() > LENGTHS => format!("{first} to {last}"),
        few => few.join(", "),
    }
}

/// What each arm asks for, and what of it weakens crash safety.
fn arms(data: &ReportData, out: &mut Markup) {
    let arms = &data.experiment.arms;
    let names: BTreeSet<&String> = arms.iter().flat_map(|arm| arm.settings.keys()).collect();
    if names.is_empty() {
        return;
    }
    out.tag("h3").text("Settings per arm");
    let mut sheet = Sheet::new("What each arm sets; empty: not set by it")
        .text(["setting"])
        .text(arms.iter().map(|arm| &arm.name));
    for name in names {
        let mut row: Vec<Cell> = vec![name.into()];
        row.extend(arms.iter().map(|arm| Cell::from(arm.settings.get(name).map_or("", String::as_str))));
        sheet.row(row);
    }
    sheet.write(out);
    for arm in arms.iter().filter(|arm| !arm.unsafe_settings.is_empty()) {
        out.tag("p").class("notice").text(format_args!(
            "{} weakens crash safety: {}.",
            arm.name,
            arm.unsafe_settings.join(", ")
        ));
    }
}

/// What the server reported: settings that differ between arms, then those that are not the default.
fn in_force(data: &ReportData, out: &mut Markup) {
    let arms = data.arms();
    let sets: Vec<(String, BTreeMap<&str, &Setting>)> = arms
        .iter()
        .filter_map(|arm| {
            let run = data.grid_runs().find(|run| run.arm.as_deref() == *arm && !run.settings.is_empty())?;
            let set = run.settings.iter().map(|setting| (setting.name.as_str(), setting)).collect();
            Some((arm.unwrap_or("value").to_owned(), set))
        })
        .collect();
    let names: BTreeSet<&str> = sets.iter().flat_map(|(_, set)| set.keys().copied()).collect();
    let differs = |name: &str| {
        sets.iter().map(|(_, set)| set.get(name).map(|setting| &setting.value)).collect::<BTreeSet<_>>().len()
            > 1
    };
    let (different, alike): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| differs(name));
    let changed: Vec<&str> = alike
        .into_iter()
        .filter(|name| {
            sets.iter().any(|(_, set)| set.get(name).is_some_and(|setting| setting.source != "default"))
        })
        .collect();
    if !different.is_empty() {
        let caption = "In force, as the server reported it: settings that differ between arms";
        settings_sheet(caption, &different, &sets, "differs").write(out);
    }
    if !changed.is_empty() {
        out.tag("details").with(|out| {
            let settings = numbers::counted(changed.len(), "setting", "settings");
            let alike = if sets.len() > 1 { " alike in all arms and" } else { "" };
            out.tag("summary").text(format_args!("{settings}{alike} not at the default"));
            let caption = "In force, and not at the default";
            settings_sheet(caption, &changed, &sets[..1], "").write(out);
        });
    }
}

fn settings_sheet(
    caption: &str,
    names: &[&str],
    sets: &[(String, BTreeMap<&str, &Setting>)],
    class: &'static str,
) -> Sheet {
    let columns = sets.iter().map(|(arm, _)| if sets.len() == 1 { "value" } else { arm.as_str() });
    let mut sheet = Sheet::new(caption).text(["setting"]).text(columns);
    for name in names {
        let mut row: Vec<Cell> = vec![name.into()];
        row.extend(sets.iter().map(|(_, set)| match set.get(name) {
            Some(setting) => Cell::classed(&setting.value, class),
            None => numbers::ABSENT.into(),
        }));
        sheet.row(row);
    }
    sheet
}
