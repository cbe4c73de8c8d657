//! What is learnt about an experiment before it begins: of the host, of its files, of what is installed, and of
//! the results file. [`crate::plan::resolve`] makes the plan from it.

pub(crate) mod builds;
mod inputs;
mod programs;

use std::path::Path;

use results::{ExperimentId, Store};
use server::placement::allowed;
use server::settings::Machine;
use server::{Stop, host};
use spec::plan::{Fact, Facts, PlacementAdvice, Plan};
use spec::{Class, Error, Host, RunKey};

use crate::experiment::ExperimentFile;
use crate::known_host::KnownHost;
use crate::plan::identity;

/// The same memory differs by at most this share.
const SAME_MEMORY: f64 = 0.05;

/// The factor that is set by hand whose levels may be other hosts.
const MACHINE: &str = "machine";

/// What the files of an experiment contain, on this host: enough for a plan, and for the identity.
///
/// # Errors
/// When a file cannot be read, or a script does not parse.
pub fn of_files(file: &ExperimentFile) -> Result<Facts, Error> {
    let Machine { memory_bytes, cores } = Machine::here();
    of_files_on(Fact::Host { memory_bytes, cores, cpus: allowed().ok() }, file)
}

/// The same for another host.
///
/// # Errors
/// As for [`of_files`].
pub fn of_files_on(host: Fact, file: &ExperimentFile) -> Result<Facts, Error> {
    let mut facts = Facts::default();
    facts.learn(host);
    inputs::learn(&mut facts, file)?;
    Ok(facts)
}

/// What a results file has of an experiment.
#[derive(Debug, Default)]
pub struct StoredExperiment {
    /// `None` if it begins.
    pub id: Option<ExperimentId>,
    /// The host that it began on.
    pub host: Option<Host>,
    /// Several hosts began it, each for itself, and none of them is this one.
    pub is_of_others: bool,
    /// The facts that it began with.
    pub facts: Facts,
    /// Its runs that count.
    pub runs: Vec<RunKey>,
}

/// What the results file has of an experiment.
///
/// # Errors
/// When the file cannot be read.
pub fn of_results(plan: &Plan, results: &Path, again: bool) -> Result<StoredExperiment, Error> {
    // It is created when the first run is stored.
    match Store::open_if_there(results)? {
        Some(store) => stored(&store, plan, again),
        None => Ok(first(0)),
    }
}

/// The same of an open file. A merged file may have the experiment of several hosts: it is this host's, if there is one.
pub(crate) fn stored(store: &Store, plan: &Plan, again: bool) -> Result<StoredExperiment, Error> {
    let hash = identity::hash(&plan.content);
    let mut same = store.experiments()?;
    same.retain(|known| known.hash == hash);
    let here = host::describe(None).uuid;
    let goes_on = if again { None } else { store.newest_with_hash(&hash, &here)? };
    let Some(newest) = same.iter().find(|known| Some(known.id) == goes_on) else {
        return Ok(first(same.len() as u64));
    };
    let facts = store.facts(newest.id)?;
    if !facts.all().is_empty() {
        let runs = store.finished_runs(newest.id)?;
        let host = store.experiment(newest.id)?.host;
        let mut is_of_others = false;
        if host.uuid != here {
            for known in &same {
                is_of_others |= store.experiment(known.id)?.host.uuid != host.uuid;
            }
        }
        return Ok(StoredExperiment { id: Some(newest.id), host: Some(host), is_of_others, facts, runs });
    }
    // Killed after it was created and before its first run was stored.
    if newest.runs == 0 {
        return Ok(first(same.len() as u64 - 1));
    }
    let what =
        format!("{} began with an earlier pgdyno, which did not store what it was planned with", plan.name);
    Err(Error::new(Class::Usage, what).with_hint("start again: --again"))
}

pub(crate) fn first(repetition: u64) -> StoredExperiment {
    let mut facts = Facts::default();
    facts.learn(Fact::Repetition { repetition });
    StoredExperiment { facts, ..StoredExperiment::default() }
}

/// An experiment goes on only on the host, with the memory and on the CPUs that it began with: other runs are not
/// comparable. A level that is set by hand may change the memory and the CPUs, and one of `machine` the host.
///
/// # Errors
/// What differs.
pub(crate) fn check_host(stored: &StoredExperiment, by_hand: Option<&str>) -> Result<(), Error> {
    let (Some(began), now) = (&stored.host, host::describe(None)) else { return Ok(()) };
    if began.uuid != now.uuid && by_hand != Some(MACHINE) {
        let words = |host: &Host| format!("{} ({})", host.name, host.cpu);
        return Err(not_as_it_began(
            format!("this experiment began on another host, {}, and this is {}", words(began), words(&now)),
            "run it on that host",
        ));
    }
    // A person who sets a level changes the hardware.
    if by_hand.is_some() {
        return Ok(());
    }
    let Some((memory_bytes, _, cpus)) = stored.facts.host() else { return Ok(()) };
    // Another kernel on the same machine leaves a little more or less.
    if memory_bytes.abs_diff(now.memory_bytes) as f64 > SAME_MEMORY * memory_bytes as f64 {
        let [began, now] = [memory_bytes, now.memory_bytes].map(spec::bytes);
        return Err(not_as_it_began(
            format!("this experiment began with {began} of memory, and pgdyno may use {now} now"),
            "let pgdyno use that memory again",
        ));
    }
    match (cpus, allowed()) {
        (Some(began), Ok(now)) if *began != now => Err(not_as_it_began(
            format!("this experiment began on CPUs {began}, and pgdyno may use {now} now"),
            "let pgdyno use those CPUs again",
        )),
        _ => Ok(()),
    }
}

/// A program must have the version that the experiment began with.
///
/// # Errors
/// When it has another one.
pub(crate) fn check_program(facts: &Facts, fact: &Fact) -> Result<(), Error> {
    let Fact::ProgramVersion { program, data, version } = fact else { return Ok(()) };
    let Some(began) = facts.program_version(program, data.as_deref()).filter(|began| began != version) else {
        return Ok(());
    };
    let made = data.as_ref().map(|data| format!("data ({data}) made by ")).unwrap_or_default();
    Err(not_as_it_began(
        format!("this experiment began with {made}{program} {began}, and that is {version} now"),
        match data {
            Some(_) => "prepare the data with that version again",
            None => "install that version again",
        },
    ))
}

fn not_as_it_began(what: String, hint: &str) -> Error {
    Error::new(Class::Usage, what).with_hint(format!("{hint}, or start again with --again"))
}

/// What `pgdyno calibrate` advises for this host.
#[must_use]
pub fn calibration() -> Fact {
    let (known, other) = KnownHost::here();
    let advice = match (known.placement, other) {
        (Some(found), _) => PlacementAdvice {
            level: Some(found.level),
            day: found.found_at.get(..10).unwrap_or_default().to_owned(),
            why: found.why,
        },
        (None, Some(other)) => {
            none(format!("it was another host that was calibrated ({other}); see pgdyno calibrate"))
        }
        (None, None) => none("this host was not calibrated; see pgdyno calibrate".to_owned()),
    };
    Fact::Calibration { advice }
}

fn none(why: String) -> PlacementAdvice {
    PlacementAdvice { level: None, day: String::new(), why }
}

/// Which parts of a plan can be run here. A dry run executes no program that the file names. What was missing before
/// is run from the first round that is not measured yet (`next_round`).
///
/// # Errors
/// When a part that the experiment began with is no longer available, or a program has another version.
pub fn of_programs(
    (facts, next_round): (&Facts, u32),
    plan: &Plan,
    file: &ExperimentFile,
    (pg_bin, dry_run): (Option<&Path>, bool),
    stop: &Stop,
) -> Result<Vec<Fact>, Error> {
    let mut learnt = programs::learn(plan, file, pg_bin, dry_run, stop);
    let known = facts.availability();
    let known = |what: &String| known.get(what.as_str()).copied().unwrap_or_default();
    for fact in &mut learnt {
        check_program(facts, fact)?;
        if let Fact::Found { what, from_round } = fact
            && known(what).missing.is_some()
        {
            *from_round = next_round;
        }
        if let Fact::Missing { what, why } = fact
            && known(what).found_from.is_some()
        {
            return Err(Error::new(
                Class::Missing,
                format!("this experiment began with {what}, and that is no longer available: {why}"),
            )
            .with_hint("make it available again, or start again with --again"));
        }
    }
    Ok(learnt)
}

/// The plan of a preparation, whose files are read now.
#[cfg(test)]
pub(crate) fn preparation(jobs: &workloads::Preparation) -> Result<spec::plan::PlannedPreparation, Error> {
    let mut facts = Facts::default();
    inputs::of_preparation(&mut facts, jobs)?;
    crate::plan::preparation::planned_preparation(jobs, &facts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::resolve;

    #[test]
    fn what_is_missing_is_left_out_unless_the_experiment_began_with_it() {
        let text = "question = \"?\"\n[target]\nmanaged = {}\n[workload.w]\npgbench = { builtin = \"select-only\" }\n\
                    [factors]\nversion = [15, 99]\n[measure]\nrounds = 2\n";
        let file = ExperimentFile::parse(Path::new("e.toml"), text, false, &|_| None).unwrap();
        let mut facts = of_files(&file).unwrap();
        let all = resolve(&file, &facts).unwrap();
        let stop = Stop::new();
        let learnt = of_programs((&facts, 1), &all, &file, (None, true), &stop).unwrap();
        learnt.into_iter().for_each(|fact| facts.learn(fact));
        let plan = resolve(&file, &facts).unwrap();
        assert!(plan.not_run().iter().any(|not_run| not_run.what == "version 99"), "{:?}", plan.not_run());
        assert!(plan.runs.len() < all.runs.len() && plan.decisions.left_out.is_open());

        let mut began = Facts::default();
        began.learn(Fact::Found { what: "version 99".into(), from_round: 1 });
        let error = of_programs((&began, 1), &all, &file, (None, true), &stop).unwrap_err();
        assert!(error.to_string().contains("began with version 99"), "{error}");
        assert!(error.hint().unwrap().contains("--again"), "{error}");
    }

    /// `run` into a merged file went on with the newest experiment, even of another host.
    #[test]
    fn of_the_experiments_of_several_hosts_this_hosts_own_goes_on() {
        let text = "question = \"?\"\n[target]\nmanaged = {}\n[workload.w]\npgbench = { builtin = \"select-only\" }\n";
        let file = ExperimentFile::parse(Path::new("e.toml"), text, false, &|_| None).unwrap();
        let plan = resolve(&file, &of_files(&file).unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::create_or_open(&folder.path().join("merged.sqlite")).unwrap();
        let crate::runner::Surroundings { host: here, target } =
            crate::runner::Surroundings::without_server();
        let on = |uuid: &str| Host { uuid: uuid.to_owned(), ..here.clone() };
        let mut begin = |host: &Host| {
            let record = crate::execute::record_of(String::new(), &plan, Vec::new());
            let (id, _) = store.begin_experiment(&record, host, &target, true).unwrap();
            store.keep_facts(id, &[Fact::Repetition { repetition: 0 }]).unwrap();
            let stored = stored(&store, &plan, false).unwrap();
            (id, stored)
        };
        let (id, found) = begin(&on("a"));
        assert_eq!((found.id, found.is_of_others), (Some(id), false), "it is refused here, with its host");
        let (_, found) = begin(&on("b"));
        assert!(found.is_of_others && found.id.is_some());
        let (own, found) = begin(&here);
        assert_eq!((found.id, found.is_of_others), (Some(own), false));
        let (newest, found) = begin(&on("b"));
        assert!(newest != own);
        assert_eq!((found.id, found.host), (Some(own), Some(here.clone())));
    }

    /// An arm that came later was paired with runs of an earlier invocation.
    #[test]
    fn what_is_found_later_is_in_no_round_that_was_measured_without_it() {
        let text = "question = \"?\"\n[target]\nmanaged = {}\n[workload.w]\npgbench = { builtin = \"select-only\" }\n\
                    [factors]\nversion = [15, 99]\n[compare]\nfactor = \"version\"\nbase = 15\n[measure]\nrounds = 4\n";
        let file = ExperimentFile::parse(Path::new("e.toml"), text, false, &|_| None).unwrap();
        let mut facts = of_files(&file).unwrap();
        facts.learn(Fact::Missing { what: "version 99".into(), why: "not installed".into() });
        facts.learn(Fact::Found { what: "version 99".into(), from_round: 3 });
        let plan = resolve(&file, &facts).unwrap();
        let rounds = |arm: &str| -> Vec<u32> {
            let own = plan.runs.iter().filter(|run| run.arm.as_deref() == Some(arm));
            let mut rounds: Vec<u32> = own.map(|run| run.round).collect();
            rounds.sort_unstable();
            rounds
        };
        assert_eq!(rounds("99"), [3, 4]);
        assert!(plan.not_run()[0].why.contains("rounds before 3"), "{:?}", plan.not_run());
        // A cell without pairs is measured in all rounds.
        let alone = text.replace("[compare]\nfactor = \"version\"\nbase = 15\n", "");
        let file = ExperimentFile::parse(Path::new("e.toml"), &alone, false, &|_| None).unwrap();
        let plan = resolve(&file, &facts).unwrap();
        assert_eq!((plan.runs.len(), plan.not_run().len()), (8, 0));
    }
}
