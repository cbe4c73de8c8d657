//! Carries out an experiment, whichever command made it: from plan to answer and report.

use std::path::Path;

use ::report::{Conclusion, ReportData, Step};
use lab::execute::{self, ExecutionOptions, Looked, Outcome, Planned, SuspendedRuns, UnstoredRuns};
use lab::experiment::ExperimentFile;
use lab::foresight::foresee;
use lab::plan::{self};
use results::answer::{Answer, of_ladders};
use results::comparison::{ArmComparison, Comparison, Metric};
use results::data::Wanted;
use results::ladder::ladders;
use results::{ExperimentId, Store};
use server::Stop;
use server::home::results_option;
use spec::plan::{OrderScheme, Plan};
use spec::{Class, Error, FileCommand, Judgement};

use super::calibrate::shown as calibration;
use super::part::AskedPart;
use super::{
    by_zoom, jobs, loaded, print, print_answer, print_blocks, print_compared, print_conclusion,
    report as page, signals, sources, typed,
};
use crate::exit::{self, ExitResult, SAME_OR_BETTER};
use crate::options::{OutputArgs, OutputFormat};
use crate::print::{data, talk, warning};
use crate::progress::Screen;

/// Options for running an experiment from any source.
#[derive(Clone)]
pub(super) struct How<'a> {
    pub(super) name: String,
    pub(super) dry_run: bool,
    pub(super) again: bool,
    pub(super) report: Option<&'a Path>,
    pub(super) pg_bin: Option<&'a Path>,
    pub(super) output: &'a OutputArgs,
    pub(super) part: AskedPart,
    pub(super) shown: Shown,
    /// Whether the output is only a short answer, with temporary progress.
    pub(super) is_brief: bool,
    /// Whether the user made the experiment, or agreed to what its file takes.
    pub(super) consents: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// The answer to its question; of ladders, those with a promise.
    Answer,
    Ladders,
    /// The answer, and figures of tiles by layer and zoom.
    Tiles,
}

/// Ctrl-C from now on: at once where only jobs are done, else also between runs.
pub(super) fn listen(file: &ExperimentFile) -> std::io::Result<Stop> {
    match file.goes_on_at_any_time() {
        true => signals::listen_at_once(),
        false => signals::listen(),
    }
}

impl How<'_> {
    pub(super) fn can_report(&self) -> anyhow::Result<()> {
        self.report.map_or(Ok(()), page::check_writable)
    }

    pub(super) fn carry_out(&self, file: &ExperimentFile) -> ExitResult {
        self.carry_out_by(file, None, &listen(file)?)
    }

    pub(super) fn options(&self, level: Option<&str>) -> ExecutionOptions {
        ExecutionOptions {
            results: self.part.results(&self.output.results.path()),
            again: self.again,
            further_round: None,
            part: self.part.part,
            patience: self.part.patience,
            level: level.map(str::to_owned),
            statements: false,
            pg_bin: self.pg_bin.map(Path::to_owned),
            command: Some(typed::command()),
        }
    }

    /// `level` belongs to a factor that is set by hand.
    pub(super) fn carry_out_by(&self, file: &ExperimentFile, level: Option<&str>, stop: &Stop) -> ExitResult {
        let mut screen = self.screen();
        let options = self.options(level);
        let allowed = sources::Allowed { dry_run: self.dry_run, consents: self.consents };
        let built = sources::built(allowed, (file, &options), &mut screen, stop)?;
        let file = built.as_ref().map_or(file, |built| &built.file);
        let mut planned = self.announced(file, &options, &mut screen, stop)?;
        self.check_arms(file, &planned.plan)?;
        if self.dry_run {
            let shown = self.dry_run(file, &mut planned, &mut screen)?;
            return planned.fails.map_or(Ok(shown), |error| Err(error.into()));
        }
        let Planned { plan, facts, .. } = planned;
        let _measuring = self.output.measuring(&plan, &mut screen);
        let outcome = execute::run(file, facts, &options, &mut screen, stop);
        drop(screen);
        match outcome {
            Ok(outcome) if file.has_only_jobs() => self.jobs_done(&outcome, &plan),
            Err(error) if file.has_only_jobs() => {
                Err(jobs::print_unstored(error, &plan, self.output.format.format))
            }
            Ok(_) if self.part.is_of_a_load() => {
                self.part.tell(&options.results);
                Ok(SAME_OR_BETTER)
            }
            Ok(outcome) => {
                let code = self.conclude(&options.results, outcome.experiment);
                self.part.tell(&options.results);
                code
            }
            Err(error) => {
                let unstored =
                    error.attached().and_then(|runs: &UnstoredRuns| calibration::of_unstored(runs));
                if let Some(found) = unstored {
                    calibration::show(&found, self.output.format.format)?;
                }
                // A summary of the finished runs is useful, even if some must be measured again.
                if let Some(SuspendedRuns { experiment }) = error.attached()
                    && let Err(untold) = self.conclude(&options.results, *experiment)
                {
                    warning(&format!("what was measured could not be printed: {untold:#}"));
                }
                Err(error.into())
            }
        }
    }

    /// Plans it, and says what will be done.
    pub(super) fn announced(
        &self,
        file: &ExperimentFile,
        options: &ExecutionOptions,
        screen: &mut Screen,
        stop: &Stop,
    ) -> anyhow::Result<Planned> {
        for note in &file.notes {
            warning(note);
        }
        let planned = execute::planned(file, options, self.dry_run, stop)?;
        let Planned { plan, facts, kept, .. } = &planned;
        for line in plan::words(plan).into_iter().chain(foresee(plan, &options.results)) {
            screen.line(&line);
        }
        if let Some(over) = plan::over_budget(plan, file) {
            warning(&over);
        }
        if *kept > 0 {
            screen.line(&format!(
                "{kept} of {} runs are stored in {}",
                plan.runs.len(),
                options.results.display()
            ));
            plan::warm_up_words(plan, facts).iter().for_each(|words| screen.line(words));
        }
        Ok(planned)
    }

    pub(super) fn screen(&self) -> Screen {
        match self.is_brief && !self.dry_run && !self.output.verbose {
            true => Screen::brief(),
            false => Screen::new(self.output.verbose),
        }
    }

    fn check_arms(&self, file: &ExperimentFile, plan: &Plan) -> Result<(), Error> {
        match plan::equal_arms(plan).filter(|_| !file.allows_same()) {
            Some([one, other]) => {
                let what = format!("{}: arms {one} and {other} are the same", self.name);
                Err(Error::new(Class::BadInput, what).with_hint("give --same if A against A is meant"))
            }
            None => Ok(()),
        }
    }

    /// Prints the plan, run by run, for people the first runs of very many; only reads from the server.
    fn dry_run(&self, file: &ExperimentFile, planned: &mut Planned, screen: &mut Screen) -> ExitResult {
        // An address of somebody else's file decides who receives a password.
        let takes = |command: &FileCommand| command.by.is_none() && command.outside.is_none();
        match !self.consents && file.commands().iter().any(takes) {
            true => warning("its servers are not asked anything without consent: --allow-commands"),
            false => self.look(file, planned, screen)?,
        }
        let (format, runs) = (self.output.format.format, planned.plan.runs.len());
        let is_read = format.is_for_people() && !self.output.verbose;
        let most = if is_read { plan::MOST_READ } else { usize::MAX };
        print(plan::table(&planned.plan, most), format)?;
        if runs > most {
            talk(&format!(
                "these are the first {most} of {runs} runs; all of them: --verbose, or --format csv"
            ));
        }
        Ok(SAME_OR_BETTER)
    }

    /// Asks the servers whether they can be brought to all settings, and have room for the data.
    fn look(&self, file: &ExperimentFile, planned: &mut Planned, screen: &mut Screen) -> anyhow::Result<()> {
        let before = planned.plan.not_run().len();
        match execute::look(file, (&mut planned.plan, &mut planned.facts), screen)? {
            Looked::Nothing => {}
            Looked::Checked => talk(match planned.plan.not_run().len() > before {
                true => "settings: the server at hand accepts the settings of the other arms",
                false => "settings: the server at hand can be brought to all of them",
            }),
            Looked::NotChecked(why) => warning(&format!(
                "the settings could not be checked, no server is at hand ({why}); a run checks them before it prepares anything"
            )),
        }
        for said in execute::look_at_sizes(file, &planned.plan)? {
            talk(&said);
        }
        Ok(())
    }

    /// Prints figures of tiles below the answer for people; returns whether there were any.
    fn print_tiles(&self, stored: (&Store, ExperimentId), found: &ReportData) -> anyhow::Result<bool> {
        let format = self.output.format.format;
        match self.shown {
            Shown::Tiles => by_zoom::print_below(stored, found, (self.output.verbose, format)),
            Shown::Answer | Shown::Ladders => Ok(false),
        }
    }

    fn jobs_done(&self, outcome: &Outcome, plan: &Plan) -> ExitResult {
        if let Some(path) = self.report {
            let found = loaded(&Store::open_read_only(&outcome.results)?, outcome.experiment, Wanted::ALL)?;
            page::write(path, &found)?;
            talk(&format!("report:  {}", path.display()));
        }
        jobs::conclude(outcome, plan, self.output.format.format)
    }

    fn conclude(&self, results: &Path, experiment: ExperimentId) -> ExitResult {
        let store = Store::open_read_only(results)?;
        if can_decide(&store, experiment)?
            && let Ok(mut store) = Store::create_or_open(results)
        {
            let _ = store.look(experiment);
        }
        let wanted = match (self.report, self.shown) {
            (Some(_), _) => Wanted::ALL,
            (None, Shown::Answer) => Wanted::ANSWER,
            (None, _) => Wanted::FIGURES,
        };
        let found = loaded(&store, experiment, wanted)?;
        let found = if self.report.is_some() { found.with_tiles(&store)? } else { found };
        if let Some(calibrated) = calibration::of_stored(&found) {
            calibration::show(&calibrated, self.output.format.format)?;
            let tried = format!("pgdyno table runs -e {}", experiment.0);
            talk(&format!("results: {} (try: {tried})", results.display()));
            return self.written_report(&found).map(|()| SAME_OR_BETTER);
        }
        // By response times, if schedules set the throughput.
        let compared = found.compared();
        let without_pairs =
            compared.is_none().then(|| Comparison::of(&found.experiment, &found.runs, Metric::Tps));
        let comparison = compared.or(without_pairs.as_ref().and_then(Option::as_ref));
        let limits = report::tables::limits(&found);
        match (self.output.format.format, comparison) {
            (format, _) if limits.is_some() && format != OutputFormat::Text => {
                limits.map_or(Ok(()), |limits| print(&limits, format))?;
            }
            (OutputFormat::Text, _) => {
                let conclusion = self.with_report(Conclusion::of(&found), &found, results);
                print_conclusion(&conclusion, OutputFormat::Text)?;
                print_ladders(&found, OutputFormat::Text, (self.shown, self.output.verbose))?;
                self.print_tiles((&store, experiment), &found)?;
                if self.output.verbose {
                    data(&format!("\nDetails:\n{}", report::summary::text(&found)))?;
                    let users = Some(report::tables::users_in_words(&found));
                    print_blocks(
                        &users.filter(|_| found.limits().is_none()).unwrap_or_default(),
                        OutputFormat::Text,
                    )?;
                }
            }
            (OutputFormat::Md, _) if self.shown == Shown::Ladders => {
                print_conclusion(&Conclusion::of(&found), OutputFormat::Md)?;
                print_ladders(&found, OutputFormat::Md, (self.shown, self.output.verbose))?
            }
            (format, _) if self.shown == Shown::Ladders => print(report::tables::ladder(&found), format)?,
            (OutputFormat::Md, Some(comparison)) => {
                let tables = report::tables::compared_for_people(&found, comparison);
                print_answer(&found, tables, self.output.verbose, OutputFormat::Md)?;
                self.print_tiles((&store, experiment), &found)?;
            }
            (format, Some(comparison)) => {
                print_compared(&found, comparison, format)?;
                self.print_tiles((&store, experiment), &found)?;
            }
            (format, None) if self.shown == Shown::Tiles => {
                print_conclusion(&Conclusion::of(&found), format)?;
                if !self.print_tiles((&store, experiment), &found)? {
                    print(by_zoom::table(&found), format)?;
                }
            }
            (format, None) => print(report::tables::cells(&found), format)?,
        }
        talk(&format!("results: {}", results.display()));
        self.written(comparison, &found)
    }

    /// Names the command that shows the details, unless the report is written anyway.
    fn with_report(&self, mut of: Conclusion, found: &ReportData, results: &Path) -> Conclusion {
        if self.report.is_none() {
            let which = spec::shell::word(found.called());
            of.next.push(Step::Command(format!("pgdyno report -e {which}{}", results_option(results))));
        }
        of
    }

    fn written_report(&self, found: &ReportData) -> anyhow::Result<()> {
        if let Some(path) = self.report {
            page::write(path, found)?;
            talk(&format!("report:  {}", path.display()));
        }
        Ok(())
    }

    /// Writes the report if wanted, and returns the exit code.
    fn written(&self, comparison: Option<&Comparison>, found: &ReportData) -> ExitResult {
        self.written_report(found)?;
        let judgement = Answer::of(found).judgement;
        let is_answered = comparison.is_some() || found.limits().is_some() || judgement == Judgement::Invalid;
        Ok(exit::of_judgement(match self.shown {
            Shown::Ladders if !is_answered => of_ladders(&ladders(found)),
            _ => judgement,
        }))
    }
}

/// Whether a look at the verdicts can end the experiment early: not while a level that is set by hand has one set.
fn can_decide(store: &Store, experiment: ExperimentId) -> anyhow::Result<bool> {
    if store.experiment(experiment)?.experiment.order_scheme != OrderScheme::Sets {
        return Ok(true);
    }
    let found = loaded(store, experiment, Wanted::ANSWER)?;
    let has_error =
        |arm: &ArmComparison| arm.grid.is_some_and(|figure| figure.grid.estimate.standard_error.is_some());
    Ok(found.compared().is_some_and(|of| of.arms.iter().any(has_error)))
}

/// Prints the ladders, with name and breaking point; with all ladders and details, also how throughput grows with
/// clients.
fn print_ladders(
    found: &ReportData,
    format: OutputFormat,
    (shown, with_details): (Shown, bool),
) -> anyhow::Result<()> {
    let all = shown == Shown::Ladders;
    let mut blocks = report::tables::ladders_in_words(found, !all);
    if all && with_details {
        blocks.extend(report::tables::scalings_in_words(found));
    }
    print_blocks(&blocks, format)
}
