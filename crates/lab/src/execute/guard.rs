//! Checks before any measurement: that each workload does something, and that arms get the same answers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use spec::plan::topology::LoadTarget;
use spec::plan::{Plan, PlannedRun};
use spec::{Class, Error, RunEvent, Text};
use workloads::{CheckTime, Sampled, Spec};

use super::failed_arms::FailedArms;
use super::offline::has_enough;
use super::server_data::{Differences, Names, ServerData, ask, build_words};
use crate::jobs::make_extract;
use crate::plan::{levels, setups};
use crate::runner::{Checked, ExperimentStep, ProgressExt, Ready, Results, Runner, changed_data, texts};
use crate::setup::Setup;

/// Remarks for every run of an arm: by its requests, and the arm's name.
pub(super) type Remarks = BTreeMap<(String, String), Vec<RunEvent>>;

/// A workload, the state of the server, and the search path.
type Asked = (String, usize, Option<String>);

fn asked(setup: &Setup, state: usize) -> Asked {
    (setup.asked(), state, setup.search_path().map(str::to_owned))
}

pub(super) struct Guard<'g, 'a> {
    plan: &'g Plan,
    folder: &'g Path,
    runner: &'g mut Runner<'a>,
    results: &'g Results,
    pub(super) remarks: Remarks,
    pub(super) texts: Vec<Text>,
    /// Arms that fail here, if others are left.
    pub(super) failed: FailedArms<'g>,
    samples: BTreeMap<Asked, Sampled>,
}

/// Whether two setups ask the same of the same state of a server.
fn asked_alike(one: &Setup, other: &Setup) -> bool {
    one.asked() == other.asked() && one.answered_by() == other.answered_by()
}

struct Open {
    setup: Setup,
    base: Option<Setup>,
    arm: Option<String>,
}

struct Pair {
    base: Setup,
    other: Setup,
    arm: String,
}

impl<'g, 'a> Guard<'g, 'a> {
    pub(super) fn new(
        plan: &'g Plan,
        folder: &'g Path,
        runner: &'g mut Runner<'a>,
        results: &'g Results,
    ) -> Self {
        let (remarks, texts, samples) = Default::default();
        let failed = FailedArms::new(plan);
        Self { plan, folder, runner, results, remarks, texts, failed, samples }
    }

    /// Opens the workloads of these runs, and of their base arms: each is checked, chooses its requests, and
    /// proves that it does something; then arms get the same requests. State by state, so that an index is
    /// created once for all. An arm that fails is left out, if the others can be compared without it.
    ///
    /// # Errors
    /// What fails, if it is not left out.
    pub(super) fn look(&mut self, runs: &[PlannedRun]) -> Result<(), Error> {
        let (mut to_open, pairs) = self.needed(runs);
        let mut states: Vec<Setup> = Vec::new();
        for setup in to_open
            .iter()
            .map(|open| &open.setup)
            .chain(pairs.iter().flat_map(|pair| [&pair.base, &pair.other]))
        {
            if !states.iter().any(|known| known.changes == setup.changes) {
                states.push(setup.clone());
            }
        }
        let state =
            |setup: &Setup| states.iter().position(|known| known.changes == setup.changes).unwrap_or(0);
        to_open.sort_by_key(|open| state(&open.setup));
        for open in &to_open {
            if self.is_left(|of| of.asked() == open.setup.asked()) {
                let opened = self.in_its_state(&open.setup).and_then(|()| self.open(open));
                self.or_leave_out(opened, |of| of.asked() == open.setup.asked())?;
            }
        }
        self.try_settings(runs)?;
        let left: Vec<PlannedRun> = runs.iter().filter(|run| self.failed.has(run)).cloned().collect();
        self.suffices(&left)?;
        let mut asked: Vec<&Setup> = pairs.iter().flat_map(|pair| [&pair.base, &pair.other]).collect();
        asked.sort_by_key(|setup| state(setup));
        for setup in asked {
            let is_same = |of: &Setup| asked_alike(of, setup);
            if self.is_left(is_same) {
                let sampled = self.sample(setup, state(setup));
                self.or_leave_out(sampled, is_same)?;
            }
        }
        for pair in &pairs {
            if self.is_left(|of| asked_alike(of, &pair.other)) {
                self.compare(pair, [state(&pair.base), state(&pair.other)]);
            }
        }
        for pair in self.on_two_servers(&left) {
            let is_same = |of: &Setup| of.asked() == pair.other.asked();
            if self.is_left(is_same) {
                let compared = self.compare_data(&pair);
                self.or_leave_out(compared, is_same)?;
            }
        }
        Ok(())
    }

    /// Whether a run is left whose setup, or whose base's setup, is meant.
    fn is_left(&self, is_meant: impl Fn(&Setup) -> bool) -> bool {
        let left = self.plan.runs.iter().filter(|run| self.failed.has(run));
        left.flat_map(|run| [Some(setups::setup(self.plan, run)), setups::base_setup(self.plan, run)])
            .flatten()
            .any(|setup| is_meant(&setup))
    }

    /// If a step failed, leaves out the runs whose setup is meant.
    fn or_leave_out(
        &mut self,
        step: Result<(), Error>,
        is_meant: impl Fn(&Setup) -> bool,
    ) -> Result<(), Error> {
        let Err(error) = step else { return Ok(()) };
        let plan = self.plan;
        let fails = |run: &PlannedRun| is_meant(&setups::setup(plan, run));
        let base_passed = self.base_passed(fails);
        self.failed.leave_out_after(fails, base_passed, error, &mut *self.runner.progress)?;
        // Others may use a server that crashed.
        self.runner.recover()
    }

    /// Whether the base of each of these runs was opened: bases are opened before the arms.
    fn base_passed(&mut self, of: impl Fn(&PlannedRun) -> bool) -> bool {
        let plan = self.plan;
        let mut bases = plan.runs.iter().filter(|run| of(run)).map(|run| setups::base_setup(plan, run));
        bases.all(|base| base.is_some_and(|base| self.runner.ready(&base.asked()).is_some()))
    }

    /// Applies the settings of each arm once, if an arm may be left out. A server may refuse to start with settings
    /// that it knows.
    fn try_settings(&mut self, runs: &[PlannedRun]) -> Result<(), Error> {
        let mut tried = BTreeSet::new();
        for run in runs.iter().filter(|run| run.arm.is_some()) {
            let setup = setups::setup(self.plan, run);
            let Some(arm) = setup.arm.clone().filter(|arm| !arm.settings.is_empty()) else { continue };
            let is_first = tried.insert((setup.at().template(), arm.name.clone()));
            if is_first && self.failed.may_leave_out() && self.failed.has(run) {
                let set = self.runner.switch_to(&setup).map(drop);
                self.or_leave_out(set, |of| {
                    of.arm.as_ref() == Some(&arm) && of.at().template() == setup.at().template()
                })?;
            }
        }
        Ok(())
    }

    /// Checks that what the workloads ask for suffices for the clients of each run.
    fn suffices(&mut self, runs: &[PlannedRun]) -> Result<(), Error> {
        for run in runs.iter().filter(|run| !run.is_job()) {
            let setup = setups::setup(self.plan, run);
            let Some(ready) = self.runner.ready(&setup.asked()) else { continue };
            has_enough(&setup, &ready.workload)?;
        }
        Ok(())
    }

    /// Pairs of client runs on two servers, or in two databases, each once.
    fn on_two_servers(&self, runs: &[PlannedRun]) -> Vec<Pair> {
        let (mut compared, mut pairs) = (BTreeSet::new(), Vec::new());
        for run in runs.iter().filter(|run| !run.is_job()) {
            let (base, other) = (setups::base_setup(self.plan, run), setups::setup(self.plan, run));
            let Some((base, arm)) = base.zip(run.arm.clone()) else { continue };
            let is_elsewhere = base.at().template() != other.at().template();
            if is_elsewhere && compared.insert((other.asked(), other.at().to_string(), arm.clone())) {
                pairs.push(Pair { base, other, arm });
            }
        }
        pairs
    }

    /// Compares the data of two servers for a workload, and their configuration. Different data look like
    /// different speed. An intended difference is reported as intended.
    fn compare_data(&mut self, Pair { base, other, arm }: &Pair) -> Result<(), Error> {
        let of = self.plan.content.compare.as_ref().map_or("", |compare| &compare.base).to_owned();
        let called = self.plan.content.arm_words(arm);
        self.runner.progress.step(
            ExperimentStep::Guard,
            format!("{}: do {of} and {called} hold the same data?", other.asked()),
        );
        let (theirs, ours) = match (self.data_of(base)?, self.data_of(other)?) {
            (Ok(theirs), Ok(ours)) => (theirs, ours),
            (Err(why), _) | (_, Err(why)) => {
                let told =
                    format!("{}: the data of {of} and {called} are not compared: {why}", other.workload);
                self.runner.progress.warn(told.clone());
                self.remark(&other.asked(), arm, RunEvent::REMARK, told);
                return Ok(());
            }
        };
        let found = Differences::of(&theirs, &ours, Names { base: &of, other: arm });
        let is_asked_for = base.at().data != other.at().data;
        match found.data_words() {
            Some(data) if is_asked_for => {
                let told =
                    format!("{}: {called} holds other data than {of}, as asked for: {data}", other.workload);
                self.runner.progress.note(told.clone());
                self.remark(&other.asked(), arm, RunEvent::REMARK, told);
            }
            Some(data) => {
                let told =
                    format!("{}: {called} does not hold the same data as {of}: {data}", other.workload);
                self.runner.progress.warn(told.clone());
                self.remark(&other.asked(), arm, RunEvent::OTHER_ANSWERS, told);
            }
            None if ours.tables.is_empty() => {}
            None => self.runner.progress.note(format!(
                "{}: {called} holds the same data as {of}: {} compared",
                other.workload,
                crate::words::count(ours.tables.len(), "table")
            )),
        }
        for (setup, name) in [(base, of.as_str()), (other, called.as_str())] {
            if let Some(source) = self.with_changes_left_out(setup) {
                let folder = source.folder.display();
                let told = format!(
                    "{}: {name} was built as committed: {folder} had changes that are not in it",
                    other.workload
                );
                // The plan warned of it.
                self.remark(&other.asked(), arm, RunEvent::REMARK, told);
            }
        }
        if let Some(built) = self.builds_differ(base, other, Names { base: &of, other: arm })? {
            let told = format!("{}: the builds of {of} and {called} differ: {built}", other.workload);
            self.runner.progress.warn(told.clone());
            self.remark(&other.asked(), arm, RunEvent::REMARK, told);
        }
        // Two versions have different settings anyway.
        if let Some(setup) = found.setup_words().filter(|_| base.at().version == other.at().version) {
            let told =
                format!("{}: the servers of {of} and {called} are not set up alike: {setup}", other.workload);
            self.runner.progress.warn(told.clone());
            self.remark(&other.asked(), arm, RunEvent::REMARK, told);
        }
        Ok(())
    }

    /// The sources of a server's build, if changes of the working tree are not in it.
    fn with_changes_left_out(&self, setup: &Setup) -> Option<spec::plan::BuildSource> {
        let build = self.plan.content.named.builds.get(setup.at().version.as_ref()?)?;
        build.source.clone().filter(|source| source.leaves_out_changes)
    }

    /// How the builds of two servers differ besides their source.
    fn builds_differ(
        &mut self,
        base: &Setup,
        other: &Setup,
        names: Names<'_>,
    ) -> Result<Option<String>, Error> {
        let mut built = Vec::new();
        for setup in [base, other] {
            let (stage, _) = self.runner.stage_and_ready(setup).ok_or_else(|| not_open(setup))?;
            built.push(stage.build()?);
        }
        Ok(build_words(&built[0], &built[1], names))
    }

    /// The data on the server of a setup for its workload, or why they are unknown.
    fn data_of(&mut self, setup: &Setup) -> Result<Result<ServerData, String>, Error> {
        let is_redis = matches!(levels::spec_of(&self.plan.content, setup)?, Spec::Redis(_));
        let (stage, ready) = self.runner.stage_and_ready(setup).ok_or_else(|| not_open(setup))?;
        // Redis commands name no tables.
        let texts = ready.workload.texts().into_iter().filter(|_| !is_redis);
        let texts: Vec<String> =
            texts.map(|asked| String::from_utf8_lossy(&asked.text).into_owned()).collect();
        stage.look_by(setup.search_path())?;
        let mut held = ask(stage.control()?, &texts);
        stage.look_by(None)?;
        if let Ok(held) = &mut held
            && is_redis
        {
            held.redis_keys =
                stage.with_site(|site| workloads::redis::number_of_keys(&mut *site.redis()?))?;
        }
        Ok(held.map_err(|error| error.to_string()))
    }

    fn needed(&self, runs: &[PlannedRun]) -> (Vec<Open>, Vec<Pair>) {
        let (mut opened, mut compared) = (BTreeSet::new(), BTreeSet::new());
        let (mut to_open, mut pairs) = (Vec::new(), Vec::new());
        for run in runs {
            let (base, other) = (setups::base_setup(self.plan, run), setups::setup(self.plan, run));
            for (setup, of) in base.iter().map(|base| (base, None)).chain([(&other, base.as_ref())]) {
                if opened.insert(setup.asked()) {
                    to_open.push(Open { setup: setup.clone(), base: of.cloned(), arm: run.arm.clone() });
                }
            }
            // Settings do not change answers, except for the search path; other data should change them.
            let same = |base: &Setup| {
                let by_one_text = base.asked() == other.asked() && base.search_path() == other.search_path();
                // Other jobs return nothing that could be compared.
                run.is_job() && !self.makes_tiles(&other)
                    || by_one_text && base.changes == other.changes
                    || base.at().data != other.at().data
            };
            if let Some((base, arm)) = base.filter(|base| !same(base)).zip(run.arm.clone())
                && compared.insert((other.asked(), arm.clone()))
            {
                pairs.push(Pair { base, other, arm });
            }
        }
        (to_open, pairs)
    }

    fn makes_tiles(&self, setup: &Setup) -> bool {
        levels::spec_of(&self.plan.content, setup).is_ok_and(|spec| matches!(spec, Spec::Tiles(_)))
    }

    /// If users' factors change the server, a workload is checked in the state of its arm.
    fn in_its_state(&mut self, setup: &Setup) -> Result<(), Error> {
        if setup.changes.is_some() {
            self.runner.switch_to(setup)?;
        }
        Ok(())
    }

    /// A script for a replica is executed first on one.
    fn with_replicas(&mut self, setup: &Setup, spec: &Spec) -> Result<(), Error> {
        if spec.load_targets().contains(&LoadTarget::Replica) && !setup.topology.is_alone() {
            self.runner.switch_to(setup)?;
            self.runner.replicate(setup)?;
        }
        Ok(())
    }

    fn open(&mut self, Open { setup, base, arm }: &Open) -> Result<(), Error> {
        let name = setup.asked();
        let spec = levels::spec_of(&self.plan.content, setup)?;
        self.with_replicas(setup, &spec)?;
        let chosen = base.as_ref().filter(|base| {
            let by_one_rule =
                levels::spec_of(&self.plan.content, base).is_ok_and(|of| of.chooses_like(&spec));
            // Only the other data know what can be requested from them.
            by_one_rule && base.at().data == setup.at().data
        });
        let chosen = chosen.and_then(|base| Some(self.runner.ready(&base.asked())?.prepared.clone()));
        let workload = spec.open(self.folder)?;
        if let Some(job) = workload.job() {
            // Created here, so that no run waits for it, and again before a run if it is missing then.
            let (_, progress, stop) = self.runner.on_stage(&setup.at())?;
            make_extract(job, progress, stop)?;
        }
        let (stage, progress, _) = self.runner.on_stage(&setup.at())?;
        stage.lets_through(&*workload)?;
        stage.look_by(setup.search_path())?;
        let how = (self.plan.seed(), self.plan.try_first.unwrap_or(true), self.plan.check_time());
        let mut ready = Ready::guarded(stage, &name, workload, how, chosen.as_ref(), progress)?;
        stage.look_by(None)?;
        // The choice of an earlier invocation, stored with its first run, must equal the present one.
        if let Some(before) = self.results.artifact(&format!("prepared/{name}"))? {
            if before.bytes != ready.prepared.json.as_bytes() {
                return Err(changed_data(&name));
            }
            ready.artifacts.clear();
        }
        if let (Some(_), None, Some(arm)) = (base, &chosen, arm)
            && spec.chooses_like(&spec)
        {
            let told = format!("{}: {arm} asks for {}", setup.workload, ready.prepared.summary);
            self.remark(&name, arm, RunEvent::OWN_CHOICE, told);
        }
        self.texts.extend(texts::of_workload(&format!("workload {name}"), &*ready.workload));
        let empty = ready.guarded.empty.clone();
        self.runner.add(&name, ready);
        if let Some(why) = empty
            && !self.leaves_out_empty(&name, base.as_ref(), &why)
        {
            self.runner.progress.warn(format!("{name} does nothing, so its runs are invalid: {why}"));
        }
        Ok(())
    }

    /// Leaves out a workload that does nothing, where its base does something.
    fn leaves_out_empty(&mut self, name: &str, base: Option<&Setup>, why: &str) -> bool {
        let of_base = base.and_then(|base| self.runner.ready(&base.asked()));
        if of_base.is_none_or(|base| base.guarded.empty.is_some()) {
            return false;
        }
        let error = Error::new(Class::Guard, format!("it does nothing: {why}"));
        self.or_leave_out(Err(error), |of| of.asked() == name).is_ok()
    }

    fn sample(&mut self, setup: &Setup, state: usize) -> Result<(), Error> {
        let key = asked(setup, state);
        if self.samples.contains_key(&key) {
            return Ok(());
        }
        self.in_its_state(setup)?;
        let by = setup.search_path().map(|path| format!(" by search_path {path}")).unwrap_or_default();
        self.runner
            .progress
            .step(ExperimentStep::Guard, format!("{}: what does it answer{by}?", setup.asked()));
        let (stage, ready) = self.runner.stage_and_ready(setup).ok_or_else(|| not_open(setup))?;
        let seed = self.plan.seed();
        stage.look_by(setup.search_path())?;
        if ready.workload.clients().is_some() {
            stage.start_tile_servers()?;
        }
        let given = self.plan.check_time();
        let mut unheard = ();
        let checked = Checked::new(&mut unheard);
        let hears = |note| checked.hear(note);
        let time = CheckTime::begin(given, &hears);
        let sampled = stage.with_site_for(time, |site| ready.workload.sample(site, seed))?;
        stage.look_by(None)?;
        if let Some(words) = checked.not_looked_words("compared", given) {
            let told = format!("{}: {words}", setup.workload);
            self.runner.progress.warn(told.clone());
            if let Some(arm) = setup.arm.as_ref().and_then(|arm| arm.name.clone()) {
                self.remark(&setup.asked(), &arm, RunEvent::REMARK, told);
            }
        }
        self.samples.insert(key, sampled);
        Ok(())
    }

    /// Whether both arms got the same answers. Differences are reported before any speed, and with each run
    /// of the arm.
    fn compare(&mut self, Pair { base, other, arm }: &Pair, states: [usize; 2]) {
        let of = self.plan.content.compare.as_ref().map_or("", |compare| &compare.base);
        let called = self.plan.content.arm_words(arm);
        let [theirs, ours] =
            [(base, states[0]), (other, states[1])].map(|(setup, state)| &self.samples[&asked(setup, state)]);
        for not_taken in [theirs, ours] {
            if let Sampled::NotTaken(why) = not_taken {
                let told =
                    format!("{}: answers of {of} and {called} are not compared: {why}", other.workload);
                return self.runner.progress.note(told);
            }
        }
        let differences = ours.differences(theirs);
        if let Some(layers) = not_compared(ours.without_other(theirs), of) {
            let told = format!("{}: {called} {layers}", other.workload);
            self.runner.progress.warn(told.clone());
            self.remark(&other.asked(), arm, RunEvent::OTHER_ANSWERS, told);
        } else if differences.is_empty() {
            let told = format!("{}: {called} answers as {of} does", other.workload);
            self.runner.progress.note(told.clone());
            return self.remark(&other.asked(), arm, RunEvent::SAME_ANSWERS, told);
        }
        for difference in differences {
            let told = format!("{}: {called} {}", other.workload, difference.words(of));
            self.runner.progress.warn(told.clone());
            self.remark(&other.asked(), arm, RunEvent::OTHER_ANSWERS, told);
            let detail = serde_json::to_string(&difference).expect("plain data");
            self.remark(&other.asked(), arm, RunEvent::ANSWER_DIFFERENCE, detail);
        }
    }

    fn remark(&mut self, asked: &str, arm: &str, kind: &str, detail: String) {
        let event = RunEvent { time_us: 0, kind: kind.to_owned(), detail };
        self.remarks.entry((asked.to_owned(), arm.to_owned())).or_default().push(event);
    }
}

fn not_open(setup: &Setup) -> Error {
    Error::new(Class::Internal, format!("no workload {}", setup.asked()))
}

/// Which layers are not compared, if any; `of` is the base.
fn not_compared([other, of_base]: [Vec<&str>; 2], of: &str) -> Option<String> {
    let other = (!other.is_empty()).then(|| format!("asks for {}, which {of} does not", other.join(", ")));
    let of_base =
        (!of_base.is_empty()).then(|| format!("does not ask for {}, as {of} does", of_base.join(", ")));
    let both: Vec<String> = other.into_iter().chain(of_base).collect();
    (!both.is_empty()).then(|| {
        format!(
            "{}: tiles of a layer are compared only where both have it, or one in its place",
            both.join(", and ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_that_cannot_be_compared_are_told_in_one_sentence() {
        assert_eq!(not_compared([vec![], vec![]], "old"), None);
        let told = not_compared([vec!["ab"], vec!["a", "b"]], "old").unwrap();
        let wanted = "asks for ab, which old does not, and does not ask for a, b, as old does: tiles of a layer are compared only \
                      where both have it, or one in its place";
        assert_eq!(told, wanted);
    }
}
