//! Stores, writes and prints what a gate found.

use ::report::gate::GateReport;
use jiff::Timestamp;
use lab::experiment::ExperimentFile;
use results::gate::{GateAnswer, GateHistory};
use results::{ExperimentId, Store};
use spec::{GateRecord, Judgement};

use super::commits::{self, Known};
use super::files::GateFolder;
use super::measuring::{Found, Gate, Measured};
use crate::exit::{self, ExitResult};
use crate::options::OutputFormat;
use crate::print::{data, talk, warning};

pub(super) fn concluded(
    gate: &Gate<'_>,
    file: &ExperimentFile,
    found: &Found,
    folder: &GateFolder,
) -> ExitResult {
    let (measured, answer) = match found {
        Found::Measured(measured) => (Some(&**measured), measured.answer.clone()),
        Found::Same(arms) => (None, GateAnswer::unmeasured(Judgement::Same, arms.clone(), file.metric())),
        Found::Failed(failed, why) => {
            let arms = [failed.base.clone(), failed.arm.clone()];
            let failure = Some(format!("it cannot run the workload, and {} can: {why}", failed.base));
            (None, GateAnswer { failure, ..GateAnswer::unmeasured(Judgement::Worse, arms, file.metric()) })
        }
    };
    let record = record(gate, file, measured, &answer);
    let notes = notes(found, &record);
    let history = history(gate, measured.map(|measured| measured.experiment), &record)?;
    let exit_code = exit::of_judgement(answer.judgement);
    let data = measured.map(|measured| &measured.data);
    let report = GateReport {
        record: &record,
        answer: &answer,
        data,
        against: measured.and_then(|measured| measured.against.as_ref()),
        looks: (measured.map_or(0, |found| found.looks), gate.planned),
        history: &history,
        notes: &notes,
        files: &folder.names(data, &record, &history),
        exit_code,
    };
    folder.write(&report)?;
    print(gate, &report)?;
    talk(&format!("summary: {}", folder.summary().display()));
    if answer.judgement == Judgement::Undecided && !gate.args.budget.is_zero() {
        warning("the budget was spent, and it is not decided");
    }
    Ok(exit_code)
}

fn record(gate: &Gate<'_>, file: &ExperimentFile, of: Option<&Measured>, answer: &GateAnswer) -> GateRecord {
    let args = gate.args;
    let known: Known<'_> = (of.map(|of| &of.commits), of.map(|of| &of.data));
    let commit = commits::judged(args, known, answer);
    GateRecord {
        name: args.name.clone().unwrap_or_else(|| file.name().to_owned()),
        arm: answer.arm.clone(),
        base: answer.base.clone(),
        commit: commit.as_ref().map_or(String::new(), |commit| commit.id.clone()),
        subject: commit.map(|commit| commit.subject).filter(|subject| !subject.is_empty()),
        base_commit: commits::base(args, known, gate.base, answer),
        judged_at: Timestamp::now().to_string(),
        metric: answer.metric,
        judgement: answer.judgement,
        log_ratio: answer.change.map(|change| change.log_ratio),
        interval: answer.change.and_then(|change| change.interval(0.95)),
    }
}

fn notes(found: &Found, record: &GateRecord) -> Vec<String> {
    let of_runs = match found {
        Found::Same(_) => Some("both arms are the same, byte for byte, so nothing was measured".to_owned()),
        Found::Failed(..) => Some("nothing was measured, so this gate is in no history".to_owned()),
        Found::Measured(measured) => measured.is_stored.then(|| {
            format!(
                "nothing that it measures changed since experiment {} was measured, so its stored runs were judged",
                measured.experiment.0
            )
        }),
    };
    let without = record.commit.is_empty() && matches!(found, Found::Measured(_));
    let without = without.then(|| "no commit is known (--commit), so this gate is in no history".to_owned());
    of_runs.into_iter().chain(without).collect()
}

/// The gates of this name, with this one.
fn history(
    gate: &Gate<'_>,
    experiment: Option<ExperimentId>,
    record: &GateRecord,
) -> anyhow::Result<GateHistory> {
    let Some(experiment) = experiment else { return Ok(GateHistory::default()) };
    let mut store = Store::create_or_open(&gate.args.out.results.path())?;
    if !record.commit.is_empty() {
        store.keep_gate(experiment, record)?;
    }
    Ok(GateHistory::of(store.gates(Some(&record.name))?))
}

fn print(gate: &Gate<'_>, report: &GateReport<'_>) -> anyhow::Result<()> {
    let format = gate.args.out.format.format;
    let text = match format {
        OutputFormat::Text => report.text(),
        OutputFormat::Md => report.markdown(),
        OutputFormat::Json => report.json(),
        OutputFormat::Csv | OutputFormat::CsvFormulas => {
            return crate::commands::print(::report::gate::history_table(report.history), format);
        }
    };
    Ok(data(&text)?)
}
