//! How the arms of a cell take turns, and the texts about it.

use std::collections::BTreeMap;
use std::time::Duration;

use spec::RunEvent;
use spec::plan::{
    ArmPlacement, Content, Decision, Fact, Facts, Placement, Plan, PlannedRun, Slices, Slicing,
};

use super::{burden, setups};
use crate::measure::{LONGEST, SHORTEST, Turns, USUAL, fits};
use crate::setup::Setup;

/// Warm-up of a run of this setup, seconds.
pub(super) fn warmup_s(plan: &Plan, run: &PlannedRun, setup: &Setup) -> f64 {
    let warmup = if takes_turns(plan, run) { setup.warmup.max(USUAL) } else { setup.warmup };
    warmup.as_secs_f64()
}

/// Whether the arms of a run's cell take turns.
pub(crate) fn takes_turns(plan: &Plan, run: &PlannedRun) -> bool {
    let is_cut = |slicing: &Decision<Slicing>| *slicing.value() != Slicing::Uncut;
    !run.beside && plan.slicing(&run.workload).is_some_and(is_cut) && plan.has_arms_beside(run)
}

/// How the arms of a run's cell take turns; `None` if they run one after the other.
pub(crate) fn turns(plan: &Plan, run: &PlannedRun) -> Option<Turns> {
    if !takes_turns(plan, run) {
        return None;
    }
    let measure = &plan.content.measure;
    Some(Turns {
        // Without a warm-up the length of transactions would be unknown.
        warmup: setups::setup(plan, run).warmup.max(USUAL),
        duration: Duration::from_secs_f64(measure.duration_s),
        length: match measure.slices {
            Some(Slices::Length(length_s)) => {
                Some(Duration::from_secs_f64(length_s).clamp(SHORTEST, LONGEST))
            }
            _ => None,
        },
        strict: run.round == 1,
        spread: !plan.chooses_placement()
            && plan.placement().is_some_and(|chosen| chosen.placement == Placement::default()),
        keep: plan.content.keeps_sessions(),
    })
}

/// The chosen placement, its reason, and its effect where arms take turns; `None` without a choice.
pub(crate) fn placement_words(plan: &Plan) -> Option<String> {
    let chosen = plan.decisions.placement.as_ref()?;
    // It is the same for all runs that take turns.
    let spread = plan.runs.iter().find_map(|run| turns(plan, run)).is_some_and(|turns| turns.spread);
    let by_turns = match spread {
        true => {
            "; where arms take turns, client threads and server processes take turns on the CPUs, equally for all arms"
        }
        false => "",
    };
    Some(format!("{}; {}{by_turns}", chosen.value().words(), chosen.why()))
}

/// A note on how a run's arm takes turns, or does not: the kind of an event, and its text.
pub(crate) fn turns_event(plan: &Plan, facts: &Facts, run: &PlannedRun) -> Option<(&'static str, String)> {
    let slicing = plan.slicing(&run.workload).filter(|_| !run.beside)?;
    if *slicing.value() == Slicing::Uncut {
        return Some((RunEvent::UNCUT, format!("{}: {}", run.workload, slicing.why())));
    }
    let forced = plan.content.measure.slices.is_some_and(Slices::is_wanted);
    let burden = burden::burden_of(&plan.content, &run.workload, facts).filter(|_| forced)?;
    Some((RunEvent::SLICED_ALL_THE_SAME, burden))
}

/// How the arms of a workload take turns, as text.
pub(super) fn in_slices(
    content: &Content,
    workload: &str,
    arm_placement: Option<&ArmPlacement>,
    facts: &Facts,
) -> String {
    let length = match content.measure.slices {
        Some(Slices::Length(length_s)) => format!("{:.0} ms", length_s * 1e3),
        _ => "0.1 s (longer for long transactions, and no slices if they are too long)".to_owned(),
    };
    // Compared workloads share one name.
    let writes = match content.workloads.contains_key(workload) {
        true => facts.writes(workload),
        false => content.workloads.keys().any(|name| facts.writes(name)),
    };
    let background = match writes && arm_placement.and_then(ArmPlacement::copies).is_some() {
        true => "; background work of the servers (checkpoints, autovacuum) takes time from all arms equally",
        false => "",
    };
    format!("take turns in slices of {length}, in the order A B B A{background}")
}

/// How the warm-ups so far decided where arms may take turns; `None` if all decided for slices.
#[must_use]
pub fn warm_up_words(plan: &Plan, facts: &Facts) -> Option<String> {
    let turns = plan.runs.iter().find_map(|run| turns(plan, run))?;
    let all = || {
        facts.all().iter().filter_map(|fact| match fact {
            Fact::Transactions { lengths, .. } => Some(*lengths),
            _ => None,
        })
    };
    let (warm_ups, against) = (all().count(), all().filter(|lengths| !fits(*lengths, &turns)).count());
    (against > 0).then(|| {
        format!(
            "{against} of {} so far decided against slices, because transactions took too long: those arms ran one after the other",
            crate::words::count(warm_ups, "warm-up")
        )
    })
}

/// Whether sessions are kept from round to round; `None` if they are not kept and nobody asked for it.
fn sessions_words(plan: &Plan) -> Option<&'static str> {
    let in_slices = || plan.decisions.slices.values().any(|slicing| *slicing.value() == Slicing::Slices);
    match (plan.content.keeps_sessions(), plan.content.measure.keep_sessions) {
        (true, _) if in_slices() => {
            Some("sessions are kept over all rounds, on one start of each server (keep_sessions)")
        }
        (true, Some(true)) => Some(
            "sessions are new in each round, although keep_sessions is set: only arms in slices can keep them",
        ),
        _ => None,
    }
}

/// Whether arms take turns, or why not; empty if the question does not apply.
pub(crate) fn slicing_words(plan: &Plan) -> String {
    let mut by_reason: BTreeMap<(Slicing, &str), Vec<&str>> = BTreeMap::new();
    for (name, slicing) in &plan.decisions.slices {
        by_reason.entry((*slicing.value(), slicing.why())).or_default().push(name);
    }
    let is_one = by_reason.len() == 1;
    let words = by_reason.into_iter().map(|((slicing, why), names)| match (slicing, is_one) {
        (Slicing::Slices, true) => format!("arms {why}"),
        (Slicing::Slices, false) => format!("arms of {} {why}", names.join(", ")),
        (Slicing::Uncut, true) => format!("no slices: {why}"),
        (Slicing::Uncut, false) => format!("no slices for {}: {why}", names.join(", ")),
    });
    words.chain(sessions_words(plan).map(str::to_owned)).collect::<Vec<_>>().join("; ")
}
