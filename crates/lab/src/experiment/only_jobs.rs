//! What an experiment without a workload may have: servers, and jobs that are done on each of them.

use super::checks::data_can_be;
use super::document::Document;
use super::model::ExperimentFile;
use super::unused::every_description_is_used;

/// Tables about runs.
const OF_RUNS: [&str; 9] =
    ["beside", "compare", "settings", "change", "pooler", "placement", "load", "measure", "prices"];

pub(super) fn check(document: &mut Document<'_>, file: &ExperimentFile) {
    if document.is_wrong(&["workload"]) {
        return;
    }
    let hint = "add a table [workload.NAME], or remove it";
    for table in OF_RUNS {
        if document.value(&[table]).is_some() {
            let message = format!("[{table}] is about runs, and without a workload there are none");
            document.wrong_key(&[table], message, Some(hint));
        }
    }
    for key in document.names(&["factors"]) {
        if !chooses_servers(&key) {
            let message = format!("{key} is a factor of runs, and without a workload there are none");
            document.wrong_key(&["factors", &key], message, Some(hint));
        }
    }
    every_description_is_used(document, file);
    data_can_be(document, file);
}

/// Whether each level of a factor has a server, which is prepared.
fn chooses_servers(key: &str) -> bool {
    ["server", "version", "storage", "prepare"].contains(&key) || key.starts_with("prepare.")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::plan::tests::plan;
    use crate::plan::{identity, setups, table, words};

    const TABLES: &str = "[target]\nmanaged = {}\n[prepare]\npgbench = { scale = 2 }\n";
    const PROBE: &str = "[target]\nurl = \"postgres://h/shop\"\n[probe]\n";

    fn problems(text: &str) -> Vec<String> {
        let read = ExperimentFile::parse(Path::new("e.toml"), text, false, &|_| None);
        read.err()
            .map_or_else(Vec::new, |found| found.problems.into_iter().map(|problem| problem.said).collect())
    }

    #[test]
    fn jobs_are_planned_without_runs_and_ask_a_question() {
        let tables = plan(TABLES);
        assert_eq!((tables.runs.len(), tables.rounds), (0, 1));
        assert_eq!(tables.question, "How long does it take to make pgbench's tables, scale 2?");
        assert_eq!(setups::sites(&tables).len(), 1);
        assert_eq!(
            words::words(&tables)[1..],
            ["target: managed server \"default\"", "prepare: make pgbench's tables, scale 2"]
        );
        let both = plan(&format!("{TABLES}[probe]\ntime = \"5s\"\n"));
        let row = |step: &str, job: &str| [step, "managed server \"default\"", job].map(Into::into).to_vec();
        assert_eq!(
            table::table(&both, usize::MAX).table().rows,
            [row("probe", "probe"), row("prepare", "pgbench -i")]
        );
        assert_eq!(
            both.question,
            "How long does it take to make pgbench's tables, scale 2, and what is the hardware of managed server \
             \"default\" worth?"
        );
        assert!(plan(PROBE).question.starts_with("What is the hardware of "), "{}", plan(PROBE).question);
        assert_eq!(plan(&format!("question = \"Why?\"\n{PROBE}")).question, "Why?");
    }

    #[test]
    fn probes_of_one_server_are_one_experiment() {
        let hash = |text: &str| identity::hash(&plan(text).content);
        let other = format!("{PROBE}time = \"2s\"\nspace = \"64MB\"\nread_only = true\nbackends = 3\n");
        assert_eq!(hash(PROBE), hash(&other));
        assert_ne!(hash(PROBE), hash(&PROBE.replace("shop", "mall")));
        assert_ne!(hash(&format!("{TABLES}[probe]\n")), hash(TABLES));
    }

    #[test]
    fn each_level_of_a_server_is_prepared() {
        let two = plan(&format!("{TABLES}[factors]\nprepare.pgbench.scale = [1, 2]\n"));
        let sites: Vec<String> = setups::sites(&two).iter().map(ToString::to_string).collect();
        assert_eq!((sites.len(), two.runs.len()), (2, 0), "{sites:?}");
        let servers =
            "[server.a]\nmanaged = { name = \"a\" }\n[server.b]\nmanaged = { name = \"b\" }\n[probe]\n";
        assert_eq!(setups::sites(&plan(servers)).len(), 2);
    }

    #[test]
    fn what_is_about_runs_has_no_place_without_a_workload() {
        assert_eq!(problems(TABLES), [""; 0]);
        let without_jobs = "question = \"?\"\n[target]\nmanaged = {}\n[prepare]\n";
        assert!(problems(without_jobs)[0].contains("`workload` is missing"), "{:?}", problems(without_jobs));
        for (more, says) in [
            ("[measure]\nrounds = 2\n", "[measure] is about runs"),
            (
                "[compare]\nfactor = \"version\"\nbase = 15\n[factors]\nversion = [15, 16]\n",
                "[compare] is about runs",
            ),
            ("[factors]\nclients = [1, 2]\n", "clients is a factor of runs"),
            ("[storage.fast]\npath = \"/x\"\n", "storage fast is described but never used"),
        ] {
            let found = problems(&format!("{TABLES}{more}"));
            assert!(found.len() == 1 && found[0].contains(says), "{more}: {found:?}");
        }
        for (wrong, says) in [
            ("time = \"1s\"", "must be from"),
            ("space = \"1MB\"", "must be from 64M to 1T"),
            ("backends = 0", "must be from 1 to 1024"),
            ("speed = 1", "unknown key `speed`"),
        ] {
            let found = problems(&format!("{PROBE}{wrong}\n"));
            assert!(found.len() == 1 && found[0].contains(says), "{wrong}: {found:?}");
        }
    }
}
