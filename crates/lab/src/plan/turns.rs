//! How the arms of a cell take turns, and the texts about it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use spec::RunEvent;

use super::{Plan, PlannedRun, Slices, burden, cells, levels};
use crate::measure::{LONGEST, SHORTEST, Turns, USUAL};
use crate::setup::Placement;

pub(super) fn warmup_of(plan: &Plan, run: &PlannedRun) -> f64 {
    turns(plan, run).map_or_else(|| levels::warmup_of(&plan.content, run), |turns| turns.warmup.as_secs_f64())
}

/// How the arms of a run's cell take turns; `None` if they run one after the other.
pub(crate) fn turns(plan: &Plan, run: &PlannedRun) -> Option<Turns> {
    let slicing = plan.slicing.as_ref()?;
    if run.beside || !plan.has_arms_beside(run) || slicing.uncut.contains_key(&run.workload) {
        return None;
    }
    let measure = &plan.content.measure;
    Some(Turns {
        // Without a warm-up the length of transactions would be unknown.
        warmup: Duration::from_secs_f64(levels::warmup_of(&plan.content, run)).max(USUAL),
        duration: Duration::from_secs_f64(measure.duration_s),
        length: match measure.slices {
            Some(Slices::Length(length_s)) => {
                Some(Duration::from_secs_f64(length_s).clamp(SHORTEST, LONGEST))
            }
            _ => None,
        },
        strict: run.round == 1,
        spread: !plan.chooses_placement()
            && plan.placement.as_ref().is_some_and(|chosen| chosen.placement == Placement::default()),
    })
}

/// The chosen placement, the reason, and what it means where arms take turns; `None` without a choice.
pub(crate) fn placement_words(plan: &Plan) -> Option<String> {
    let chosen = plan.placement.as_ref()?;
    let spread = plan.runs.iter().any(|run| turns(plan, run).is_some_and(|turns| turns.spread));
    let by_turns = match spread {
        true => {
            "; where arms take turns, client threads and server processes are on the CPUs by turns, alike for all arms"
        }
        false => "",
    };
    Some(format!("{}; {}{by_turns}", chosen.words(), chosen.why))
}

/// A note on how a run's arm takes turns, or does not: the kind of an event, and its text.
pub(crate) fn told_of_turns(plan: &Plan, run: &PlannedRun) -> Option<(&'static str, String)> {
    let slicing = plan.slicing.as_ref().filter(|_| !run.beside)?;
    if let Some(why) = slicing.uncut.get(&run.workload) {
        return Some((RunEvent::UNCUT, format!("{}: {why}", run.workload)));
    }
    let forced = plan.content.measure.slices.is_some_and(Slices::is_wanted);
    let burden = burden::burden_of(&plan.content, &run.workload, &slicing.facts).filter(|_| forced)?;
    Some((RunEvent::SLICED_ALL_THE_SAME, burden))
}

/// Whether arms take turns, or why not; empty if the question does not apply.
pub(crate) fn slicing_words(plan: &Plan) -> String {
    let Some(slicing) = &plan.slicing else { return String::new() };
    let workloads: BTreeSet<String> =
        cells::grid(&plan.content).iter().map(|cell| cells::workload_of(&plan.content, cell)).collect();
    let sliced: Vec<&str> =
        workloads.iter().filter(|name| !slicing.uncut.contains_key(*name)).map(String::as_str).collect();
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, why) in &slicing.uncut {
        by_reason.entry(why).or_default().push(name);
    }
    let all = sliced.len() == workloads.len();
    let length = match plan.content.measure.slices {
        Some(Slices::Length(length_s)) => format!("{:.0} ms", length_s * 1e3),
        _ => "0.1 s (more where transactions are long)".to_owned(),
    };
    let cut = match (sliced.is_empty(), all) {
        (true, _) => None,
        (false, true) => Some(format!("arms take turns in slices of {length}, in the order A B B A")),
        (false, false) => Some(format!(
            "arms of {} take turns in slices of {length}, in the order A B B A",
            sliced.join(", ")
        )),
    };
    let uncut = by_reason.into_iter().map(|(why, names)| {
        match sliced.is_empty() && slicing.uncut.len() == names.len() {
            true => format!("no slices: {why}"),
            false => format!("no slices for {}: {why}", names.join(", ")),
        }
    });
    // Compared workloads share one name.
    let writes = &slicing.facts.writes;
    let is_several = |name: &str| !plan.content.workloads.contains_key(name) && !writes.is_empty();
    let writing = sliced.iter().any(|name| writes.contains(*name) || is_several(name));
    let background = (writing && plan.copies().is_some()).then(|| {
        "what the servers do in the background (checkpoints, autovacuum) takes time from all arms alike"
            .to_owned()
    });
    cut.into_iter().chain(background).chain(uncut).collect::<Vec<_>>().join("; ")
}
