//! Host, versions, settings per arm with what differs, and how the experiment was laid out.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use serde::Serialize;
use spec::plan::{Plan, Standing};
use spec::{Arm, Experiment, Host, OrderScheme, RunEvent, Setting, Target};

use super::View;
use crate::data::{ReportData, when};
use crate::numbers;
use crate::sheet::{Cell, Sheet};

#[derive(Debug, Serialize)]
pub(super) struct Setup {
    host: Host,
    target: Target,
    experiment: Experiment,
    base: Option<String>,
    /// Lengths of the grid's runs, ascending.
    lengths_s: Vec<f64>,
    /// Where clients and servers ran as pgdyno chose, and why; empty where it did not choose.
    placement: String,
    invocations: usize,
    /// What the server reported for each arm: value and source by name.
    in_force: Vec<(Option<String>, BTreeMap<String, Setting>)>,
    /// What ran on what, where there were several servers: server, arm, rounds.
    ran_on: BTreeMap<String, BTreeMap<String, BTreeSet<u32>>>,
}

impl View for Setup {
    fn of(data: &ReportData) -> Option<Self> {
        let in_force = |arm: Option<&str>| {
            let run = data.grid_runs().find(|run| run.arm.as_deref() == arm && !run.settings.is_empty())?;
            let set = run.settings.iter().map(|setting| (setting.name.clone(), setting.clone())).collect();
            Some((arm.map(str::to_owned), set))
        };
        let mut lengths_s: Vec<f64> = data.grid_runs().map(|run| run.measured_s).collect();
        lengths_s.sort_by(f64::total_cmp);
        Some(Self {
            host: data.host.clone(),
            target: data.target.clone(),
            experiment: data.experiment.clone(),
            base: data.base().map(str::to_owned),
            lengths_s,
            placement: placement(data),
            invocations: data.runs.iter().map(|run| run.invocation).collect::<BTreeSet<_>>().len(),
            in_force: data.arms().into_iter().filter_map(in_force).collect(),
            ran_on: ran_on(data),
        })
    }

    fn draw(&self) -> Markup {
        html! {
            div.pair {
                (facts("Host", host(&self.host), &self.host.facts))
                (facts("Target", target(&self.target), &self.target.versions))
                (facts("Experiment", self.layout(), &BTreeMap::new()))
            }
            (self.arms())
            (self.ran_on())
            (self.in_force())
        }
    }
}

/// Where a plan says that arms stand; empty where nothing was to be decided.
fn standing(plan: Option<&Plan>) -> String {
    let copies = match plan.and_then(|plan| plan.standing.as_ref()) {
        None => return String::new(),
        Some(Standing::AsTheyAre { why }) => return format!("on the servers as they were prepared: {why}"),
        Some(Standing::Copies(copies)) => copies,
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
    format!("side by side on copies{swap}: {}{apart}", copies.figures)
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

/// `1-4, 7`.
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

/// The placement that pgdyno chose, and where processes were put when arms took turns.
fn placement(data: &ReportData) -> String {
    let spread = data.remarks(RunEvent::SPREAD);
    let taking_turns = spread.into_iter().map(|place| format!("arms that took turns: {place}"));
    let chosen = Some(chosen_placement(&data.experiment)).filter(|chosen| !chosen.is_empty());
    chosen.into_iter().chain(taking_turns).collect::<Vec<_>>().join("; ")
}

/// What the plan says of the placement that pgdyno chose.
fn chosen_placement(experiment: &Experiment) -> String {
    let chosen = experiment.plan.plan().and_then(|plan| plan.placement.as_ref());
    chosen.map_or_else(String::new, |chosen| format!("{}: {}", chosen.level, chosen.why))
}

/// Named facts, then those that were stored with their names; empty ones are left out.
fn facts<const N: usize>(
    caption: &str,
    named: [(&str, String); N],
    stored: &BTreeMap<String, String>,
) -> Sheet {
    let mut sheet = Sheet::new(caption).text(["what", "value"]);
    let named = named.iter().map(|(name, value)| (*name, value));
    let stored = stored.iter().map(|(name, value)| (name.as_str(), value));
    for (name, value) in named.chain(stored).filter(|(_, value)| !value.is_empty()) {
        sheet.row([name.into(), value.into()]);
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

fn target(target: &Target) -> [(&'static str, String); 4] {
    [
        ("kind", target.kind.clone()),
        ("connection", target.dsn_redacted.clone()),
        ("PostgreSQL", target.server_version.clone()),
        ("PostGIS", target.postgis_version.clone().unwrap_or_default()),
    ]
}

type OfTarget = fn(&Target) -> String;

/// What is said of the server of an arm.
const SERVER_OF_ARM: [(&str, OfTarget); 3] = [
    ("server", |target| target.dsn_redacted.clone()),
    ("PostgreSQL", |target| target.server_version.clone()),
    ("PostGIS", |target| target.postgis_version.clone().unwrap_or_default()),
];

/// Different lengths that are named one by one.
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

impl Setup {
    /// How the experiment was laid out.
    fn layout(&self) -> [(&'static str, String); 13] {
        let experiment = &self.experiment;
        let plan = experiment.plan.plan();
        let order = match experiment.order_scheme {
            OrderScheme::Pairs => "pairs: the arms of a cell next to each other, order swapped every round",
            OrderScheme::HalfRounds if plan.is_some_and(|plan| plan.copies().is_some()) => {
                "pairs where arms stand side by side, else half-rounds; order swapped every round"
            }
            OrderScheme::HalfRounds => {
                "half-rounds: all cells in one arm, then in the next, order swapped every round"
            }
            OrderScheme::Imported => "not interleaved: imported results, in the order they were given",
            OrderScheme::Apart => "not interleaved: two experiments, each measured at its own time",
            OrderScheme::Single => "single: nothing is compared",
        };
        let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
        [
            ("name", experiment.name.clone()),
            ("begun", when(&experiment.created_at)),
            ("rounds planned", experiment.rounds.to_string()),
            ("order", order.to_owned()),
            ("arms stand", standing(plan)),
            ("compared factor", or_none(&experiment.compare_factor)),
            ("base", or_none(&self.base)),
            ("margin", numbers::percent(experiment.margin)),
            ("run length", lengths(&self.lengths_s)),
            ("placement", self.placement.clone()),
            ("invocations", self.invocations.to_string()),
            ("seed", experiment.seed.to_string()),
            ("plan", experiment.hash.chars().take(16).collect()),
        ]
    }

    /// What each arm asks for, and what of it weakens crash safety.
    fn arms(&self) -> Markup {
        let arms = &self.experiment.arms;
        let names: BTreeSet<&String> = arms.iter().flat_map(|arm| arm.settings.keys()).collect();
        if names.is_empty() {
            return html! {};
        }
        // Of factors other than settings it is their levels that are shown.
        let (head, what, caption) = match self.experiment.compare_factor.as_deref() {
            None | Some("settings") => {
                ("Settings per arm", "setting", "What each arm sets; empty: not set by it")
            }
            Some(_) => ("The arms", "factor", "What each arm is"),
        };
        let mut sheet = Sheet::new(caption).text([what]).text(arms.iter().map(|arm| &arm.name));
        for name in names {
            let cell = |arm: &Arm| Cell::from(arm.settings.get(name).map_or("", String::as_str));
            sheet.row([name.into()].into_iter().chain(arms.iter().map(cell)));
        }
        let servers = arms.iter().any(|arm| arm.target.is_some());
        for (name, of) in SERVER_OF_ARM.into_iter().filter(|_| servers) {
            let cell = |arm: &Arm| Cell::from(arm.target.as_ref().map_or(String::new(), of));
            sheet.row([name.into()].into_iter().chain(arms.iter().map(cell)));
        }
        html! {
            h3 { (head) }
            (sheet)
            @for arm in arms.iter().filter(|arm| !arm.unsafe_settings.is_empty()) {
                p.notice { (arm.name) " weakens crash safety: " (arm.unsafe_settings.join(", ")) "." }
            }
        }
    }

    /// Which arm ran on which server, and in which rounds.
    fn ran_on(&self) -> Markup {
        if self.ran_on.is_empty() {
            return html! {};
        }
        let arms: BTreeSet<&String> = self.ran_on.values().flat_map(BTreeMap::keys).collect();
        let caption = "What ran on what: rounds of each arm on each server";
        let named = |arm: &&String| if arm.is_empty() { "all".to_owned() } else { (*arm).clone() };
        let mut sheet = Sheet::new(caption).text(["server"]).text(arms.iter().map(named));
        for (server, rounds) in &self.ran_on {
            let cell = |arm: &&String| Cell::from(rounds.get(*arm).map(ranges).unwrap_or_default());
            sheet.row([server.into()].into_iter().chain(arms.iter().map(cell)));
        }
        html! { (sheet) }
    }

    /// What the server reported: settings that differ between arms, then those that are not the default.
    fn in_force(&self) -> Markup {
        let names: BTreeSet<&str> =
            self.in_force.iter().flat_map(|(_, set)| set.keys().map(String::as_str)).collect();
        let differs = |name: &str| {
            let values = self.in_force.iter().map(|(_, set)| set.get(name).map(|setting| &setting.value));
            values.collect::<BTreeSet<_>>().len() > 1
        };
        let (different, mut changed): (Vec<&str>, Vec<&str>) =
            names.into_iter().partition(|name| differs(name));
        let is_changed = |setting: &Setting| setting.source != "default";
        changed.retain(|name| self.in_force.iter().any(|(_, set)| set.get(*name).is_some_and(is_changed)));
        let differ = "In force, as the server reported it: settings that differ between arms";
        let alike = if self.in_force.len() > 1 { " alike in all arms and" } else { "" };
        html! {
            @if !different.is_empty() { (self.settings(differ, &different, self.in_force.len(), "differs")) }
            @if !changed.is_empty() {
                details {
                    summary { (numbers::counted(changed.len(), "setting")) (alike) " not at the default" }
                    (self.settings("In force, and not at the default", &changed, 1, ""))
                }
            }
        }
    }

    /// Some settings of the first arms.
    fn settings(&self, caption: &str, names: &[&str], arms: usize, class: &'static str) -> Sheet {
        let sets = &self.in_force[..arms];
        let head = |arm: &Option<String>| arm.clone().filter(|_| arms > 1).unwrap_or("value".to_owned());
        let mut sheet = Sheet::new(caption).text(["setting"]).text(sets.iter().map(|(arm, _)| head(arm)));
        for name in names {
            let cell = |set: &BTreeMap<String, Setting>| match set.get(*name) {
                Some(setting) => Cell::classed(&setting.value, class),
                None => numbers::ABSENT.into(),
            };
            sheet.row([(*name).into()].into_iter().chain(sets.iter().map(|(_, set)| cell(set))));
        }
        sheet
    }
}

#[cfg(test)]
mod tests {
    use spec::plan::{Copies, Plan, Standing};

    use super::{ranges, standing};

    #[test]
    fn where_arms_stand_is_told() {
        let copies = Copies {
            apart: vec!["tpcb".into()],
            background: vec!["wal_buffers".into()],
            figures: "they need 1 GB".into(),
            ..Copies::new(2, true)
        };
        for (stand, wanted) in [
            (None, ""),
            (
                Some(Standing::AsTheyAre { why: "no room".into() }),
                "on the servers as they were prepared: no room",
            ),
            (
                Some(Standing::Copies(copies)),
                "side by side on copies, which arms swap every round: they need 1 GB; half-rounds for tpcb, each arm \
                 alone with its server, because arms differ in wal_buffers",
            ),
        ] {
            let plan = Plan { standing: stand, ..Plan::default() };
            assert_eq!(standing(Some(&plan)), wanted);
        }
    }

    #[test]
    fn rounds_in_a_row_are_one_range() {
        for (rounds, wanted) in [(vec![1], "1"), (vec![1, 3, 5], "1, 3, 5"), (vec![1, 2, 3, 7], "1-3, 7")] {
            assert_eq!(ranges(&rounds.into_iter().collect()), wanted);
        }
    }
}
