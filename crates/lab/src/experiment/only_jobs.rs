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

/// Whether the levels of a factor have servers of their own, which are prepared.
fn chooses_servers(key: &str) -> bool {
    ["server", "version", "storage", "prepare"].contains(&key) || key.starts_with("prepare.")
}
