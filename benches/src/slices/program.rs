//! The built program, with separate servers, results and files.

use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;

use super::file::SliceComparison;
use super::stored::{self, ComparisonAnswer};
use crate::child::Ran;
use crate::{Args, child, pairs, stop};

/// Exit codes that are verdicts.
pub(crate) const VERDICTS: RangeInclusive<i32> = 0..=3;
/// Failed comparisons in succession after which no more are tried.
const FAILURES: u32 = 3;
/// How long to wait for the servers of a killed program; their watchdogs take at most 10 s.
const SERVERS_END: Duration = Duration::from_secs(12);

/// The program's reason for its failure, in one line.
fn reason(error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    let own = text.lines().find_map(|line| line.strip_prefix("error: "));
    own.or_else(|| text.lines().next()).unwrap_or_default().to_owned()
}

#[derive(Debug, Clone)]
pub(crate) struct Compared {
    pub(crate) answer: ComparisonAnswer,
    /// The whole command, including copies of servers.
    pub(crate) wall_s: f64,
    /// Steal during the runs, mean, %.
    pub(crate) stolen_pct: Option<f64>,
}

/// The program under test; its folder is deleted with this value.
pub(crate) struct TestedProgram<'a> {
    options: &'a Args,
    path: PathBuf,
    folder: tempfile::TempDir,
}

impl<'a> TestedProgram<'a> {
    /// Calibrates the host first, and prints the advice.
    ///
    /// # Errors
    /// The program does not exist, or cannot calibrate.
    pub(crate) fn start(options: &'a Args) -> anyhow::Result<Self> {
        let program = Self::start_plain(options)?;
        println!("\nPlacement: {}.\n", program.calibrate()?);
        Ok(program)
    }

    /// As [`Self::start`], without calibrating.
    ///
    /// # Errors
    /// The program does not exist.
    pub(crate) fn start_plain(options: &'a Args) -> anyhow::Result<Self> {
        let path = options.pgdyno.canonicalize().context("build it first: cargo build --release")?;
        let folder = tempfile::Builder::new().prefix("pgdyno-benches").tempdir()?;
        // The servers' account must be able to enter it.
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))?;
        Ok(Self { options, path, folder })
    }

    fn calibrate(&self) -> anyhow::Result<String> {
        pairs::wait_until_quiet(self.options.patience());
        let json = self.run(&["calibrate", "--format", "json"], 0..=0)?.output;
        stored::advice(&json)
    }

    /// Makes the data of a workload, so that no comparison includes that.
    ///
    /// # Errors
    /// The program's error.
    pub(crate) fn prepare(&self, comparison: &SliceComparison) -> anyhow::Result<()> {
        pairs::wait_until_quiet(self.options.patience());
        let tiny = SliceComparison { rounds: 2, each_ms: 200, ..comparison.clone() };
        self.carry_out(&tiny, &["--slices", "false"]).map(drop)
    }

    /// Runs a comparison, once the machine is quiet.
    ///
    /// # Errors
    /// The program failed, or found no interval.
    pub(crate) fn compare(&self, comparison: &SliceComparison) -> anyhow::Result<Compared> {
        pairs::wait_until_quiet(self.options.patience());
        let ran = self.carry_out(comparison, &[])?;
        Ok(Compared {
            answer: ComparisonAnswer::parse(&ran.output)?,
            wall_s: ran.wall_s,
            stolen_pct: stored::stolen(&self.query(stored::STOLEN)?)?,
        })
    }

    /// Runs a comparison with more arguments.
    ///
    /// # Errors
    /// The program's error.
    pub(crate) fn carry_out(&self, comparison: &SliceComparison, more: &[&str]) -> anyhow::Result<Ran> {
        let file = self.folder.path().join("comparison.toml");
        std::fs::write(&file, comparison.text())?;
        let file = file.display().to_string();
        // Each is a separate experiment, even if one like it exists.
        self.run(&[&["run", &file, "--again", "--format", "json"], more].concat(), VERDICTS)
    }

    /// Where files for it can be written.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn query(&self, query: &str) -> anyhow::Result<String> {
        Ok(self.run(&["sql", query, "--format", "json"], 0..=0)?.output)
    }

    /// Runs the program with these arguments and its own results file.
    ///
    /// # Errors
    /// An exit code outside `good`.
    pub(crate) fn run(&self, words: &[&str], good: RangeInclusive<i32>) -> anyhow::Result<Ran> {
        self.run_on(&self.folder.path().join("results.sqlite"), words, good)
    }

    /// The same with another results file.
    ///
    /// # Errors
    /// An exit code outside `good`.
    pub(crate) fn run_on(
        &self,
        results: &Path,
        words: &[&str],
        good: RangeInclusive<i32>,
    ) -> anyhow::Result<Ran> {
        let words: Vec<OsString> = words.iter().map(Into::into).collect();
        self.run_as_is([words, vec!["--results".into(), results.into()]].concat(), good)
    }

    /// A command that names its files itself.
    ///
    /// # Errors
    /// An exit code outside `good`.
    pub(crate) fn run_as_is(&self, words: Vec<OsString>, good: RangeInclusive<i32>) -> anyhow::Result<Ran> {
        let env = [("PGDYNO_HOME".to_owned(), self.folder.path().join("home").display().to_string())];
        child::run_until(&self.path, &words, &env, good)
    }

    /// Whether a process has the folder in its command line.
    fn has_processes(&self) -> bool {
        let folder = self.folder.path().display().to_string();
        let Ok(all) = std::fs::read_dir("/proc") else { return false };
        all.flatten().any(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(&folder)
        })
    }
}

/// Comparisons of which a few may fail.
#[derive(Default)]
pub(crate) struct Tries {
    pub(crate) failed: u32,
    in_a_row: u32,
}

impl Tries {
    /// Runs a comparison; `None` if it failed, with the reason on standard error.
    ///
    /// # Errors
    /// Too many failed in succession, or a signal came.
    pub(crate) fn compare(
        &mut self,
        program: &TestedProgram<'_>,
        comparison: &SliceComparison,
    ) -> anyhow::Result<Option<Compared>> {
        match program.compare(comparison) {
            Ok(compared) => {
                self.in_a_row = 0;
                Ok(Some(compared))
            }
            Err(error) => {
                stop::check()?;
                (self.failed, self.in_a_row) = (self.failed + 1, self.in_a_row + 1);
                eprintln!("{}: {}", comparison.workload.name(), reason(&error));
                if self.in_a_row == FAILURES {
                    return Err(error.context(format!("{FAILURES} comparisons in a row")));
                }
                Ok(None)
            }
        }
    }
}

impl Drop for TestedProgram<'_> {
    /// The watchdogs of a killed program stop its servers; their folder must last until then.
    fn drop(&mut self) {
        let start = Instant::now();
        while self.has_processes() && start.elapsed() < SERVERS_END {
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_all_that_was_said_the_error_is_the_reason() {
        let said = "pgdyno [\"run\"] ended with status 65:\n2 rounds\nerror: slices are too short\n try: longer ones\n";
        assert_eq!(reason(&anyhow::anyhow!(said)), "slices are too short");
        assert_eq!(reason(&anyhow::anyhow!("no interval")), "no interval");
    }
}
