//! Host, versions, settings per arm with their differences, and the layout of the experiment.

use std::collections::{BTreeMap, BTreeSet};

use results::Table;
use spec::plan::Plan;
use spec::{ArmRecord, ExperimentRecord, Host, MeasuredTarget, OrderScheme, RunEvent, Setting};

use crate::block::Block;
use crate::in_force::{InForce, NOT_STORED};
use crate::numbers;
use results::ReportData;
use results::data::when;

pub(super) fn blocks(data: &ReportData) -> Vec<Block> {
    let tables = [
        facts("Host", host(&data.host), &data.host.facts),
        facts("Target", target(&data.target), &data.target.versions),
        facts("Experiment", layout(data), &BTreeMap::new()),
    ];
    let facts =
        Block::group("pair", tables.into_iter().filter(|table| !table.rows.is_empty()).map(Block::from));
    facts.into_iter().chain(arms(&data.experiment)).chain(servers(data)).chain(in_force(data)).collect()
}

/// Where a plan places arms; empty if nothing was decided.
fn arm_placement(plan: Option<&Plan>) -> String {
    let Some(arm_placement) = plan.and_then(|plan| plan.decisions.arm_placement.as_ref()) else {
        return String::new();
    };
    let why = arm_placement.why();
    let Some(copies) = arm_placement.value().copies() else {
        return format!("on the servers as they were prepared: {why}");
    };
    let swap = if copies.swapped { ", which arms swap every round" } else { "" };
    let apart = match copies.apart.is_empty() {
        true => String::new(),
        false => format!(
            "; half-rounds for {}, each arm alone with its server, because arms differ in {}",
            copies.apart.join(", "),
            copies.background.join(", ")
        ),
    };
    format!("side by side on copies{swap}: {why}{apart}")
}

fn ran_on(data: &ReportData) -> BTreeMap<String, BTreeMap<String, BTreeSet<u32>>> {
    let mut found: BTreeMap<String, BTreeMap<String, BTreeSet<u32>>> = BTreeMap::new();
    for run in data.grid_runs() {
        for event in run.events.iter().filter(|event| event.kind == RunEvent::SERVER) {
            let arms = found.entry(event.detail.clone()).or_default();
            arms.entry(run.arm.clone().unwrap_or_default()).or_default().insert(run.round);
        }
    }
    found
}

fn ranges(rounds: &BTreeSet<u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for round in rounds {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *round => *last = *round,
            _ => ranges.push((*round, *round)),
        }
    }
    let words = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// The placement that pgdyno chose, and where processes ran when arms took turns.
fn placement(data: &ReportData) -> String {
    let spread = data.remarks(RunEvent::SPREAD);
    let taking_turns = spread.into_iter().map(|place| format!("arms that took turns: {place}"));
    let chosen = Some(chosen_placement(&data.experiment)).filter(|chosen| !chosen.is_empty());
    chosen.into_iter().chain(taking_turns).collect::<Vec<_>>().join("; ")
}

fn chosen_placement(experiment: &ExperimentRecord) -> String {
    let chosen = experiment.plan.plan().and_then(|plan| plan.decisions.placement.as_ref());
    chosen.map_or_else(String::new, |chosen| format!("{}: {}", chosen.value().level, chosen.why()))
}

/// Named facts, then stored facts with their names; empty ones are left out.
fn facts<const N: usize>(
    caption: &str,
    named: [(&str, String); N],
    stored: &BTreeMap<String, String>,
) -> Table {
    let mut sheet = Table::captioned(caption).text(["what", "value"]);
    let named = named.iter().map(|(name, value)| (*name, value));
    let stored = stored.iter().map(|(name, value)| (name.as_str(), value));
    for (name, value) in named.chain(stored).filter(|(_, value)| !value.is_empty()) {
        sheet.push([name.into(), value.into()]);
    }
    sheet
}

fn host(host: &Host) -> [(&'static str, String); 4] {
    let known = |is_known: bool, text: String| if is_known { text } else { String::new() };
    [
        ("name", host.name.clone()),
        ("CPU", host.cpu.clone()),
        ("usable cores", known(host.cores > 0, host.cores.to_string())),
        ("usable memory", known(host.memory_bytes > 0, numbers::bytes(host.memory_bytes))),
    ]
}

fn target(target: &MeasuredTarget) -> [(&'static str, String); 4] {
    [
        ("kind", target.kind.clone()),
        ("connection", target.dsn_redacted.clone()),
        ("PostgreSQL", target.server_version.clone()),
        ("PostGIS", target.postgis_version.clone().unwrap_or_default()),
    ]
}

type OfTarget = fn(&MeasuredTarget) -> String;

const SERVER_OF_ARM: [(&str, OfTarget); 3] = [
    ("server", |target| target.dsn_redacted.clone()),
    ("PostgreSQL", |target| target.server_version.clone()),
    ("PostGIS", |target| target.postgis_version.clone().unwrap_or_default()),
];

/// Different lengths listed one by one, at most.
const LENGTHS: usize = 4;

/// How long runs were; of many lengths the shortest and the longest.
fn lengths(seconds: &[f64]) -> String {
    let mut lengths: Vec<String> = seconds.iter().map(|seconds| numbers::duration(*seconds)).collect();
    lengths.dedup();
    match lengths.as_slice() {
        [first, .., last] if lengths.len() > LENGTHS => format!("{first} to {last}"),
        few => few.join(", "),
    }
}

fn layout(data: &ReportData) -> [(&'static str, String); 13] {
    let experiment = &data.experiment;
    let plan = experiment.plan.plan();
    let order = match experiment.order_scheme {
        OrderScheme::Pairs => "pairs: the arms of a cell next to each other, order swapped every round",
        OrderScheme::HalfRounds if plan.is_some_and(|plan| plan.copies().is_some()) => {
            "pairs where arms stand side by side, else half-rounds; order swapped every round"
        }
        OrderScheme::HalfRounds => {
            "half-rounds: all cells in one arm, then in the next, order swapped every round"
        }
        OrderScheme::Sets => {
            "not interleaved: a person set the level before each set, and its runs followed one another"
        }
        OrderScheme::Imported => "not interleaved: imported results, in the order they were given",
        OrderScheme::Apart => "not interleaved: two experiments, each measured at its own time",
        OrderScheme::Single => "single: nothing is compared",
    };
    let or_none = |text: Option<&str>| text.unwrap_or("none").to_owned();
    let mut lengths_s: Vec<f64> = data.grid_runs().map(|run| run.measured_s).collect();
    lengths_s.sort_by(f64::total_cmp);
    let invocations: BTreeSet<_> = data.runs.iter().map(|run| run.invocation).collect();
    [
        ("name", experiment.name.clone()),
        ("begun", when(&experiment.created_at)),
        ("rounds planned", experiment.rounds.to_string()),
        ("order", order.to_owned()),
        ("arms stand", arm_placement(plan)),
        ("compared factor", or_none(experiment.compare_factor.as_deref())),
        ("base", or_none(data.base())),
        ("margin", numbers::percent(experiment.margin)),
        ("run length", lengths(&lengths_s)),
        ("placement", placement(data)),
        ("invocations", invocations.len().to_string()),
        ("seed", experiment.seed.to_string()),
        ("plan", experiment.hash.chars().take(16).collect()),
    ]
}

/// The settings of each arm, and which of them weaken crash safety.
fn arms(experiment: &ExperimentRecord) -> Vec<Block> {
    let arms = &experiment.arms;
    let names: BTreeSet<&String> = arms.iter().flat_map(|arm| arm.settings.keys()).collect();
    if names.is_empty() {
        return Vec::new();
    }
    // For factors other than settings, their levels are shown.
    let (head, what, caption) = match experiment.compare_factor.as_deref() {
        None | Some("settings") => {
            ("Settings per arm", "setting", "What each arm sets; empty: not set by it")
        }
        Some(_) => ("The arms", "factor", "What each arm is"),
    };
    let mut table = Table::captioned(caption).text([what]).text(arms.iter().map(|arm| &arm.name));
    let mut line = |name: &str, of: &dyn Fn(&ArmRecord) -> String| {
        table.push([name.into()].into_iter().chain(arms.iter().map(|arm| of(arm).into())));
    };
    for name in names {
        line(name, &|arm| arm.settings.get(name).cloned().unwrap_or_default());
    }
    if arms.iter().any(|arm| arm.target.is_some()) {
        for (name, of) in SERVER_OF_ARM {
            line(name, &|arm| arm.target.as_ref().map_or(String::new(), of));
        }
    }
    let weak = arms.iter().filter(|arm| !arm.unsafe_settings.is_empty()).map(|arm| {
        Block::notice(format!("{} weakens crash safety: {}.", arm.name, arm.unsafe_settings.join(", ")))
    });
    [Block::Heading(head.to_owned()), table.into()].into_iter().chain(weak).collect()
}

fn servers(data: &ReportData) -> Option<Block> {
    let ran_on = ran_on(data);
    let arms: BTreeSet<&String> = ran_on.values().flat_map(BTreeMap::keys).collect();
    let caption = "What ran on what: rounds of each arm on each server";
    let named = |arm: &&String| if arm.is_empty() { "all".to_owned() } else { (*arm).clone() };
    let mut table = Table::captioned(caption).text(["server"]).text(arms.iter().map(named));
    for (server, rounds) in &ran_on {
        let cell = |arm: &&String| rounds.get(*arm).map(ranges).unwrap_or_default().into();
        table.push([server.into()].into_iter().chain(arms.iter().map(cell)));
    }
    (!table.rows.is_empty()).then(|| table.into())
}

/// What the server reported: settings that differ between arms, then non-default ones.
fn in_force(data: &ReportData) -> Vec<Block> {
    let InForce { arms, different, changed, is_known } = InForce::of(data);
    let mut blocks = Vec::new();
    if !different.is_empty() {
        let caption = "In force, as the server reported it: settings that differ between arms";
        blocks.push(settings(caption, &different, &arms, "differs").into());
    }
    if !changed.is_empty() {
        let alike = if arms.len() > 1 { " alike in all arms and" } else { "" };
        let summary = format!("{}{alike} not at the default", numbers::counted(changed.len(), "setting"));
        let table = settings("In force, and not at the default", &changed, &arms[..1], "");
        blocks.extend(Block::details(summary, vec![table.into()]));
    } else if !is_known && !arms.is_empty() {
        blocks.push(Block::remark(format!("Which settings are not at the default is {NOT_STORED}.")));
    }
    blocks
}

type OfArm<'r> = (Option<&'r str>, BTreeMap<&'r str, &'r Setting>);

fn settings(caption: &str, names: &[&str], sets: &[OfArm<'_>], class: &'static str) -> Table {
    let head = |arm: Option<&str>| arm.filter(|_| sets.len() > 1).unwrap_or("value").to_owned();
    let mut table = Table::captioned(caption).text(["setting"]).text(sets.iter().map(|(arm, _)| head(*arm)));
    for name in names {
        let cell = |(_, set): &OfArm<'_>| match set.get(name) {
            Some(setting) => results::CellValue::marked(&setting.value, class),
            None => numbers::ABSENT.into(),
        };
        table.push([(*name).into()].into_iter().chain(sets.iter().map(cell)));
    }
    table
}

#[cfg(test)]
mod tests {
    use spec::plan::{ArmPlacement, Copies, Decision, Plan};

    use super::{arm_placement, ranges};

    #[test]
    fn where_arms_stand_is_told() {
        let copies = Copies {
            apart: vec!["tpcb".into()],
            background: vec!["wal_buffers".into()],
            ..Copies::new(2, true)
        };
        for (stand, wanted) in [
            (None, ""),
            (
                Some(Decision::decided(ArmPlacement::AsTheyAre, "no room")),
                "on the servers as they were prepared: no room",
            ),
            (
                Some(Decision::decided(ArmPlacement::Copies(copies), "they need 1 GB")),
                "side by side on copies, which arms swap every round: they need 1 GB; half-rounds for tpcb, each arm \
                 alone with its server, because arms differ in wal_buffers",
            ),
        ] {
            let mut plan = Plan::default();
            plan.decisions.arm_placement = stand;
            assert_eq!(arm_placement(Some(&plan)), wanted);
        }
    }

    #[test]
    fn rounds_in_a_row_are_one_range() {
        for (rounds, wanted) in [(vec![1], "1"), (vec![1, 3, 5], "1, 3, 5"), (vec![1, 2, 3, 7], "1-3, 7")] {
            assert_eq!(ranges(&rounds.into_iter().collect()), wanted);
        }
    }
}
