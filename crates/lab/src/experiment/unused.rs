//! Descriptions in a file that no level of a factor names: a mistake, as with workloads.

use super::document::Document;
use super::model::ExperimentFile;

const DESCRIBED: [(&str, &str); 5] = [
    ("pooler", "connection"),
    ("server", "server"),
    ("version", "version"),
    ("placement", "placement"),
    ("storage", "storage"),
];

/// Whether a level names a description with a mistake: then the unknown name is not a second one.
pub(super) fn is_of_a_mistake(document: &Document<'_>, factor: &str, level: &str) -> bool {
    let tables = DESCRIBED.iter().filter(|(_, known)| *known == factor);
    tables.into_iter().any(|(table, _)| document.is_wrong(&[table, level]))
}

pub(super) fn every_description_is_used(document: &mut Document<'_>, file: &ExperimentFile) {
    for (table, factor) in DESCRIBED {
        // All servers vary without being listed.
        used(document, &[table], factor, table == "server");
    }
    for name in file.named.changes.keys() {
        used(document, &["change", name], name, true);
    }
}

/// `by_itself` if they vary without `[factors]`.
fn used(document: &mut Document<'_>, table: &[&str], factor: &str, by_itself: bool) {
    let place = ["factors", factor];
    let named = document.texts_in_all(&place);
    if by_itself && named.is_empty()
        || document.is_wrong(&place)
        || document.is_wrong(&["full", "factors", factor])
    {
        return;
    }
    for name in document.names(table) {
        let own = [table, &[&name]].concat();
        if named.contains(&name) || document.is_wrong(&own) {
            continue;
        }
        let what = table.join(" ");
        let hint = format!("name it in [factors] {factor}, or remove it");
        document.wrong_key(&own, format!("{what} {name} is described but never used"), Some(&hint));
    }
}
