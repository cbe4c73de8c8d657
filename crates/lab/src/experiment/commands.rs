//! What in an experiment file needs consent: commands, programs and other code that a run executes, and paths
//! outside the file's folder ([`outside`]).
//!
//! SQL is not listed: the server executes it, with the rights of the login (docs/decisions/0029).

use std::collections::BTreeMap;
use std::path::Path;

use spec::plan::change::{Change, ChangeStep};
use spec::{ExecutedBy, FileCommand};
use workloads::{Spec, osm};

use super::document::Document;
use super::model::ExperimentFile;
use super::outside::outside;
use spec::plan::{Named, TargetSpec};

/// Longest text shown of a command, characters.
const SHOWN: usize = 1000;

pub(super) fn commands(
    document: &Document<'_>,
    file: &ExperimentFile,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Vec<FileCommand> {
    let mut found = Found { document, file, commands: Vec::new() };
    let Named { servers, builds, changes, .. } = &file.named;
    if document.value(&["target"]).is_some() {
        found.tile_servers(&["target"], &file.target);
    }
    servers.iter().for_each(|(name, server)| found.tile_servers(&["server", name], server));
    for (name, build) in builds {
        let (key, runs) = match &build.source {
            None => {
                let bin = build.bin.display();
                ("bin", format!("postgres, initdb and the other PostgreSQL programs in {bin}"))
            }
            Some(source) => {
                let (reference, folder) = (quoted(&source.reference), source.folder.display());
                (
                    "git",
                    format!(
                        "git, configure, make and all that they run, to build {reference} of {folder}, and its programs"
                    ),
                )
            }
        };
        found.add(&["version", name, key], runs, ExecutedBy::Pgdyno);
    }
    found.changes(changes);
    for (index, load) in file.prepare.osm.iter().enumerate() {
        found.osm(&["prepare", "osm", &format!("[{index}]")], "prepare.osm", load);
    }
    for workload in &file.workloads {
        if let Spec::Osm(load) = &workload.spec {
            found.osm(&["workload", &workload.name, "osm"], &workload.name, &load.in_folder(file.folder()));
        }
    }
    for (place, what, path) in outside(document, file, variable) {
        found.add(&texts(&place), what, None);
        if let Some(added) = found.commands.last_mut() {
            added.outside = path;
        }
    }
    found.settings();
    found.commands.sort_by_key(|command| command.line);
    found.commands
}

struct Found<'f, 'd> {
    document: &'f Document<'d>,
    file: &'f ExperimentFile,
    commands: Vec<FileCommand>,
}

impl Found<'_, '_> {
    /// Adds the value of a key; without `by` the value is used, not executed.
    fn add(&mut self, place: &[&str], runs: String, by: impl Into<Option<ExecutedBy>>) {
        let key = place.join(".").replace(".[", "[");
        let line = self.document.start(place).map(|start| self.document.line(start));
        self.commands.push(FileCommand { key, line, runs, by: by.into(), outside: None });
    }

    fn tile_servers(&mut self, table: &[&str], server: &TargetSpec) {
        for (index, options) in server.tile_servers().iter().enumerate() {
            if let Some(program) = &options.program {
                let index = format!("[{index}]");
                let place = [table, &["tile_servers", &index, "program"]].concat();
                self.add(&place, program_words(program), ExecutedBy::Pgdyno);
            }
        }
    }

    fn changes(&mut self, changes: &BTreeMap<String, BTreeMap<String, Change>>) {
        for (name, levels) in changes {
            for (level, Change { do_, undo, .. }) in levels {
                for (part, step) in [("do", do_), ("undo", undo)] {
                    if let Some(ChangeStep::Command(command)) = step {
                        let runs = format!("the shell command {}", quoted(command));
                        self.add(&["change", name, level, part], runs, ExecutedBy::Pgdyno);
                    }
                }
            }
        }
    }

    /// A load; `factor` is the prefix of its options as factors.
    fn osm(&mut self, table: &[&str], factor: &str, load: &osm::OsmOptions) {
        let shown = |path: &Path| path.display().to_string();
        for (place, program) in self.values(table, factor, "program", load.program.as_deref().map(shown)) {
            self.add(&texts(&place), program_words(Path::new(&program)), ExecutedBy::Pgdyno);
        }
        let outputs = self.values(table, factor, "output", load.output.clone());
        let is_flex = outputs.iter().any(|(_, output)| output == "flex");
        for (place, style) in self.values(table, factor, "style", load.style.as_deref().map(shown)) {
            if is_flex || style.to_ascii_lowercase().ends_with(".lua") {
                let runs = format!("the Lua code in {style}, by osm2pgsql");
                self.add(&texts(&place), runs, ExecutedBy::Pgdyno);
            }
        }
        for (place, args) in self.values(table, factor, "args", Some(load.args.clone())) {
            if osm::runs_lua(&args) {
                let runs = format!("Lua code, by osm2pgsql with {}", quoted(&args));
                self.add(&texts(&place), runs, ExecutedBy::Pgdyno);
            }
        }
    }

    /// An option of a load, and its levels as a factor, each with its place.
    fn values(
        &self,
        table: &[&str],
        factor: &str,
        key: &str,
        own: Option<String>,
    ) -> Vec<(Vec<String>, String)> {
        let owned = |place: &[&str]| place.iter().map(|step| (*step).to_owned()).collect::<Vec<_>>();
        let dotted = format!("{factor}.{key}");
        let list = self.document.factor(&dotted);
        let levels = self.file.factors.levels(&dotted).iter().enumerate();
        let levels = levels.map(|(index, level)| {
            let index = format!("[{index}]");
            (owned(&[&list[..], &[&index]].concat()), level.clone())
        });
        let own = own.map(|own| (owned(&[table, &[key]].concat()), own));
        own.into_iter().chain(levels).collect()
    }

    /// Settings that make a server execute a command, or load a library from a folder.
    fn settings(&mut self) {
        let file = self.file;
        for arm in &file.arms {
            for (name, value) in arm.settings.iter().filter(|(name, value)| is_code(name, value)) {
                // An arm that splits another one is not in the file.
                let Some(line) = arm.lines.get(name) else { continue };
                let (key, line) = (format!("settings.{}.{name}", arm.name), Some(*line));
                let runs = format!("the setting {name} = {}, by the server", quoted(value));
                let by = Some(ExecutedBy::Server);
                let known = self.commands.iter().any(|known| known.line == line && known.runs == runs);
                if !known {
                    self.commands.push(FileCommand { key, line, runs, by, outside: None });
                }
            }
        }
        for (name, build) in &file.named.builds {
            for (setting, value) in build.settings.iter().filter(|(name, value)| is_code(name, value)) {
                let runs = format!("the setting {setting} = {}, by the server", quoted(value));
                self.add(&["version", name, "settings", setting], runs, ExecutedBy::Server);
            }
        }
    }
}

fn texts(place: &[String]) -> Vec<&str> {
    place.iter().map(String::as_str).collect()
}

fn program_words(program: &Path) -> String {
    format!("the program {}", program.display())
}

/// In quotes, on one line, with control characters escaped.
fn quoted(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => format!("{text:?}"),
        Some((end, _)) => {
            let more = text[end..].chars().count();
            format!("{:?} and {more} more characters: read them in the file", &text[..end])
        }
    }
}

/// Whether a server executes this value of a setting, or code from a folder that it names. A library without
/// a folder in its name is installed.
fn is_code(name: &str, value: &str) -> bool {
    let mut parts = value.split([',', ':']).map(|part| part.trim().trim_matches(['"', '\'']));
    let is_installed = |part: &str| {
        let part = part.strip_prefix("$libdir/").unwrap_or(part);
        let part = part.strip_prefix("plugins/").unwrap_or(part);
        !part.contains(['/', '\\'])
    };
    match name {
        _ if value.trim().is_empty() => false,
        _ if name.ends_with("_command") || name.starts_with("plperl.on_") || name.starts_with("pljava.") => {
            true
        }
        "dynamic_library_path" | "extension_control_path" => {
            parts.any(|part| !matches!(part, "" | "$libdir" | "$system"))
        }
        "jit_provider" => !parts.all(is_installed),
        _ if name.ends_with("_libraries") || name.ends_with("_library") => !parts.all(is_installed),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The commands of a file with these tables, as `line: key: what`.
    fn of(tables: &str) -> Vec<String> {
        let text =
            format!("question = \"?\"\n[workload.w]\npgbench = {{ builtin = \"select-only\" }}\n{tables}");
        let variable = |name: &str| (name == "TOOLS").then(|| "/opt/tools".to_owned());
        let file = ExperimentFile::parse(Path::new("lab/x.toml"), &text, false, &variable);
        let file = file.unwrap_or_else(|problems| panic!("{problems}"));
        let words = |command: &FileCommand| {
            assert!(command.runs.lines().count() == 1, "{command:?}");
            format!("{}: {}: {}", command.line.unwrap_or(0), command.key, command.runs)
        };
        file.commands().iter().map(words).collect()
    }

    const MANAGED: &str = "[target]\nmanaged = {}\n";

    #[test]
    fn a_file_of_sql_alone_runs_no_command() {
        let sql = "[prepare]\nsql = \"a.sql\"\n[change.i.none]\n[change.i.some]\ndo = \"CREATE INDEX i ON t (x)\"\n\
                   undo = \"DROP INDEX IF EXISTS i\"\n[factors]\nversion = [15, 16]\n";
        assert!(of(&format!("{MANAGED}{sql}")).is_empty());
        let load =
            "[prepare]\nosm = { extract = \"a.osm.pbf\", style = \"my.style\", args = \"--latlong\" }\n";
        assert!(of(&format!("{MANAGED}{load}")).is_empty());
    }

    #[test]
    fn commands_of_changes_are_found_in_do_and_undo() {
        let change = "[change.sorted.no]\n[change.sorted.yes]\ndo = { command = \"make \\\"x\\\"\\nid\" }\n\
                      undo = { command = \"rm -rf y\" }\ncheck = \"SELECT true\"\n";
        let wanted = [
            r#"8: change.sorted.yes.do: the shell command "make \"x\"\nid""#,
            r#"9: change.sorted.yes.undo: the shell command "rm -rf y""#,
        ];
        assert_eq!(of(&format!("{MANAGED}{change}")), wanted);
    }

    #[test]
    fn programs_are_found_wherever_a_file_can_name_one() {
        let text = "[target]\nmanaged = { extensions = [\"postgis\"] }\n\
                    tile_servers = [\"tipg\", { kind = \"martin\", program = \"bin/m\" }]\n\
                    [version.mine]\nbin = \"$TOOLS/pg/bin\"\n\
                    [prepare]\nosm = { extract = \"a.osm.pbf\", program = \"../o/osm2pgsql\" }\n\
                    [workload.load]\nosm = { extract = \"b.osm.pbf\", prefix = \"b\", program = \"other-osm2pgsql\" }\n\
                    [factors]\nworkload = [\"w\", \"load\"]\nversion = [15, \"mine\"]\n";
        let wanted = [
            "6: target.tile_servers[1].program: the program lab/bin/m",
            "8: version.mine.bin: postgres, initdb and the other PostgreSQL programs in /opt/tools/pg/bin",
            "10: prepare.osm[0].program: the program lab/../o/osm2pgsql",
            "12: workload.load.osm.program: the program other-osm2pgsql",
        ];
        assert_eq!(of(text), wanted);
    }

    #[test]
    fn programs_that_are_levels_are_found() {
        let text = format!(
            "{MANAGED}[prepare]\nosm = {{ extract = \"a.osm.pbf\" }}\n[factors]\n\
             prepare.osm.program = [\"osm2pgsql\", \"./mine\"]\n"
        );
        let wanted = [
            "9: factors.prepare.osm.program[0]: the program osm2pgsql",
            "9: factors.prepare.osm.program[1]: the program ./mine",
        ];
        assert_eq!(of(&text), wanted);
        let in_quotes = text.replace("prepare.osm.program =", "\"prepare.osm.program\" =");
        assert_eq!(of(&in_quotes).len(), 2);
    }

    #[test]
    fn lua_is_code() {
        let load = |more: &str| {
            let found = of(&format!("{MANAGED}[prepare]\nosm = [{{ extract = \"a.osm.pbf\", {more} }}]\n"));
            found.into_iter().map(|command| command.replace("7: prepare.osm[0].", "")).collect::<Vec<_>>()
        };
        assert_eq!(load("output = \"flex\", style = \"s\""), ["style: the Lua code in lab/s, by osm2pgsql"]);
        assert_eq!(load("style = \"s.Lua\""), ["style: the Lua code in lab/s.Lua, by osm2pgsql"]);
        let transform = "args = \"--latlong --tag-transform-script x\"";
        let wanted = "args: Lua code, by osm2pgsql with \"--latlong --tag-transform-script x\"";
        assert_eq!(load(transform), [wanted]);
        assert_eq!(load("output = \"pgsql\", style = \"s\""), [""; 0]);
    }

    #[test]
    fn settings_by_which_a_server_runs_code() {
        for (setting, wanted) in [
            ("archive_command = \"cp %p /x\"", true),
            ("ARCHIVE_COMMAND = \"cp %p /x\"", true),
            ("archive_command = \"\"", false),
            ("ssl_passphrase_command = \"cat x\"", true),
            ("restore_command = \"x\"", true),
            ("shared_preload_libraries = \"pg_stat_statements, auto_explain\"", false),
            ("shared_preload_libraries = \"pg_stat_statements,/home/x/evil\"", true),
            ("session_preload_libraries = \"$libdir/plugins/a\"", false),
            ("local_preload_libraries = \"$libdir/plugins/../../x\"", true),
            ("archive_library = \"basic_archive\"", false),
            ("archive_library = \"./x\"", true),
            ("jit_provider = \"llvmjit\"", false),
            ("jit_provider = \"../x\"", true),
            ("dynamic_library_path = \"$libdir\"", false),
            ("dynamic_library_path = \"/x:$libdir\"", true),
            ("\"plperl.on_init\" = \"system('x')\"", true),
            ("work_mem = \"4MB\"", false),
        ] {
            let text = format!(
                "{MANAGED}[compare]\nfactor = \"settings\"\nbase = \"a\"\n[settings.a]\n[settings.b]\n{setting}\n"
            );
            let found = of(&text);
            assert_eq!(found.len(), usize::from(wanted), "{setting}: {found:?}");
            assert!(found.iter().all(|one| one.starts_with("11: settings.b.")), "{found:?}");
        }
    }

    #[test]
    fn a_stored_text_is_read_without_its_variables_and_with_its_full_form() {
        let text = "question = \"?\"\n[target]\nmanaged = {}\n[prepare]\nosm = { extract = \"$DATA\" }\n[workload.w]\n\
                    pgbench = { builtin = \"select-only\" }\n[version.old]\nbin = \"$BUILD\"\n[factors]\nversion = [\"old\"]\n\
                    [full.factors]\nprepare.osm.program = [\"x/a\", \"x/b\"]\n";
        let found = ExperimentFile::commands_of(text).unwrap();
        let runs: Vec<&str> = found.iter().map(|command| command.runs.as_str()).collect();
        let build = "postgres, initdb and the other PostgreSQL programs in $BUILD";
        assert_eq!(runs, [build, "the program x/a", "the program x/b"]);
    }

    #[test]
    fn a_long_command_is_cut() {
        let shown = quoted(&"é".repeat(SHOWN + 7));
        assert!(shown.ends_with("é\" and 7 more characters: read them in the file"), "{shown}");
    }
}
