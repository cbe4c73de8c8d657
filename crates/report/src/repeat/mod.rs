//! How to repeat an experiment: its file and its texts, as a folder that can be run; or the command line
//! with its scripts.

mod located;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use serde::Serialize;
use spec::shell::{self, PrintedCommand};
use spec::{FileCommand, Text, TextKind};

use crate::format::{self, markdown_text};
use crate::{numbers, visible};
use results::ReportData;

/// Files, command and notes for repeating an experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Kit {
    pub name: String,
    /// Its name or number, for commands.
    pub called: String,
    pub question: String,
    pub hash: String,
    pub seed: u64,
    /// Runs in the folder that holds the files.
    pub command: String,
    /// The experiment file; `None` if it was measured from the command line.
    pub experiment: Option<String>,
    /// Commands and programs that it names, and which the command therefore executes.
    pub commands: Vec<FileCommand>,
    /// The experiment file first.
    pub files: Vec<KitFile>,
    /// Other used texts: built-in scripts, and pgdyno's queries.
    pub asked: Vec<Text>,
    /// Changes and missing parts, a sentence each.
    pub notes: Vec<String>,
}

/// A file of the folder.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KitFile {
    /// Inside the folder.
    pub path: String,
    /// What uses it; empty for the experiment file.
    pub used_by: Vec<String>,
    /// Hash of the used text; `None` for the experiment file and for pauses.
    pub sha256: Option<String>,
    pub text: Option<String>,
}

/// Options that name files to write: no part of what is repeated.
pub(crate) const WRITTEN: [&str; 4] = ["--results", "--report", "--save", "--log-prefix"];

impl Kit {
    /// `None` for imported results: how to repeat them is not recorded.
    #[must_use]
    pub fn of(data: &ReportData) -> Option<Self> {
        let experiment = &data.experiment;
        if !experiment.is_interleaved() {
            return None;
        }
        let mut kit = Self {
            name: experiment.name.clone(),
            called: data.called().to_owned(),
            question: experiment.question.clone(),
            hash: experiment.hash.clone(),
            seed: experiment.seed,
            command: String::new(),
            experiment: None,
            commands: Vec::new(),
            files: Vec::new(),
            asked: data.texts.iter().filter(|text| text.kind != TextKind::File).cloned().collect(),
            notes: Vec::new(),
        };
        let from_file = !experiment.file_text.trim().is_empty();
        let used: Vec<&Text> = data.texts.iter().filter(|text| text.kind == TextKind::File).collect();
        let places = FilePlaces::of(used.iter().map(|text| text.name.as_str()));
        if from_file {
            kit.add_experiment(data, &places);
        }
        for text in used {
            kit.add(text, &places);
        }
        kit.add_pauses(data, &places);
        kit.command = match &kit.experiment {
            Some(path) => kit.runs(path),
            None => kit.typed(data, &places),
        };
        Some(kit)
    }

    /// Files of observed pauses, from the plan: a value on each line, in seconds.
    fn add_pauses(&mut self, data: &ReportData, places: &FilePlaces) {
        let plan = data.experiment.plan.plan();
        let users = plan.and_then(|plan| plan.content.measure.load.users()?.sessions.as_ref());
        for (name, pauses) in users.iter().flat_map(|sessions| &sessions.pauses) {
            let inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
            if !Path::new(name).components().all(inside) {
                self.notes.push(format!(
                    "The think times of {name} are outside the folder: put them where the file names them."
                ));
                continue;
            }
            let lines: String = pauses.iter().map(|pause| format!("{pause}\n")).collect();
            self.files.push(KitFile {
                path: format!("{}{name}", "in/".repeat(places.depth)),
                used_by: vec!["think times".to_owned()],
                sha256: None,
                text: Some(lines),
            });
        }
    }

    /// The typed command with its scripts in their places here, and without the files that it wrote. The seed of a
    /// single run makes it repeatable. The results file may come from somebody else: programs in it are named.
    fn typed(&mut self, data: &ReportData, places: &FilePlaces) -> String {
        let name = data.experiment.name.as_str();
        let Some(command) = data.course.command.clone() else {
            return format!("pgdyno {} …", shell::word(name));
        };
        let programs = command.programs().join(", ");
        if !programs.is_empty() {
            self.notes.push(format!("The command runs the programs in {programs}."));
        }
        let command = command.without_options(&WRITTEN);
        let seed = format!("--random-seed={}", data.experiment.seed);
        let command = command.without_options(&["--random-seed"]).flag(&seed);
        let scripts = data.texts.iter().filter(|text| text.kind == TextKind::File);
        let placed =
            |command: PrintedCommand, text: &Text| command.with_path(&text.name, &places.of_name(&text.name));
        scripts.fold(command, placed).to_string()
    }

    fn runs(&self, path: &str) -> String {
        let command = PrintedCommand::new("run").path(path);
        let command = if self.commands.is_empty() { command } else { command.flag("--allow-commands") };
        let asks_data = self.files.first().and_then(|file| file.text.as_ref());
        match asks_data.is_some_and(|text| text.contains("PGDYNO_DATA")) {
            true => command.option("--data", "EXTRACT").to_string(),
            false => command.to_string(),
        }
    }

    /// The same for programs.
    #[must_use]
    pub fn json(&self) -> String {
        format::json(self)
    }

    fn add_experiment(&mut self, data: &ReportData, places: &FilePlaces) {
        let is_plain = |c: char| !"/\\".contains(c) && !visible::is_hostile(c);
        let plain: String = data.experiment.name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
        let path = format!("{}{plain}.toml", "in/".repeat(places.depth));
        let mut text = data.experiment.file_text.clone();
        for (was, is) in &places.moved {
            let moved = replaced(&text, was, is);
            let place = if moved == text {
                "not found in the experiment file"
            } else {
                "as the experiment file now says"
            };
            self.notes.push(format!("{was} is {is} here, {place}."));
            text = moved;
        }
        if text.contains("(hidden: ") {
            self.notes.push(format!(
                "{path}: what may have been a password is not kept: it says (hidden: …) there."
            ));
        }
        match &data.commands {
            Ok(commands) => {
                // A file that was moved into the folder is not outside of it any more.
                let is_moved = |command: &FileCommand| {
                    let path = command.outside.as_ref().map(|path| path.to_string_lossy());
                    path.is_some_and(|path| places.moved.contains_key(&*path))
                };
                self.commands = commands.iter().filter(|command| !is_moved(command)).cloned().collect();
            }
            Err(why) => self.notes.push(format!(
                "{path}: which commands, programs and files of other folders it names is not known, since it cannot be read: {why}"
            )),
        }
        self.files.push(KitFile { path: path.clone(), used_by: Vec::new(), sha256: None, text: Some(text) });
        self.experiment = Some(path);
        if data.texts.is_empty() && kept_before(data) {
            let note = "The pgdyno that stored this kept no texts of scripts and SQL files: put them where the file names them.";
            self.notes.push(note.to_owned());
        }
        self.notes.extend(extracts(data));
    }

    fn add(&mut self, text: &Text, places: &FilePlaces) {
        let path = places.of_name(&text.name);
        if let Some(known) = self.files.iter_mut().find(|file| file.path == path && file.sha256.is_some()) {
            known.used_by.push(text.used_by.clone());
            return;
        }
        if text.text.is_none() {
            let size = numbers::bytes(text.bytes);
            self.notes.push(format!("{path} ({size}, SHA-256 {}) is not kept: put it there.", text.hash));
        }
        if !text.replaced.is_empty() {
            let lines: Vec<String> = text.replaced.iter().map(u32::to_string).collect();
            let line = if lines.len() == 1 { "line" } else { "lines" };
            self.notes.push(format!(
                "{path}, {line} {}: an earlier pgdyno replaced what may be a password by (hidden); with it back it is the same experiment.",
                lines.join(", ")
            ));
        }
        self.files.push(KitFile {
            path,
            used_by: vec![text.used_by.clone()],
            sha256: Some(text.hash.clone()),
            text: text.text.clone(),
        });
    }
}

/// Places of files in the folder: as the experiment file names them. That file is deep enough for `..` to
/// stay inside.
struct FilePlaces {
    /// Folders above the experiment file.
    depth: usize,
    /// Absolute paths, and the relative ones that replace them, from the experiment file.
    moved: BTreeMap<String, String>,
}

impl FilePlaces {
    fn of<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Self {
        let depth = names.clone().filter(|name| !name.starts_with('/')).map(ups).max().unwrap_or(0);
        let mut taken: BTreeSet<String> = BTreeSet::new();
        let mut moved = BTreeMap::new();
        for name in names.filter(|name| name.starts_with('/')) {
            if moved.contains_key(name) {
                continue;
            }
            let base = name.rsplit('/').next().unwrap_or_default();
            let free = |n: &u32| if *n == 1 { format!("files/{base}") } else { format!("files/{n}/{base}") };
            let place = (1..).map(|n| free(&n)).find(|place| !taken.contains(place)).unwrap_or_default();
            taken.insert(place.clone());
            moved.insert(name.to_owned(), place);
        }
        Self { depth, moved }
    }

    fn of_name(&self, name: &str) -> String {
        let name = self.moved.get(name).map_or(name, String::as_str);
        let mut parts: Vec<&str> = vec!["in"; self.depth];
        for part in name.split('/').filter(|part| !matches!(*part, "" | ".")) {
            match part {
                ".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        parts.join("/")
    }
}

/// Levels above its start that a relative path reaches, at most.
fn ups(name: &str) -> usize {
    let (mut at, mut most) = (0_i64, 0_i64);
    for part in name.split('/') {
        at += match part {
            "" | "." => 0,
            ".." => -1,
            _ => 1,
        };
        most = most.min(at);
    }
    most.unsigned_abs() as usize
}

/// The experiment file with another path: replaces the path, alone or with a weight, and paths with a
/// variable that have the same file's name.
fn replaced(text: &str, was: &str, is: &str) -> String {
    let base = was.rsplit('/').next().unwrap_or(was);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['"', '\'']) {
        let quote = &rest[at..=at];
        out.push_str(&rest[..=at]);
        rest = &rest[at + 1..];
        let Some(end) = rest.find([quote, "\n"].concat().chars().collect::<Vec<_>>().as_slice()) else {
            break;
        };
        let own = &rest[..end];
        let path = own
            .rsplit_once('@')
            .filter(|(_, weight)| weight.parse::<u32>().is_ok())
            .map_or(own, |(path, _)| path);
        let by_variable = path.contains('$') && path.rsplit('/').next() == Some(base);
        match path == was || by_variable {
            true => {
                out.push_str(is);
                out.push_str(&own[path.len()..]);
            }
            false => out.push_str(own),
        }
        out.push_str(&rest[end..=end]);
        rest = &rest[end + 1..];
    }
    out + rest
}

/// Whether the file names something whose text current versions would keep.
fn kept_before(data: &ReportData) -> bool {
    ["files", "sql", "style", "trace"].iter().any(|key| {
        data.experiment
            .file_text
            .lines()
            .any(|line| line.contains(key) && line.contains('=') && line.contains(['"', '\'']))
    })
}

/// Data that preparation and loads read; the results do not contain it.
fn extracts(data: &ReportData) -> Vec<String> {
    let Some(plan) = data.experiment.plan.plan() else { return Vec::new() };
    let kept: BTreeSet<&str> = data.texts.iter().map(|text| text.hash.as_str()).collect();
    let prepare = &plan.content.prepare;
    let mut inputs =
        if prepare.jobs.tables("osm").is_empty() { BTreeMap::new() } else { prepare.inputs.clone() };
    for workload in plan.content.workloads.values().filter(|of| !of.spec.tables("osm").is_empty()) {
        let files = std::iter::once(&workload.scripts).chain(workload.levels.values());
        inputs.extend(files.flatten().map(|(name, hash)| (name.clone(), hash.clone())));
    }
    // The name of a load contains a hash of its options.
    inputs.retain(|name, hash| !name.starts_with("osm2pgsql ") && !kept.contains(hash.as_str()));
    let note = |(name, hash): (&String, &String)| {
        format!(
            "The data {name} (SHA-256 {hash}) is not in the results: name it where the experiment file asks for it."
        )
    };
    inputs.iter().filter(|(name, _)| name.contains(".osm") || name.ends_with(".pbf")).map(note).collect()
}

pub(crate) const COMMANDS: &str = "It executes or uses these, which its file names:";

/// Markdown code, so that nothing in it becomes a link or a tag.
fn code(text: &str) -> String {
    let fence = "`".repeat(text.split(|c| c != '`').map(str::len).max().unwrap_or(0) + 1);
    format!("{fence} {text} {fence}")
}

/// All of it as one text: for a terminal, or as Markdown.
#[must_use]
pub fn in_words(kit: &Kit, markdown: bool) -> String {
    let shown = |text: &str| match markdown {
        true => markdown_text(&visible::line(text)),
        false => visible::line(text).into_owned(),
    };
    let head = |text: String| match markdown {
        true => format!("\n## {}\n\n", shown(&text)),
        false => format!("\n== {}\n", shown(&text)),
    };
    let block = |text: &str| if markdown { fenced(text) } else { barred(text) };
    let mut out = format!("{}{}\n", if markdown { "# " } else { "" }, shown(&kit.question));
    out += if markdown { "\n" } else { "" };
    out += &format!(
        "{} (identity {}, seed {}):\n\n",
        if kit.experiment.is_some() { "Repeat it" } else { "Measured from the command line" },
        shown(&kit.hash),
        kit.seed
    );
    out += &if markdown { fenced(&kit.command) } else { format!("{}\n", visible::line(&kit.command)) };
    if !kit.commands.is_empty() {
        out += &format!("\n{COMMANDS}\n{}", if markdown { "\n" } else { "" });
        for command in &kit.commands {
            let words = visible::line(&command.words()).into_owned();
            out += &if markdown { format!("- {}\n", code(&words)) } else { format!("  {words}\n") };
        }
    }
    for note in &kit.notes {
        out += &format!("{}{}\n", if markdown { "\n- " } else { "note: " }, shown(note));
    }
    for file in &kit.files {
        let Some(text) = &file.text else { continue };
        let used =
            if file.used_by.is_empty() { "the experiment file".to_owned() } else { file.used_by.join(", ") };
        out += &(head(format!("{}: {used}", file.path)) + &block(text));
    }
    for asked in &kit.asked {
        let Some(text) = &asked.text else { continue };
        out += &(head(format!("{}: {}", asked.name, asked.used_by)) + &block(text));
    }
    out
}

/// A text in Markdown, between fences that are longer than any in it.
fn fenced(text: &str) -> String {
    let text = visible::lines(text);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let fence = "`".repeat(text.split(|c| c != '`').map(str::len).max().unwrap_or(0).max(2) + 1);
    format!("{fence}\n{text}{end}{fence}\n")
}

/// A text on a terminal, with a bar before each line, so that it cannot imitate pgdyno's output.
fn barred(text: &str) -> String {
    let lines = visible::lines(text);
    lines.split_terminator('\n').map(|line| format!("  | {line}").trim_end().to_owned() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stay_below_the_folder() {
        let names = [
            "a.sql",
            "x/../../b.sql",
            "../../c/d.sql",
            "/etc/e.sql",
            "/tmp/e.sql",
            "./f.sql",
            "../../../../g.sql",
        ];
        let places = FilePlaces::of(names.into_iter());
        let paths = names.map(|name| places.of_name(name));
        let wanted = [
            "in/in/in/in/a.sql",
            "in/in/in/b.sql",
            "in/in/c/d.sql",
            "in/in/in/in/files/e.sql",
            "in/in/in/in/files/2/e.sql",
            "in/in/in/in/f.sql",
            "g.sql",
        ];
        assert_eq!(paths, wanted);
        let flat = FilePlaces::of(["a.sql", "b/c.sql"].into_iter());
        assert_eq!((flat.depth, flat.of_name("b/c.sql")), (0, "b/c.sql".to_owned()));
    }

    #[test]
    fn absolute_paths_are_changed_where_they_stand() {
        let text =
            "a = [\"/x/a.sql@3\", '/x/a.sql', \"/x/a.sql.old\"] # don't\nb = \"$D/a.sql\"\nc = \"d/a.sql\"\n";
        let wanted = "a = [\"files/a.sql@3\", 'files/a.sql', \"/x/a.sql.old\"] # don't\nb = \"files/a.sql\"\nc = \"d/a.sql\"\n";
        assert_eq!(replaced(text, "/x/a.sql", "files/a.sql"), wanted);
    }
}
