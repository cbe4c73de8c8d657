//! The same experiment with one decision changed: seed, where arms run, whether they take turns.

use std::collections::BTreeSet;

use spec::RunKey;

use super::order::{derive, runs};
use super::slicing::sliced;
use super::{Plan, PlannedRun, Slicing, Standing};

/// The same plan with this seed.
#[must_use]
pub fn with_seed(mut plan: Plan, seed: u64) -> Plan {
    if seed != plan.seed {
        plan.seed = seed;
        plan = ordered_anew(plan);
    }
    plan
}

/// The runs in the order of its seed and of where its arms run.
pub(super) fn ordered_anew(mut plan: Plan) -> Plan {
    let planned: BTreeSet<RunKey> = plan.runs.iter().map(PlannedRun::key).collect();
    let again = runs(&plan.content, plan.seed, plan.rounds, plan.standing.as_ref());
    plan.runs = again.expect("planned once already");
    plan.keep(|run| planned.contains(&run.key()));
    plan
}

/// The same plan with other randomness, for a repeated experiment: the same seed would repeat the keys, and
/// find them in caches. Repetition 0 is the plan itself.
#[must_use]
pub fn repeated(plan: Plan, repetition: u64) -> Plan {
    let seed = plan.seed;
    match repetition {
        0 => plan,
        _ => with_seed(plan, derive(seed, &["again", &repetition.to_string()])),
    }
}

#[must_use]
pub(crate) fn standing_so(mut plan: Plan, standing: Option<Standing>) -> Plan {
    plan.standing = standing;
    ordered_anew(sliced_anew(plan))
}

#[must_use]
pub(crate) fn sliced_so(mut plan: Plan, slicing: Option<Slicing>) -> Plan {
    plan.slicing = slicing;
    plan
}

/// The same plan with slices decided again, because two of its arms share a server.
#[must_use]
pub(crate) fn on_a_shared_server(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    if let Some(slicing) = &mut plan.slicing {
        slicing.facts.shared_server = true;
    }
    sliced_anew(plan)
}

/// The same plan with slices decided again, for where its arms run now.
#[must_use]
pub(super) fn sliced_anew(mut plan: Plan) -> Plan {
    let facts = plan.slicing.take().map(|slicing| slicing.facts);
    plan.slicing = facts.and_then(|facts| sliced(&plan.content, plan.standing.as_ref(), facts));
    plan
}
