//! An experiment divided among hosts: its cells are dealt whole, or each run's load is shared.

use std::collections::{BTreeMap, BTreeSet};

use engine::LoadPart;
use spec::plan::{Content, Plan, PlannedUsers, Scheme, Slices, TargetSpec};
use spec::users::UserArrivals;
use spec::{Class, Error, ExperimentPart};
use workloads::Preparation;

use super::cells::{self, Cell};
use super::jobs_of;
use crate::setup::Setup;

/// Keeps the runs of the cells of this part; all runs where the load is shared.
///
/// Cell k, in the order of the file, belongs to part k mod N: every part computes the same.
pub(super) fn divide(plan: &mut Plan) {
    match plan.part {
        None => {}
        Some(ExperimentPart { shared: true, of, .. }) => {
            for run in &mut plan.runs {
                run.threads = run.threads.max(of).min(run.clients);
            }
        }
        Some(ExperimentPart { number, of, .. }) => {
            let all = dealt(&plan.content);
            let of_cell: BTreeMap<&Cell, usize> = all.iter().zip(0..).collect();
            let part = |cell: &Cell| of_cell.get(cell).map_or(0, |place| place % of as usize) + 1;
            plan.runs.retain(|run| part(&run.factors) == number as usize);
        }
    }
}

/// All cells, in the order in which they are dealt.
fn dealt(content: &Content) -> Vec<Cell> {
    let mut all = cells::grid(content);
    all.extend(cells::cells_beside(content));
    all
}

/// What is measured here of a divided experiment.
pub(super) fn words(plan: &Plan) -> Option<String> {
    let part = plan.part?;
    let what = match part.shared {
        true => "the load of each run, together with the other parts".to_owned(),
        false => {
            let own = plan.runs.iter().map(|run| &run.factors).collect::<BTreeSet<_>>().len();
            format!("{own} of {}", spec::count(dealt(&plan.content).len() as u64, "cell"))
        }
    };
    Some(format!("{}: {what}", part.words()))
}

/// The part of each load that is made here.
pub(super) fn load_part(plan: &Plan) -> LoadPart {
    plan.shared_part()
        .map_or(LoadPart::WHOLE, |part| LoadPart { number: part.number as usize - 1, of: part.of as usize })
}

/// Threads of a run's whole load: each part has one.
pub(super) fn threads(setup: &Setup, plan: &Plan) -> u32 {
    plan.shared_part().map_or(setup.threads, |part| setup.threads.max(part.of).min(setup.clients))
}

/// Refuses what cannot be divided like this, with the reason.
///
/// # Errors
/// The reason, with what to try.
pub(crate) fn check(plan: &Plan) -> Result<(), Error> {
    let Some(part) = plan.part else { return Ok(()) };
    let found = if part.shared { not_shared(plan, part) } else { not_dealt(plan, part) };
    match found {
        None => Ok(()),
        Some((why, hint)) => {
            let what = if part.shared { "its load cannot be shared" } else { "its cells cannot be dealt" };
            Err(Error::new(Class::Usage, format!("{}: {what} among {} parts: {why}", plan.name, part.of))
                .with_hint(hint))
        }
    }
}

/// Why, and what to try.
type Refused = (String, &'static str);

const WHOLE_CELLS: &str = "leave out --share load: then each part measures whole cells";

fn not_dealt(plan: &Plan, part: ExperimentPart) -> Option<Refused> {
    let content = &plan.content;
    let of_one_host = "measure it on one host, without --part";
    if content.calibrate.is_some() {
        return Some((
            "a calibration is of one host".to_owned(),
            "calibrate each host for itself, without --part",
        ));
    }
    if content.has_only_jobs() {
        return Some(("it measures no cells".to_owned(), of_one_host));
    }
    if content.by_hand().is_some() || content.scheme == Scheme::Sets {
        return Some(("its levels are set by hand, on one host".to_owned(), of_one_host));
    }
    match dealt(content).len() {
        1 if part.of > 1 => Some((
            "it has one cell, which one host measures".to_owned(),
            "--share load divides each run among the parts",
        )),
        cells if cells < part.of as usize => {
            Some((format!("it has {cells} cells"), "give at most as many parts as cells"))
        }
        _ => None,
    }
}

fn not_shared(plan: &Plan, part: ExperimentPart) -> Option<Refused> {
    let content = &plan.content;
    let measure = &content.measure;
    if content.calibrate.is_some() || content.has_only_jobs() {
        return Some(("it has no load of clients".to_owned(), "measure it without --part"));
    }
    if measure.search.is_some() {
        let why = "a search decides its next rate from the last, and each part would decide alone";
        return Some((why.to_owned(), "measure a fixed list of rates; or find the limit with one generator"));
    }
    if measure.slices.is_some_and(Slices::is_wanted) {
        return Some(("several generators cannot be held at one time".to_owned(), "slices = false"));
    }
    if let Some(why) = measure.load.users().and_then(common_state) {
        return Some((why.to_owned(), "give a fixed number of users who come and go each for itself"));
    }
    if content.by_hand().is_some() {
        return Some(("its levels are set by hand".to_owned(), WHOLE_CELLS));
    }
    if !content.named.poolers.is_empty() {
        let why = "each part would start its own pooler";
        return Some((why.to_owned(), "give the pooler that all parts are to use by its URL"));
    }
    let alone = [&content.target].into_iter().filter(|_| content.named.servers.is_empty());
    if content.named.servers.values().chain(alone).any(|target| !matches!(target, TargetSpec::Url { .. })) {
        return Some((
            "each part would start its own server".to_owned(),
            "give the server that all parts are to load by its URL; or leave out --share load",
        ));
    }
    let prepares = content
        .data
        .values()
        .chain([&content.prepare])
        .any(|prepare| jobs_of(prepare) != Preparation::default());
    if prepares {
        return Some((
            "each part would prepare the data".to_owned(),
            "prepare them first, with one command, and leave out [prepare]",
        ));
    }
    let sets = content.arms.iter().any(|arm| !arm.settings.is_empty());
    if sets || !content.named.changes.is_empty() || content.factors.keys().any(|key| content.is_state(key)) {
        return Some(("each part would change the server's settings or state".to_owned(), WHOLE_CELLS));
    }
    if plan.runs.iter().any(spec::plan::PlannedRun::is_job) {
        return Some(("a job is done once, by one process".to_owned(), "leave the job out"));
    }
    let fewest = plan.runs.iter().map(|run| run.clients).min()?;
    (fewest < part.of).then(|| {
        let why = format!("a run has {}, and each part needs one", spec::count(u64::from(fewest), "client"));
        (why, "give more clients, or fewer parts")
    })
}

/// Whether users share a state that several generators would have to agree on.
fn common_state(users: &PlannedUsers) -> Option<&'static str> {
    match users.sessions.as_ref()?.arrivals {
        UserArrivals::Spread | UserArrivals::Together | UserArrivals::Apart(_) => None,
        UserArrivals::UpHoldDown { .. } | UserArrivals::Share(_) | UserArrivals::Open { .. } => {
            Some("who comes and goes is drawn for all users together")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use spec::plan::{Fact, PlannedRun};

    use super::*;
    use crate::experiment::ExperimentFile;
    use crate::facts::of_files;
    use crate::plan::resolve;

    const GRID: &str = "question = \"?\"\n[target]\nurl = \"postgres://db/shop\"\n[workload.a]\n\
                        pgbench = { builtin = \"select-only\" }\n[workload.b]\npgbench = { builtin = \"simple-update\" }\n\
                        [factors]\nclients = [4, 8, 16]\n\
                        [measure]\nrounds = 3\nduration = \"1s\"\n";

    fn part(text: &str, part: Option<(u32, u32, bool)>) -> Plan {
        let file = ExperimentFile::parse(Path::new("e.toml"), text, false, &|_| None).unwrap();
        let mut facts = of_files(&file).unwrap();
        if let Some((number, of, shared)) = part {
            facts.learn(Fact::Part { part: ExperimentPart { number, of, shared } });
        }
        resolve(&file, &facts).unwrap()
    }

    #[test]
    fn each_run_belongs_to_one_part_and_each_cell_to_one_host() {
        let text = GRID;
        let whole = part(text, None);
        for of in [1, 2, 4, 6] {
            let parts: Vec<Plan> = (1..=of).map(|number| part(text, Some((number, of, false)))).collect();
            let mut all: Vec<PlannedRun> = parts.iter().flat_map(|part| part.runs.clone()).collect();
            all.sort_by_key(|run| run.sequence);
            assert_eq!(all, whole.runs, "{of} parts");
            for (one, own) in parts.iter().enumerate() {
                let cells: BTreeSet<_> = own.runs.iter().map(|run| &run.factors).collect();
                let others = parts.iter().enumerate().filter(|(other, _)| *other != one);
                let mut others = others.flat_map(|(_, other)| &other.runs);
                assert!(!own.runs.is_empty() && others.all(|run| !cells.contains(&run.factors)));
                assert!(check(own).is_ok());
            }
            assert_eq!(crate::plan::hash(&parts[0].content), crate::plan::hash(&whole.content));
        }
        assert_eq!(words(&part(text, Some((2, 4, false)))).as_deref(), Some("part 2 of 4: 2 of 6 cells"));
        let error = check(&part(text, Some((1, 7, false)))).unwrap_err();
        assert!(error.to_string().contains("among 7 parts: it has 6 cells"), "{error}");
    }

    #[test]
    fn a_shared_load_has_a_thread_for_each_part_and_no_repetitions() {
        let text = GRID;
        let plan = part(text, Some((2, 3, true)));
        assert!(check(&plan).is_ok());
        assert_eq!((plan.runs.len(), plan.repeat_disturbed), (18, Some(0)));
        assert!(plan.runs.iter().all(|run| run.threads == 3));
        let setup = crate::plan::setup(&plan, &plan.runs[0]);
        assert_eq!((setup.part.number, setup.part.of, setup.threads), (1, 3, 3));
        let parts = (1..=3).map(|number| part(text, Some((number, 3, true))));
        let own: u32 = parts.map(|plan| crate::plan::setup(&plan, &plan.runs[0]).own_clients()).sum();
        assert_eq!(own, setup.clients);
        let error = check(&part(text, Some((1, 5, true)))).unwrap_err();
        assert!(error.to_string().contains("a run has 4 clients, and each part needs one"), "{error}");
    }

    /// Users who come openly, or as a share of all, have one common state.
    #[test]
    fn users_with_a_common_state_are_not_shared() {
        for (arrivals, shared) in [
            ("together", true),
            ("2s apart", true),
            ("5 per second", false),
            ("up 1s, hold 2s, down 1s", false),
        ] {
            let users = format!(
                "question = \"?\"\n[target]\nurl = \"postgres://db/shop\"\n[workload.a]\n\
                 pgbench = {{ builtin = \"select-only\" }}\n[factors]\nclients = 8\n[load]\n\
                 users = {{ session = \"select-only, 1s, select-only\", arrivals = \"{arrivals}\" }}\n[measure]\nrounds = 1\nduration = \"10s\"\n"
            );
            let checked = check(&part(&users, Some((1, 2, true))));
            assert_eq!(checked.is_ok(), shared, "{arrivals}: {checked:?}");
        }
    }
}
