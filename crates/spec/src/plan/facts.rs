//! What was learnt about an experiment, as a log: a plan follows from the experiment and this log.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Cpus;
use crate::ExperimentPart;

/// The facts that a plan follows from, in the order in which they were learnt. Facts are only added, and the
/// first answer to a question counts: so more facts never change a decision.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Facts(Vec<Fact>);

/// Something that was learnt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// The machine of the load generator: shares of its memory and its cores refer to it.
    Host {
        memory_bytes: u64,
        cores: u32,
        /// CPUs that pgdyno may use; `None` if the system does not tell.
        cpus: Option<Cpus>,
    },
    /// The folder of the experiment file: relative paths in it start there.
    Folder { path: PathBuf },
    /// SHA-256 of a file, hex.
    File { path: PathBuf, sha256: String },
    /// SHA-256 of the scripts, layers and commands of a workload by name, with one level of an option or none.
    Texts { workload: String, level: Option<String>, texts: BTreeMap<String, String> },
    /// What a workload does to a server.
    Workload { workload: String, writes: bool, is_job: bool, reconnects: bool },
    /// A part of the experiment can be run on this machine, from this round on: earlier ones were measured without
    /// it.
    Found {
        what: String,
        #[serde(default = "first_round")]
        from_round: u32,
    },
    /// A part of the experiment cannot be run on this machine.
    Missing { what: String, why: String },
    /// A part of the experiment failed its checks before anything was measured.
    Failed { what: String, why: String },
    /// All that is left passed its checks: what fails from now on is an error.
    Checked,
    /// How often the same experiment was measured before, by the results file.
    Repetition { repetition: u64 },
    /// A further round was asked for, with the seed of its runs.
    Round { round: u32, seed: u64 },
    /// A set was begun: the machine is at this level of the factor that is set by hand. Sets count from 1.
    Set { set: u32, level: String },
    /// The part of the experiment that this results file is to have.
    Part { part: ExperimentPart },
    /// The advice of `pgdyno calibrate` for this host.
    Calibration { advice: PlacementAdvice },
    /// Whether the copies of the prepared servers fit, with the figures or the reason.
    Copies { fit: bool, why: String },
    /// What copies of the present data would need: an estimate, which decides nothing.
    CopiesSoFar { figures: String },
    /// Whether two servers given by URL are one.
    Servers { shared: bool },
    /// The version of a server, as it reports it.
    ServerVersion { server: String, version: String },
    /// The version of another program, as it reports it: one that runs use, or the one that made prepared data.
    ProgramVersion {
        /// Its name, or its path as the experiment gives it.
        program: String,
        /// The data that it made; `None` for a program that runs use.
        data: Option<String>,
        version: String,
    },
    /// The PostgreSQL of a private server, by content: SHA-256 over all its files, hex, and the first digits of the
    /// SHA-256 of each part, by name.
    Build { server: String, sha256: String, parts: BTreeMap<String, String> },
    /// The data that pgdyno prepared on a server, as a hash of what they were made from.
    Data { server: String, sha256: String },
    /// The most clients that the servers accept; `None` without a known limit.
    Clients { most: Option<u32> },
    /// Lengths of transactions in the warm-up of runs that take turns, by their UUIDs; `None` if none ended.
    Transactions { runs: Vec<String>, lengths: Option<TransactionLengths> },
}

fn first_round() -> u32 {
    1
}

/// What `pgdyno calibrate` found on this host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacementAdvice {
    /// The advised placement; `None` without advice.
    pub level: Option<String>,
    /// When it was found, as a date; empty without advice.
    pub day: String,
    /// Reason of the advice, or why there is none.
    pub why: String,
}

/// Lengths of transactions in a warm-up, of the slowest arm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TransactionLengths {
    pub median_s: f64,
    /// The slowest that a slice is expected to have.
    pub slowest_s: f64,
    /// It is the slowest of so many.
    pub of: u64,
}

impl Fact {
    /// Whether both answer one question.
    fn is_about_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Host { .. }, Self::Host { .. })
            | (Self::Repetition { .. }, Self::Repetition { .. })
            | (Self::Part { .. }, Self::Part { .. })
            | (Self::Calibration { .. }, Self::Calibration { .. })
            | (Self::Copies { .. }, Self::Copies { .. })
            | (Self::CopiesSoFar { .. }, Self::CopiesSoFar { .. })
            | (Self::Servers { .. }, Self::Servers { .. })
            | (Self::Clients { .. }, Self::Clients { .. })
            | (Self::Folder { .. }, Self::Folder { .. })
            | (Self::Checked, Self::Checked) => true,
            (Self::ServerVersion { server, .. }, Self::ServerVersion { server: other, .. }) => {
                server == other
            }
            (
                Self::ProgramVersion { program, data, .. },
                Self::ProgramVersion { program: other, data: of, .. },
            ) => (program, data) == (other, of),
            (Self::Round { round, .. }, Self::Round { round: other, .. }) => round == other,
            (Self::Set { set, .. }, Self::Set { set: other, .. }) => set == other,
            (Self::Data { server, .. }, Self::Data { server: other, .. })
            | (Self::Build { server, .. }, Self::Build { server: other, .. }) => server == other,
            (Self::File { path, .. }, Self::File { path: other, .. }) => path == other,
            (Self::Texts { workload, level, .. }, Self::Texts { workload: of, level: other, .. }) => {
                (workload, level) == (of, other)
            }
            (Self::Workload { workload, .. }, Self::Workload { workload: other, .. }) => workload == other,
            (Self::Found { what, .. }, Self::Found { what: other, .. })
            | (Self::Missing { what, .. }, Self::Missing { what: other, .. })
            | (Self::Failed { what, .. }, Self::Failed { what: other, .. }) => what == other,
            (Self::Transactions { runs, .. }, Self::Transactions { runs: other, .. }) => runs == other,
            _ => false,
        }
    }
}

/// What is known about whether something that runs need is available here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Availability<'f> {
    /// The first round with it; `None` if it was not found.
    pub found_from: Option<u32>,
    /// Why it cannot be run; `None` if it was found later.
    pub missing: Option<&'f str>,
    /// Why it failed its checks, if that was before anything was measured.
    pub failed: Option<&'f str>,
}

impl Facts {
    /// Adds a fact, unless its question is answered already.
    pub fn learn(&mut self, fact: Fact) {
        if !self.0.iter().any(|known| known.is_about_the_same(&fact)) {
            self.0.push(fact);
        }
    }

    /// The facts in the order in which they were learnt.
    #[must_use]
    pub fn all(&self) -> &[Fact] {
        &self.0
    }

    /// These facts, followed by facts of the other log that answer further questions.
    #[must_use]
    pub fn followed_by(mut self, later: Self) -> Self {
        later.0.into_iter().for_each(|fact| self.learn(fact));
        self
    }

    fn find<T>(&self, of: impl FnMut(&Fact) -> Option<T>) -> Option<T> {
        self.0.iter().find_map(of)
    }

    /// The last of the rounds that were asked for one by one; 0 without any.
    #[must_use]
    pub fn last_round(&self) -> u32 {
        let round = |fact: &Fact| if let Fact::Round { round, .. } = fact { *round } else { 0 };
        self.0.iter().map(round).max().unwrap_or(0)
    }

    /// The levels of the sets that were begun, in order.
    #[must_use]
    pub fn sets(&self) -> Vec<&str> {
        let sets = self.0.iter().filter_map(|fact| match fact {
            Fact::Set { level, .. } => Some(&**level),
            _ => None,
        });
        sets.collect()
    }

    /// The seeds that were asked for with rounds, by round.
    #[must_use]
    pub fn seeds(&self) -> BTreeMap<u32, u64> {
        let seed =
            |fact: &Fact| if let Fact::Round { round, seed } = fact { Some((*round, *seed)) } else { None };
        self.0.iter().filter_map(seed).collect()
    }

    /// SHA-256 of a file, hex.
    #[must_use]
    pub fn sha256(&self, file: &Path) -> Option<&str> {
        self.0.iter().find_map(|fact| match fact {
            Fact::File { path, sha256 } if path == file => Some(&**sha256),
            _ => None,
        })
    }

    /// SHA-256 of the texts of a workload by name, with this level of an option or none.
    #[must_use]
    pub fn texts(&self, name: &str, wanted: Option<&str>) -> Option<&BTreeMap<String, String>> {
        self.0.iter().find_map(|fact| match fact {
            Fact::Texts { workload, level, texts } if workload == name && level.as_deref() == wanted => {
                Some(texts)
            }
            _ => None,
        })
    }

    /// Whether a workload changes data.
    #[must_use]
    pub fn writes(&self, name: &str) -> bool {
        self.0
            .iter()
            .any(|fact| matches!(fact, Fact::Workload { workload, writes: true, .. } if workload == name))
    }

    /// Whether a workload is done once, to its end.
    #[must_use]
    pub fn is_job(&self, name: &str) -> bool {
        self.0
            .iter()
            .any(|fact| matches!(fact, Fact::Workload { workload, is_job: true, .. } if workload == name))
    }

    /// Whether a workload connects for each transaction.
    #[must_use]
    pub fn reconnects(&self, name: &str) -> bool {
        let is = |fact: &Fact| matches!(fact, Fact::Workload { workload, reconnects: true, .. } if workload == name);
        self.0.iter().any(is)
    }

    /// What is known about whether that which runs need is available here, by its name.
    #[must_use]
    pub fn availability(&self) -> BTreeMap<&str, Availability<'_>> {
        let mut parts: BTreeMap<&str, Availability<'_>> = BTreeMap::new();
        let mut checks = true;
        for fact in &self.0 {
            match fact {
                Fact::Found { what, from_round } => {
                    parts.entry(what).or_default().found_from.get_or_insert(*from_round);
                }
                Fact::Missing { what, why } => {
                    parts.entry(what).or_default().missing.get_or_insert(why);
                }
                Fact::Failed { what, why } if checks => {
                    parts.entry(what).or_default().failed.get_or_insert(why);
                }
                Fact::Checked => checks = false,
                _ => (),
            }
        }
        for part in parts.values_mut().filter(|part| part.found_from.is_some()) {
            part.missing = None;
        }
        parts
    }

    /// Whether all parts that are left passed their checks.
    #[must_use]
    pub fn are_checked(&self) -> bool {
        self.0.contains(&Fact::Checked)
    }

    /// The folder of the experiment file, absolute.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.0.iter().find_map(|fact| match fact {
            Fact::Folder { path } => Some(path.as_path()),
            _ => None,
        })
    }

    /// The version of the server of a part, if it was opened.
    #[must_use]
    pub fn server_version(&self, part: &str) -> Option<&str> {
        self.0.iter().find_map(|fact| match fact {
            Fact::ServerVersion { server, version } if server == part => Some(&**version),
            _ => None,
        })
    }

    /// The version of a program that runs use, or of the one that made data, if it was asked.
    #[must_use]
    pub fn program_version(&self, name: &str, made: Option<&str>) -> Option<&str> {
        self.0.iter().find_map(|fact| match fact {
            Fact::ProgramVersion { program, data, version } if program == name && data.as_deref() == made => {
                Some(&**version)
            }
            _ => None,
        })
    }

    /// The hash of the prepared data of a server, if it was asked for.
    #[must_use]
    pub fn data(&self, wanted: &str) -> Option<&str> {
        self.0.iter().find_map(|fact| match fact {
            Fact::Data { server, sha256 } if server == wanted => Some(&**sha256),
            _ => None,
        })
    }

    /// The build of a server: its hash, and those of its parts.
    #[must_use]
    pub fn build(&self, wanted: &str) -> Option<(&str, &BTreeMap<String, String>)> {
        self.0.iter().find_map(|fact| match fact {
            Fact::Build { server, sha256, parts } if server == wanted => Some((&**sha256, parts)),
            _ => None,
        })
    }

    /// Memory in bytes, cores, and usable CPUs of the machine of the load generator.
    #[must_use]
    pub fn host(&self) -> Option<(u64, u32, Option<&Cpus>)> {
        self.0.iter().find_map(|fact| match fact {
            Fact::Host { memory_bytes, cores, cpus } => Some((*memory_bytes, *cores, cpus.as_ref())),
            _ => None,
        })
    }

    /// How often the same experiment was measured before.
    #[must_use]
    pub fn repetition(&self) -> Option<u64> {
        self.find(|fact| match fact {
            Fact::Repetition { repetition } => Some(*repetition),
            _ => None,
        })
    }

    /// The part of the experiment that is measured here; `None` for the whole.
    #[must_use]
    pub fn part(&self) -> Option<ExperimentPart> {
        self.find(|fact| match fact {
            Fact::Part { part } => Some(*part),
            _ => None,
        })
    }

    /// The advice of `pgdyno calibrate`.
    #[must_use]
    pub fn advice(&self) -> Option<&PlacementAdvice> {
        self.0.iter().find_map(|fact| match fact {
            Fact::Calibration { advice } => Some(advice),
            _ => None,
        })
    }

    /// Whether copies of the prepared servers fit, with the figures or the reason.
    #[must_use]
    pub fn copies(&self) -> Option<(bool, &str)> {
        self.0.iter().find_map(|fact| match fact {
            Fact::Copies { fit, why } => Some((*fit, &**why)),
            _ => None,
        })
    }

    /// What copies of the present data would need.
    #[must_use]
    pub fn copies_so_far(&self) -> Option<&str> {
        self.0.iter().find_map(|fact| match fact {
            Fact::CopiesSoFar { figures } => Some(&**figures),
            _ => None,
        })
    }

    /// Whether two servers given by URL are one.
    #[must_use]
    pub fn shared_server(&self) -> Option<bool> {
        self.find(|fact| match fact {
            Fact::Servers { shared } => Some(*shared),
            _ => None,
        })
    }

    /// The most clients that the servers accept, if they were asked.
    #[must_use]
    pub fn most_clients(&self) -> Option<Option<u32>> {
        self.find(|fact| match fact {
            Fact::Clients { most } => Some(*most),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_answer_to_a_question_counts() {
        let mut facts = Facts::default();
        let missing = |why: &str| Fact::Missing { what: "version 19".into(), why: why.into() };
        facts.learn(missing("not installed"));
        facts.learn(missing("too old"));
        facts.learn(Fact::Copies { fit: true, why: "small".into() });
        facts.learn(Fact::Copies { fit: false, why: "large".into() });
        assert_eq!(facts.all().len(), 2);
        assert_eq!(facts.availability()["version 19"].missing, Some("not installed"));
        assert_eq!(facts.copies(), Some((true, "small")));
        // What is found later can be run, and stays so.
        facts.learn(Fact::Found { what: "version 19".into(), from_round: 3 });
        facts.learn(missing("removed"));
        let part = facts.availability()["version 19"];
        assert_eq!((part.missing, part.found_from), (None, Some(3)));
        let failed = |what: &str| Fact::Failed { what: what.into(), why: "no table".into() };
        facts.learn(failed("settings large"));
        facts.learn(Fact::Checked);
        facts.learn(failed("settings small"));
        let parts = facts.availability();
        let found = ["settings large", "settings small"].map(|what| parts.get(what)?.failed);
        assert_eq!((found, facts.are_checked()), ([Some("no table"), None], true));
        let text = serde_json::to_string(&facts).unwrap();
        assert_eq!(serde_json::from_str::<Facts>(&text).unwrap(), facts);
    }
}
