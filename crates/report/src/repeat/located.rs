//! An experiment file that can be run from any folder of its machine: paths outside the folder of the export are
//! absolute. Comments next to them tell what the files and builds were.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use results::ReportData;
use spec::visible;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Kit;
use crate::builds;

/// Keys of programs and data, which are not in the folder of the export.
const OUTSIDE: [&str; 5] = ["bin", "extract", "program", "path", "source"];
/// Those whose values are always paths; others may be names.
const FOLDERS: [&str; 3] = ["bin", "path", "source"];

/// A value of the file: its keys, its place with its quotes, and its text.
struct Value {
    keys: Vec<String>,
    place: Range<usize>,
    text: String,
}

/// A change of the file: another value, or a comment above its line.
struct Change {
    place: Range<usize>,
    value: Option<String>,
    comment: Option<String>,
}

impl Kit {
    /// The same with absolute paths and comments in its experiment file. Without the folder that it was measured
    /// from (results of an older pgdyno) relative paths stay.
    #[must_use]
    pub fn located(mut self, data: &ReportData) -> Self {
        let program = data.course.command.as_ref().and_then(|command| {
            let named = command.programs().into_iter().find(|program| command.has(program))?;
            Path::new(named).is_absolute().then(|| named.to_owned())
        });
        let hashes = self.hashes(data);
        // As the file names them: a path of the folder where an absolute one was replaced.
        let of_texts = data.texts.iter().filter(|text| text.text.is_some()).map(|text| text.name.clone());
        let of_files = self.files.iter().filter(|file| file.text.is_some()).map(|file| file.path.clone());
        let kept: BTreeSet<String> = of_texts.chain(of_files).collect();
        let is_kept = |name: &str| kept.contains(name);
        let Some(path) = self.experiment.clone() else { return self };
        let Some(file) = self.files.iter_mut().find(|file| file.path == path) else { return self };
        let Some(text) = &file.text else { return self };
        let changed = changed(text, data.folder.as_deref(), &hashes, is_kept);
        file.text = Some(head(data) + changed.as_deref().unwrap_or(text));
        if let Some(program) = program.filter(|_| !self.command.contains("--pg-bin")) {
            self.command += &format!(" --pg-bin {}", spec::shell::word(&program));
        }
        self
    }

    /// What is known of the content of files and builds, by their names in the experiment file.
    fn hashes(&self, data: &ReportData) -> BTreeMap<String, String> {
        let texts = data.texts.iter().map(|text| (text.name.clone(), text.hash.clone()));
        let placed = self.files.iter().filter_map(|file| Some((file.path.clone(), file.sha256.clone()?)));
        let inputs =
            data.experiment.plan.plan().into_iter().flat_map(|plan| plan.content.prepare.inputs.clone());
        let builds =
            data.experiment.plan.plan().into_iter().flat_map(|plan| plan.content.named.builds.iter());
        // What identifies a build from git is its commit.
        let builds = builds.map(|(name, build)| match &build.source {
            None => (format!("version.{name}.bin"), build.hash.clone()),
            Some(source) => (format!("version.{name}.git"), source.commit.clone()),
        });
        inputs.chain(texts).chain(placed).chain(builds).filter(|(_, hash)| !hash.is_empty()).collect()
    }
}

/// Comments about the PostgreSQL that it was measured on; empty if nothing is known.
fn head(data: &ReportData) -> String {
    let targets = data.experiment.arms.iter().filter_map(|arm| arm.target.as_ref()).chain([&data.target]);
    if targets.into_iter().all(|target| target.build.is_none()) {
        return String::new();
    }
    let lines = builds::lines(data).into_iter().map(|line| format!("#   {}\n", visible::line(&line)));
    format!("# Measured on PostgreSQL:\n{}", lines.collect::<String>())
}

/// `None` if it cannot be changed without a change of its meaning.
fn changed(
    text: &str,
    folder: Option<&Path>,
    hashes: &BTreeMap<String, String>,
    is_kept: impl Fn(&str) -> bool,
) -> Option<String> {
    let mut values = Vec::new();
    collect(DeTable::parse(text).ok()?.get_ref(), &mut Vec::new(), &mut values);
    let mut changes: Vec<Change> =
        values.iter().map(|value| change(value, folder, hashes, &is_kept)).collect();
    changes.sort_by_key(|change| std::cmp::Reverse(change.place.start));
    let [mut wanted, mut commented] = [text.to_owned(), text.to_owned()];
    for Change { place, value, comment } in changes {
        if let Some(value) = &value {
            wanted.replace_range(place.clone(), value);
            commented.replace_range(place.clone(), value);
        }
        if let Some(comment) = comment {
            let line = commented[..place.start].rfind('\n').map_or(0, |end| end + 1);
            commented.insert_str(line, &format!("# {}\n", visible::line(&comment)));
        }
    }
    // A comment within a text of several lines would be a part of it.
    let read = |text: &str| text.parse::<toml::Table>().ok();
    let is_same = read(&wanted).is_some() && read(&wanted) == read(&commented);
    Some(if is_same { commented } else { wanted })
}

fn change(
    value: &Value,
    folder: Option<&Path>,
    hashes: &BTreeMap<String, String>,
    is_kept: &impl Fn(&str) -> bool,
) -> Change {
    let (path, weight) = without_weight(&value.text);
    let key = value.keys.last().map_or("", String::as_str);
    let is_path = |path: &str| {
        FOLDERS.contains(&key) || path.contains('/') || path.ends_with(".pbf") || path.contains(".osm")
    };
    let is_outside = OUTSIDE.contains(&key) || hashes.contains_key(path);
    let is_relative = !Path::new(path).is_absolute() && !path.contains(['$', '\n']) && !path.contains("://");
    let place = folder.filter(|_| is_outside && is_relative && is_path(path) && !is_kept(path));
    let absolute = place.map(|folder| format!("{}{weight}", folder.join(path).display()));
    let of_build = hashes.get(&value.keys.join(".")).map(|hash| match key {
        "git" => format!("commit {hash}"),
        _ => format!("SHA-256 of its postgres: {hash}"),
    });
    let of_file = hashes.get(path).map(|hash| format!("{path}: SHA-256 {hash}"));
    Change {
        place: value.place.clone(),
        value: absolute.map(|absolute| toml::Value::String(absolute).to_string()),
        comment: of_build.or(of_file),
    }
}

/// A script with the weight behind it: `a.sql`, `@3`.
fn without_weight(text: &str) -> (&str, &str) {
    let at = text.rfind('@').filter(|at| text[at + 1..].parse::<u32>().is_ok());
    at.map_or((text, ""), |at| text.split_at(at))
}

fn collect(table: &DeTable<'_>, keys: &mut Vec<String>, values: &mut Vec<Value>) {
    for (key, value) in table.iter() {
        keys.push(key.get_ref().to_string());
        add(value, keys, values);
        keys.pop();
    }
}

fn add(value: &Spanned<DeValue<'_>>, keys: &mut Vec<String>, values: &mut Vec<Value>) {
    match value.get_ref() {
        DeValue::String(text) => {
            values.push(Value { keys: keys.clone(), place: value.span(), text: text.to_string() });
        }
        DeValue::Table(table) => collect(table, keys, values),
        DeValue::Array(list) => list.iter().for_each(|value| add(value, keys, values)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn located(text: &str, folder: Option<&str>) -> String {
        let hashes = [
            ("a.sql", "aa11"),
            ("rows/big.csv", "bb22"),
            ("../data/malta.osm.pbf", "cc33"),
            ("version.mine.bin", "dd44"),
        ];
        let hashes = hashes.map(|(name, hash)| (name.to_owned(), hash.to_owned())).into();
        changed(text, folder.map(Path::new), &hashes, |name| name == "a.sql").expect("a file")
    }

    #[test]
    fn paths_outside_the_folder_are_absolute_and_what_files_were_is_told() {
        let text = "[version.mine]\nbin = \"bin\" # mine\n[workload.w]\npgbench = { files = [\"a.sql@3\"] }\n\
                    [prepare]\nosm = { extract = \"../data/malta.osm.pbf\", program = \"osm2pgsql\" }\n";
        let wanted = "[version.mine]\n# SHA-256 of its postgres: dd44\nbin = \"/home/me/bin\" # mine\n[workload.w]\n# a.sql: SHA-256 aa11\n\
                      pgbench = { files = [\"a.sql@3\"] }\n[prepare]\n# ../data/malta.osm.pbf: SHA-256 cc33\n\
                      osm = { extract = \"/home/me/../data/malta.osm.pbf\", program = \"osm2pgsql\" }\n";
        assert_eq!(located(text, Some("/home/me")), wanted);
        assert!(located(text, None).contains("bin = \"bin\""));
    }

    #[test]
    fn what_is_no_path_of_this_machine_stays() {
        for value in ["/opt/x.osm.pbf", "$DATA/x.osm.pbf", "https://example.org/x.osm.pbf", "malta"] {
            let text = format!("[prepare.osm]\nextract = \"{value}\"\n");
            assert_eq!(located(&text, Some("/home/me")), text);
        }
        let kept = located("x = \"rows/big.csv\"\n", Some("/home/me"));
        assert_eq!(kept, "# rows/big.csv: SHA-256 bb22\nx = \"/home/me/rows/big.csv\"\n");
    }

    /// A comment became a line of the script.
    #[test]
    fn a_text_of_several_lines_stays_as_it_is() {
        let text = "x = [\"\"\"SELECT 1;\n\"\"\", \"a.sql\"]\n";
        assert_eq!(located(text, Some("/home/me")), text);
    }
}
