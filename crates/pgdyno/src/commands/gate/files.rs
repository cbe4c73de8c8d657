//! The files that a gate writes.

use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use report::gate::{GateReport, chart};
use report::{ChartFile, ReportData, charts, html, mail};
use results::gate::GateHistory;
use spec::{GateRecord, written};

use crate::commands::report::check_writable;
use crate::exit::{CommandFailure, INPUT_OUTPUT};

const SUMMARY: &str = "summary.md";
const JSON: &str = "gate.json";
const PAGE: &str = "report.html";
const ROUNDS: &str = "rounds.csv";
const HISTORY: &str = "history.svg";

/// The folder of a gate's files.
#[derive(Debug)]
pub(super) struct GateFolder(PathBuf);

impl GateFolder {
    /// Makes the folder if it is missing, and checks that files can be written: before anything is measured.
    pub(super) fn at(path: &Path) -> anyhow::Result<Self> {
        match DirBuilder::new().mode(0o755).create(path) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => {}
            Err(error) => {
                let what = format!("the folder {} cannot be made: {error}", path.display());
                return Err(CommandFailure::with_code(
                    INPUT_OUTPUT,
                    what,
                    Some("name another one with --output".into()),
                ));
            }
        }
        let folder = Self(path.to_owned());
        check_writable(&folder.summary())?;
        // A gate that ends with an error leaves no files of an earlier one.
        let charts = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.file_name());
        let charts = charts.filter_map(|name| name.into_string().ok()).filter(|name| is_of_changes(name));
        for name in [SUMMARY, JSON, PAGE, ROUNDS, HISTORY].map(str::to_owned).into_iter().chain(charts) {
            let _ = std::fs::remove_file(folder.0.join(name));
        }
        Ok(folder)
    }

    pub(super) fn summary(&self) -> PathBuf {
        self.0.join(SUMMARY)
    }

    /// Names of the files that are written for these.
    pub(super) fn names(
        &self,
        data: Option<&ReportData>,
        record: &GateRecord,
        history: &GateHistory,
    ) -> Vec<String> {
        let measured = data.map(|data| {
            let charts = of_changes(data).into_iter().map(|chart| format!("{}.svg", chart.name));
            [PAGE, ROUNDS].map(str::to_owned).into_iter().chain(charts)
        });
        let history = chart(&record.name, history).map(|_| HISTORY.to_owned());
        let always = [SUMMARY, JSON].map(str::to_owned);
        always.into_iter().chain(measured.into_iter().flatten()).chain(history).collect()
    }

    /// Writes all files, or none: the judgement comes last.
    pub(super) fn write(&self, of: &GateReport<'_>) -> anyhow::Result<()> {
        let mut files: Vec<(String, String)> = Vec::new();
        if let Some(data) = of.data {
            files.push((PAGE.to_owned(), html::page(data)));
            files.push((ROUNDS.to_owned(), mail::attachment(data)));
            files
                .extend(of_changes(data).into_iter().map(|chart| (format!("{}.svg", chart.name), chart.svg)));
        }
        files.extend(chart(&of.record.name, of.history).map(|chart| (HISTORY.to_owned(), chart.svg)));
        files.push((JSON.to_owned(), of.json()));
        files.push((SUMMARY.to_owned(), of.markdown()));
        for (at, (name, text)) in files.iter().enumerate() {
            let path = self.0.join(name);
            if let Err(error) = written::replace(&path, text.as_bytes()) {
                for (name, _) in &files[..at] {
                    let _ = std::fs::remove_file(self.0.join(name));
                }
                let what = format!("{} cannot be written: {error}", path.display());
                let hint = "what was measured is stored; the same command judges it again".to_owned();
                return Err(CommandFailure::with_code(INPUT_OUTPUT, what, Some(hint)));
            }
        }
        Ok(())
    }
}

/// The charts of the answer; all others are in the report.
fn of_changes(data: &ReportData) -> Vec<ChartFile> {
    charts(data).into_iter().filter(|chart| is_of_changes(&chart.name)).collect()
}

fn is_of_changes(name: &str) -> bool {
    name.contains("-change-of-")
}
