//! Arms that fail before anything is measured: the others are compared without them.

use std::collections::BTreeSet;

use server::change::{ChangeFailure, ChangeFailureKind};
use spec::plan::change::ChangePart;
use spec::plan::{Fact, Needed, Plan, PlannedRun};
use spec::{Class, Error};

use crate::plan::availability;
use crate::runner::{Progress, ProgressExt};

/// Attached to the error of an arm that fails its checks, where the base passed the same checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedArm {
    pub base: String,
    pub arm: String,
}

/// The runs of a plan that are left, and why the others are left out.
#[derive(Debug)]
pub(super) struct FailedArms<'p> {
    plan: &'p Plan,
    /// Runs that are left out, by their sequence.
    runs: BTreeSet<u32>,
    facts: Vec<Fact>,
}

impl<'p> FailedArms<'p> {
    pub(super) fn new(plan: &'p Plan) -> Self {
        Self { plan, runs: BTreeSet::new(), facts: Vec::new() }
    }

    /// Whether a run is not left out.
    pub(super) fn has(&self, run: &PlannedRun) -> bool {
        !self.runs.contains(&run.sequence)
    }

    /// Whether it is still open which arms are measured.
    pub(super) fn may_leave_out(&self) -> bool {
        self.plan.decisions.left_out.needs().any(|needed| needed == Needed::Checks)
    }

    /// Whether the base and another arm are left without these runs, if there are any.
    pub(super) fn can_do_without(&self, fails: impl Fn(&PlannedRun) -> bool) -> bool {
        let Some(compare) = self.plan.content.compare.as_ref().filter(|_| self.may_leave_out()) else {
            return false;
        };
        let is_base = |run: &PlannedRun| run.arm.as_ref() == Some(&compare.base);
        let (failed, left): (Vec<&PlannedRun>, Vec<&PlannedRun>) =
            self.plan.runs.iter().filter(|run| self.has(run)).partition(|run| fails(run));
        let has_more = failed.iter().any(|run| run.beside || run.arm.is_none() || is_base(run));
        let is_compared = left.iter().any(|run| !run.beside && !is_base(run));
        !failed.is_empty() && !has_more && is_compared
    }

    /// Leaves out the runs that fail with this error.
    ///
    /// # Errors
    /// The error itself, if it concerns the base or more than an arm, or if nothing is left to compare.
    pub(super) fn leave_out(
        &mut self,
        fails: impl Fn(&PlannedRun) -> bool,
        error: Error,
        progress: &mut dyn Progress,
    ) -> Result<(), Error> {
        self.leave_out_after(fails, false, error, progress)
    }

    /// The same, if it is known whether the base passed what fails now: then the error has a [`FailedArm`] attached.
    ///
    /// # Errors
    /// As [`Self::leave_out`].
    pub(super) fn leave_out_after(
        &mut self,
        fails: impl Fn(&PlannedRun) -> bool,
        base_passed: bool,
        error: Error,
        mut progress: &mut dyn Progress,
    ) -> Result<(), Error> {
        if !concerns_an_arm(&error) || !self.can_do_without(&fails) {
            return Err(match self.only_arm(&fails, &error).filter(|_| base_passed) {
                Some(failed) => {
                    let words = error.to_string();
                    error.in_words(words).attach(failed)
                }
                None => error,
            });
        }
        let failed: Vec<&PlannedRun> =
            self.plan.runs.iter().filter(|run| self.has(run) && fails(run)).collect();
        let why = in_one_line(&error);
        let now: BTreeSet<u32> = failed.iter().map(|run| run.sequence).collect();
        let parts: BTreeSet<String> = failed.iter().map(|run| self.part(run, &now)).collect();
        for what in parts {
            progress.warn(format!("{what} is left out: {why}"));
            self.facts.push(Fact::Failed { what, why: why.clone() });
        }
        self.runs.extend(now);
        Ok(())
    }

    /// The only arm of the runs that fail with this error, if it is compared with a base that is not among them.
    fn only_arm(&self, fails: impl Fn(&PlannedRun) -> bool, error: &Error) -> Option<FailedArm> {
        let base = &self.plan.content.compare.as_ref().filter(|_| concerns_an_arm(error))?.base;
        let mut failed = self.plan.runs.iter().filter(|run| self.has(run) && fails(run));
        let arm = failed.next()?.arm.as_ref().filter(|arm| *arm != base)?;
        let is_only = failed.all(|run| run.arm.as_ref() == Some(arm) && !run.beside);
        is_only.then(|| FailedArm { base: base.clone(), arm: arm.clone() })
    }

    /// The whole arm of a run if all of its runs fail now, else the arm in the run's cell.
    fn part(&self, run: &PlannedRun, now: &BTreeSet<u32>) -> String {
        let mut own = self.plan.runs.iter().filter(|other| other.arm == run.arm);
        let is_whole = own.all(|other| now.contains(&other.sequence));
        let arm = availability::of_arm(self.plan, run).filter(|_| is_whole);
        arm.unwrap_or_else(|| availability::of_cell(self.plan, run))
    }

    pub(super) fn into_facts(self) -> Vec<Fact> {
        self.facts
    }
}

/// Whether the other arms can still be measured: not after a bug of pgdyno, a full disk here, or a change of a
/// server that could not be undone.
fn concerns_an_arm(error: &Error) -> bool {
    let is_changed = error.attached().is_some_and(|failure: &ChangeFailure| {
        failure.kind == ChangeFailureKind::NotUndone || failure.part == Some(ChangePart::Undo)
    });
    !is_changed && !matches!(error.class(), Class::Internal | Class::Interrupted | Class::Io)
}

/// Text and advice, to stand within a sentence: without the excerpt in which PostgreSQL marks a position.
fn in_one_line(error: &Error) -> String {
    let text = error.to_string();
    let is_excerpt = |line: &&str| line.starts_with("LINE ") || line.trim_matches('^').is_empty();
    let lines = text.lines().map(str::trim).filter(|line| !is_excerpt(line));
    let lines: Vec<&str> = lines.map(|line| line.trim_end_matches(['.', ';'])).collect();
    let hint = error.hint().map(|hint| format!(" (try: {hint})")).unwrap_or_default();
    lines.join("; ") + &hint
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use spec::plan::Facts;

    use super::*;
    use crate::event::LabEvent;
    use crate::experiment::ExperimentFile;
    use crate::facts::of_files;
    use crate::plan::resolve;

    struct Warnings(Vec<String>);

    impl Progress for Warnings {
        fn event(&mut self, event: LabEvent) {
            if let LabEvent::Warning { text } = event {
                self.0.push(text);
            }
        }
    }

    fn file(arms: &[&str], workloads: &[&str]) -> ExperimentFile {
        let mut text = "question = \"?\"\n[target]\nmanaged = {}\n".to_owned();
        for name in workloads {
            text += &format!("[workload.{name}]\npgbench = {{ builtin = \"select-only\" }}\n");
        }
        text += &format!("[factors]\nworkload = {workloads:?}\nclients = [1, 8]\n");
        text += &format!("[compare]\nfactor = \"settings\"\nbase = {:?}\n", arms[0]);
        for (at, arm) in arms.iter().enumerate() {
            text += &format!("[settings.{arm}]\nwork_mem = \"{}MB\"\n", at + 4);
        }
        text += "[measure]\nrounds = 4\n";
        ExperimentFile::parse(Path::new("e.toml"), &text, false, &|_| None).unwrap()
    }

    fn missing() -> Error {
        let text =
            "relation \"roads\" does not exist.\nLINE 1: SELECT 1 FROM roads;\n     ^\nstatement: SELECT;";
        Error::new(Class::Missing, text).with_hint("make it")
    }

    /// Which arms are left of each workload, after the runs of these failed; or the error.
    fn left(file: &ExperimentFile, failing: &[(&str, &str)]) -> Result<(Vec<String>, Vec<String>), String> {
        let mut facts: Facts = of_files(file).unwrap();
        let before = resolve(file, &facts).unwrap();
        let (mut failed, mut warnings) = (FailedArms::new(&before), Warnings(Vec::new()));
        for (workload, arm) in failing {
            let fails = |run: &PlannedRun| {
                run.arm.as_deref() == Some(*arm) && (workload.is_empty() || run.workload == *workload)
            };
            failed.leave_out(fails, missing(), &mut warnings).map_err(|error| error.to_string())?;
        }
        let kept: Vec<u32> =
            before.runs.iter().filter(|run| failed.has(run)).map(|run| run.sequence).collect();
        for fact in failed.into_facts() {
            facts.learn(fact);
        }
        facts.learn(Fact::Checked);
        let plan = resolve(file, &facts).unwrap();
        assert_eq!(plan.content, before.content);
        let own = |run: &PlannedRun| format!("{} {}", run.workload, run.arm.as_deref().unwrap_or_default());
        let runs: BTreeSet<String> = plan.runs.iter().map(own).collect();
        let compared = before.runs.iter().filter(|run| kept.contains(&run.sequence));
        assert!(plan.runs.len() <= compared.count());
        let told = plan.not_run().iter().map(|own| format!("{}: {}", own.what, own.why)).collect();
        assert_eq!(warnings.0.len(), plan.not_run().len());
        Ok((runs.into_iter().collect(), told))
    }

    #[test]
    fn two_good_arms_of_three_are_compared() {
        let three = file(&["a", "b", "c"], &["w"]);
        let (runs, told) = left(&three, &[("", "b")]).unwrap();
        assert_eq!(runs, ["w a", "w c"]);
        assert_eq!(told, ["settings b: relation \"roads\" does not exist; statement: SELECT (try: make it)"]);
    }

    #[test]
    fn where_nothing_is_left_to_compare_the_error_stays() {
        let text = missing().to_string();
        let three = file(&["a", "b", "c"], &["w"]);
        for failing in [&[("", "a")][..], &[("", "b"), ("", "c")], &[("", "none")]] {
            assert_eq!(left(&three, failing).unwrap_err(), text, "{failing:?}");
        }
        assert_eq!(left(&file(&["a", "b"], &["w"]), &[("", "b")]).unwrap_err(), text);
    }

    /// With two workloads, the arm is still measured in the other one.
    #[test]
    fn an_arm_that_fails_in_one_workload_is_left_in_the_others() {
        let (runs, told) = left(&file(&["a", "b"], &["v", "w"]), &[("v", "b")]).unwrap();
        assert_eq!(runs, ["w a", "w b"]);
        assert!(told[0].starts_with("workload v, settings b: relation"), "{told:?}");
        let (runs, told) = left(&file(&["a", "b", "c"], &["v", "w"]), &[("v", "b"), ("w", "b")]).unwrap();
        assert_eq!(runs, ["v a", "v c", "w a", "w c"]);
        assert_eq!(told.len(), 2, "{told:?}");
    }

    #[test]
    fn what_stops_pgdyno_is_not_left_out() {
        let file = file(&["a", "b", "c"], &["w"]);
        let plan = resolve(&file, &of_files(&file).unwrap()).unwrap();
        for class in [Class::Interrupted, Class::Internal, Class::Io] {
            let mut failed = FailedArms::new(&plan);
            let fails = |run: &PlannedRun| run.arm.as_deref() == Some("b");
            let error = failed.leave_out(fails, Error::new(class, "x"), &mut Warnings(Vec::new()));
            assert_eq!(error.unwrap_err().class(), class);
        }
    }
}
