//! `--part K/N`: one of several hosts measures its part of an experiment.

mod told;

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use spec::{ExperimentPart, MOST_PARTS};

use self::told::told;
use crate::exit::{CommandFailure, USAGE};
use crate::print::talk;

const LONGEST_WAIT_S: f64 = 86_400.0;

/// Which part of an experiment this process measures.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Several hosts")]
pub(crate) struct PartArgs {
    /// Measure part K of N, such as 2/4, into its own results file, to be merged. With auto, Slurm or MPI gives K and
    /// N; with auto/N, Kubernetes gives K (docs/how-to/many-machines.md)
    #[arg(long, value_name = "K/N", env = "PGDYNO_PART", hide_env_values = true)]
    part: Option<WrittenPart>,
    /// What the parts divide: cells, each measured by one host; or the load of each run
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "WHAT",
        requires = "part",
        hide_possible_values = true
    )]
    share: Share,
    /// With --share load: seconds to wait for the other parts before each run
    #[arg(long, default_value_t = 300.0, value_name = "SECONDS", requires = "part", value_parser = seconds)]
    patience: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Share {
    #[default]
    Cells,
    Load,
}

/// What was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WrittenPart {
    Given {
        number: u32,
        of: u32,
    },
    /// The environment gives it; the number of parts too, if it is not typed.
    Told {
        of: Option<u32>,
    },
}

impl FromStr for WrittenPart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "must be K/N, such as 2/4, with K from 1 to N and N at most {MOST_PARTS}; or auto, or auto/N"
            )
        };
        let number = |text: &str| {
            text.parse::<u32>().ok().filter(|of| (1..=MOST_PARTS).contains(of)).ok_or_else(wrong)
        };
        match text.split_once('/') {
            None if text == "auto" => Ok(Self::Told { of: None }),
            Some(("auto", of)) => Ok(Self::Told { of: Some(number(of)?) }),
            Some((part, of)) => match (number(part)?, number(of)?) {
                (part, of) if part > of => Err(wrong()),
                (number, of) => Ok(Self::Given { number, of }),
            },
            None => Err(wrong()),
        }
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    text.parse::<f64>()
        .ok()
        .filter(|seconds| (0.0..=LONGEST_WAIT_S).contains(seconds))
        .ok_or_else(|| format!("must be a number of seconds, at most {LONGEST_WAIT_S}"))
}

/// A part that is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AskedPart {
    /// `None` for the whole experiment.
    pub(crate) part: Option<ExperimentPart>,
    /// How long to wait for other parts of a load.
    pub(crate) patience: Duration,
}

impl AskedPart {
    /// All of the experiment, on one host.
    pub(crate) const WHOLE: Self = Self { part: None, patience: Duration::ZERO };

    /// Whether it makes only a part of each load.
    pub(crate) fn is_of_a_load(&self) -> bool {
        self.part.is_some_and(|part| part.shared && part.of > 1)
    }

    /// Says what the file has, and what to do with it.
    pub(crate) fn tell(&self, results: &Path) {
        let Some(part) = self.part.filter(|part| part.of > 1) else { return };
        let all = results.to_string_lossy().replace(&format!("part-{}-of-", part.number), "part-*-of-");
        talk(&format!(
            "{} is in {} (when all parts are there: pgdyno merge {} -o all.sqlite)",
            part.words(),
            results.display(),
            spec::shell::word(&all).trim_matches('\'')
        ));
    }

    /// The results file of this part: `pgdyno.part-2-of-4.sqlite`. Hosts may share a folder, and each part has a file.
    pub(crate) fn results(&self, path: &Path) -> PathBuf {
        let Some(ExperimentPart { number, of, .. }) = self.part else { return path.to_owned() };
        let of_part = format!("part-{number}-of-{of}");
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if stem.ends_with(&of_part) {
            return path.to_owned();
        }
        let ending =
            path.extension().map(|ending| format!(".{}", ending.to_string_lossy())).unwrap_or_default();
        path.with_file_name(format!("{stem}.{of_part}{ending}"))
    }
}

impl PartArgs {
    pub(crate) fn is_asked(&self) -> bool {
        self.part.is_some()
    }

    /// The part, as typed or from the environment.
    ///
    /// # Errors
    /// When the environment does not give it.
    pub(crate) fn asked(&self) -> anyhow::Result<AskedPart> {
        let Some(written) = self.part else { return Ok(AskedPart::WHOLE) };
        let (number, of) = match written {
            WrittenPart::Given { number, of } => (number, of),
            WrittenPart::Told { of } => told(of, |name| std::env::var(name).ok()).map_err(|why| {
                let hint = "give it: --part K/N, with K from 1 to N".to_owned();
                CommandFailure::with_code(USAGE, format!("--part auto: {why}"), Some(hint))
            })?,
        };
        let shared = self.share == Share::Load;
        Ok(AskedPart {
            part: Some(ExperimentPart { number, of, shared }),
            patience: Duration::from_secs_f64(self.patience),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read() {
        let given = |number, of| Ok(WrittenPart::Given { number, of });
        assert_eq!("2/4".parse(), given(2, 4));
        assert_eq!("10000/10000".parse(), given(10_000, 10_000));
        assert_eq!("auto".parse(), Ok(WrittenPart::Told { of: None }));
        assert_eq!("auto/3".parse(), Ok(WrittenPart::Told { of: Some(3) }));
        for wrong in
            ["", "2", "0/4", "5/4", "1/0", "1/10001", "-1/4", "a/4", "1/4/4", "auto/", "auto/x", "1.0/2"]
        {
            assert!(wrong.parse::<WrittenPart>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_part_has_a_results_file() {
        let part = ExperimentPart { number: 2, of: 12, shared: false };
        let asked = AskedPart { part: Some(part), ..AskedPart::WHOLE };
        for (path, wanted) in [
            ("pgdyno.sqlite", "pgdyno.part-2-of-12.sqlite"),
            ("/a.b/r", "/a.b/r.part-2-of-12"),
            ("x/r.v1.sqlite", "x/r.v1.part-2-of-12.sqlite"),
            ("pgdyno.part-2-of-12.sqlite", "pgdyno.part-2-of-12.sqlite"),
        ] {
            assert_eq!(asked.results(Path::new(path)), Path::new(wanted));
        }
        assert_eq!(AskedPart::WHOLE.results(Path::new("r.sqlite")), Path::new("r.sqlite"));
    }
}
