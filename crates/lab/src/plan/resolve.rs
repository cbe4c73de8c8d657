//! From an experiment and what is known to a plan. A pure function: the same facts give the same plan, and more
//! facts change no decision.

use spec::plan::{Content, Decision, Decisions, Facts, Needed, Plan};
use spec::{Class, Error};

use super::content::content;
use super::cost::sized;
use super::order::{Rounds, derive, runs};
use super::{arm_placement, calibration, cost, divide, generator, identity, placement, sets, slicing};
use crate::experiment::{DurationSpec, ExperimentFile};

/// The plan of an experiment; `facts` are at least of its files and of the host.
///
/// # Errors
/// When a setting or an option has a wrong value, or a level does not belong to its factor.
pub fn resolve(file: &ExperimentFile, facts: &Facts) -> Result<Plan, Error> {
    let wrong = |problem| Error::new(Class::BadInput, format!("{}: {problem}", file.path.display()));
    let mut content = content(file, facts)?;
    let rounds = if content.has_only_jobs() { 1 } else { file.measure.rounds };
    let sets = sets::planned(&content, file.measure.sets, facts);
    let of_sets = content.by_hand().map(|(_, by_hand)| Rounds::Sets(by_hand, &sets));
    if let DurationSpec::Sized { budget, from, to } = file.measure.duration {
        let all = runs(&content, 0, of_sets.unwrap_or(Rounds::OfAllArms(rounds)), None).map_err(wrong)?.len();
        let arms = content.arms.len().saturating_sub(1);
        let restarts = if cost::may_restart(&content) { rounds as usize * arms + 1 } else { 0 };
        content.measure.duration_s = sized(
            budget.as_secs_f64(),
            (content.measure.warmup_s, cost::around_run_s(&content)),
            all,
            restarts,
            from.as_secs_f64(),
            to.as_secs_f64(),
        );
    }
    let repetition = repetition(facts);
    let seed = seed(&content, &repetition);
    let arm_placement = arm_placement::arm_placement(&content, facts);
    let slices = slicing::slices(&content, arm_placement.as_ref(), facts);
    let rounds = match content.by_hand() {
        Some((_, by_hand)) => by_hand.rounds * sets.len() as u32,
        None => file.asked_rounds.unwrap_or(rounds).max(facts.last_round()),
    };
    let of_rounds = of_sets.unwrap_or(Rounds::OfAllArms(rounds));
    let mut runs = match (&content.calibrate, facts.host()) {
        (Some(asked), Some((_, cores, _))) => calibration::runs(asked, cores, *seed.value()),
        _ => runs(&content, *seed.value(), of_rounds, arm_placement.as_ref().map(Decision::value))
            .map_err(wrong)?,
    };
    let asked = facts.seeds();
    for run in &mut runs {
        run.seed = asked.get(&run.round).copied().unwrap_or(run.seed);
    }
    let clients = clients(&content, facts);
    let part = facts.part();
    let decisions = Decisions { repetition, seed, arm_placement, slices, clients, ..Decisions::default() };
    let mut plan = Plan {
        name: file.name.clone(),
        question: file.question.clone(),
        taste: file.taste.clone(),
        prices: file.prices.clone(),
        rounds,
        sets: facts.sets().into_iter().map(str::to_owned).collect(),
        sets_of_level: content.by_hand().map_or(0, |_| file.measure.sets),
        // The parts of a load cannot agree on it.
        repeat_disturbed: if part.is_some_and(|part| part.shared) {
            Some(0)
        } else {
            file.measure.repeat_disturbed
        },
        explain: file.measure.explain,
        check_time_s: file.measure.check_time.map(|time| time.as_secs_f64()),
        try_first: file.measure.try_first,
        runs,
        part,
        decisions,
        content,
    };
    divide::divide(&mut plan);
    // A calibration compares placements, and each of its runs has the driver that suits it.
    if plan.content.calibrate.is_none() {
        plan.decisions.placement = placement::placement(&plan, facts);
        plan.decisions.generator = generator::generator(&plan);
    }
    super::availability::leave_out(&mut plan, facts);
    Ok(plan)
}

fn repetition(facts: &Facts) -> Decision<u64> {
    match facts.repetition() {
        None => Decision::open(0, "an experiment of the same content goes on", [Needed::Results]),
        Some(0) => Decision::decided(0, "it is the first of its content in the results file"),
        Some(before) => Decision::decided(before, format!("--again, after {before} of the same content")),
    }
}

/// The same seed would repeat the keys, and find them in caches: repetitions have other randomness.
fn seed(content: &Content, repetition: &Decision<u64>) -> Decision<u64> {
    let (first, reason) = match content.seed {
        Some(seed) => (seed, "from the file"),
        None => (derive(0, &["seed", &identity::hash(content)]), "made from the content"),
    };
    let (seed, reason) = match *repetition.value() {
        0 => (first, reason.to_owned()),
        again => (derive(first, &["again", &again.to_string()]), format!("{reason}, for repetition {again}")),
    };
    match repetition.is_open() {
        true => Decision::open(seed, reason, [Needed::Results]),
        false => Decision::decided(seed, reason),
    }
}

/// How many clients a search may try, if it adds clients or tries numbers of users.
fn clients(content: &Content, facts: &Facts) -> Option<Decision<Option<u32>>> {
    let grows = content.measure.search.as_ref().is_some_and(|asked| asked.grow_clients || asked.are_users());
    grows.then(|| match facts.most_clients() {
        Some(Some(most)) => Decision::decided(Some(most), format!("the servers accept {most} clients")),
        Some(None) => Decision::decided(None, "the servers have no limit"),
        None => Decision::open(None, "as many as the servers accept", [Needed::ServerLimits]),
    })
}
