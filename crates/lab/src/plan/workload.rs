//! A workload of a plan, with its texts.

use std::collections::BTreeMap;
use std::path::Path;

use spec::plan::PlannedWorkload;
use workloads::Spec;

use crate::factors::with_options;

/// Name to SHA-256 of a text.
type Texts = BTreeMap<String, String>;

pub(super) fn level_name(option: &str, level: &str) -> String {
    format!("{option} = {level}")
}

pub(super) fn texts<'p>(planned: &'p PlannedWorkload, options: &BTreeMap<String, String>) -> Vec<&'p String> {
    let changed = options.iter().filter_map(|(option, level)| planned.levels.get(&level_name(option, level)));
    let texts: Vec<&Texts> = changed.collect();
    let texts = if texts.is_empty() { vec![&planned.scripts] } else { texts };
    texts.into_iter().flat_map(BTreeMap::values).collect()
}

/// What it requests with these options, without the names of scripts.
pub(super) fn effect(planned: &PlannedWorkload, options: &BTreeMap<String, String>) -> String {
    let changed = Spec::of(&planned.spec).and_then(|spec| with_options(&spec, options));
    let spec = changed.map_or_else(|_| planned.spec.clone(), |spec| spec.options());
    let mut spec = serde_json::to_value(spec).expect("options are plain data");
    if let Some(options) = spec.as_object_mut().and_then(|spec| spec.values_mut().next()?.as_object_mut()) {
        options.remove("files");
    }
    format!("{spec} {:?}", texts(planned, options))
}

/// The workload without the paths of its files.
pub(super) fn portable(planned: &PlannedWorkload) -> PlannedWorkload {
    let levels = planned.levels.iter().map(|(level, texts)| (level.clone(), without_places(texts)));
    PlannedWorkload {
        // Unknown options are kept unchanged.
        spec: Spec::of(&planned.spec).map_or_else(|_| planned.spec.clone(), |spec| spec.portable().options()),
        scripts: without_places(&planned.scripts),
        levels: levels.collect(),
    }
}

/// Texts by the names of their files; a name that would clash keeps its path.
fn without_places(texts: &Texts) -> Texts {
    let mut portable = Texts::new();
    for (place, hash) in texts {
        let name = Path::new(place)
            .file_name()
            .map_or_else(|| place.clone(), |name| name.to_string_lossy().into_owned());
        let name = if portable.contains_key(&name) { place.clone() } else { name };
        portable.insert(name, hash.clone());
    }
    portable
}

#[cfg(test)]
mod tests {
    use super::super::tests::plan_of;
    use spec::plan::Plan;

    use super::super::diff;
    use crate::plan::{identity, setups};

    const PLAIN: &str =
        "question = \"?\"\n[target]\nmanaged = {}\n[workload.w]\npgbench = { files = \"a.sql\" }\n";

    /// The files of two levels of an option were not part of the identity: with another text in one of them
    /// the rounds of both texts were one experiment. And two compared files were called A against A.
    #[test]
    fn texts_of_levels_are_part_of_an_experiment() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        let compared = format!(
            "{PLAIN}[compare]\nfactor = \"w.files\"\nbase = \"a.sql\"\n[factors]\n\"w.files\" = [\"a.sql\", \"b.sql\"]\n"
        );
        let plan = |text: &str| plan_of(&folder.path().join("e.toml"), text);
        write("a.sql", "SELECT 1;\n");
        write("b.sql", "SELECT 2;\n");
        let before: Plan = plan(&compared);
        assert_eq!(setups::equal_arms(&before), None);
        assert_eq!(identity::hash(&before.content), identity::hash(&plan(&compared).content));
        write("b.sql", "SELECT 3;\n");
        let after = plan(&compared);
        assert_ne!(identity::hash(&before.content), identity::hash(&after.content));
        let said = diff(&before, &after);
        assert!(
            matches!(&said[..], [only] if only.starts_with("workloads.w.levels.files = b.sql.b.sql: ")),
            "{said:?}"
        );
        write("b.sql", "SELECT 1;\n");
        assert_eq!(setups::equal_arms(&plan(&compared)), Some(["a.sql".to_owned(), "b.sql".to_owned()]));
    }

    #[test]
    fn the_rows_of_variables_are_part_of_an_experiment_and_their_place_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("a.sql", "SELECT :id;\n");
        write("rows.csv", "id\n1\n");
        let hash = |csv: &str| {
            let rows = format!("files = \"a.sql\", variables = {{ csv = \"{csv}\" }}");
            let text = PLAIN.replace("files = \"a.sql\"", &rows);
            identity::hash(&plan_of(&folder.path().join("e.toml"), &text).content)
        };
        let before = hash("rows.csv");
        assert_eq!(before, hash(&folder.path().join("rows.csv").display().to_string()));
        write("rows.csv", "id\n2\n");
        assert_ne!(before, hash("rows.csv"));
    }

    /// Saved into another folder, an experiment was another one.
    #[test]
    fn the_place_of_a_script_is_no_part_of_an_experiment() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        std::fs::write(folder.path().join("a.sql"), "SELECT 1;\n").unwrap();
        let here = plan_of(&folder.path().join("e.toml"), PLAIN);
        let elsewhere = PLAIN.replace("a.sql", "../a.sql");
        assert_eq!(
            identity::hash(&here.content),
            identity::hash(&plan_of(&folder.path().join("sub/e.toml"), &elsewhere).content)
        );
        let absolute = PLAIN.replace("a.sql", &folder.path().join("a.sql").display().to_string());
        assert_eq!(
            identity::hash(&here.content),
            identity::hash(&plan_of(&folder.path().join("e.toml"), &absolute).content)
        );
        // Two files with one name are two.
        std::fs::write(folder.path().join("sub/a.sql"), "SELECT 2;\n").unwrap();
        let two = |files: &str| {
            let text = PLAIN.replace("\"a.sql\"", files);
            super::portable(&plan_of(&folder.path().join("e.toml"), &text).content.workloads["w"])
        };
        assert_eq!(two("[\"a.sql\", \"sub/a.sql\"]").scripts.len(), 2);
    }
}
