//! An experiment file from somebody else executes nothing by itself: its commands and programs are listed,
//! and run only with consent (docs/decisions/0029).

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{self, Finished, Place, Server, line_of};

/// A program that leaves a file named `ran-NAME` next to its folder, and prints a PostgreSQL version.
fn trap(place: &Place, name: &str) -> PathBuf {
    let mark = place.path().join("marks").join(format!("ran-{}", name.replace('/', "-")));
    std::fs::create_dir_all(place.path().join("tools")).unwrap();
    let text = format!("#!/bin/sh\ntouch {}\necho 'postgres (PostgreSQL) 15.4'\n", mark.display());
    let path = place.write(&format!("tools/{name}"), text);
    std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    path
}

/// A folder where any account can create files.
fn marks(place: &Place) -> PathBuf {
    let folder = place.path().join("marks");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
    folder
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// A file with a program wherever one is possible.
const EVERY_PROGRAM: &str = r#"
question = "Is our own build faster?"
[target]
managed = { extensions = ["postgis"] }
tile_servers = [{ kind = "martin", program = "tools/martin" }]
[version.ours]
bin = "tools"
[prepare]
osm = { scale = 0.001, program = "tools/loader", output = "flex", style = "tools/style.lua" }
[workload.one]
pgbench = { files = ["one.sql"] }
[change.sorted.no]
[change.sorted.yes]
do = { command = "touch marks/ran-do" }
undo = { command = "touch marks/ran-undo" }
[factors]
version = [15, "ours"]
[compare]
factor = "version"
base = 15
[settings.all]
archive_command = "touch marks/ran-archive"
[measure]
duration = "200ms"
rounds = 2
"#;

fn every_program(place: &Place) -> PathBuf {
    for name in ["postgres", "initdb", "pg_config", "pg_ctl", "martin", "loader"] {
        trap(place, name);
    }
    place.write("tools/style.lua", "os.execute('touch marks/ran-lua')\n");
    place.write("one.sql", "SELECT 1;\n");
    place.write("theirs.toml", EVERY_PROGRAM)
}

/// `[version.NAME] bin` was executed for its version, as root.
#[test]
fn a_dry_run_executes_nothing_that_the_file_names() {
    let place = Place::new();
    let (marks, file) = (marks(&place), every_program(&place));
    for more in [&[][..], &["--allow-commands"], &["--format", "json"]] {
        let arguments = [&["run", "theirs.toml", "--dry-run"], more].concat();
        let shown = place.run(arguments).expect(0);
        assert_eq!(names_in(&marks), [""; 0], "{shown:?}");
        let at = |words: &str| line_of(&file, words);
        let lines = [
            format!("{}: target.tile_servers[0].program: the program ", at("martin")),
            format!(
                "{}: version.ours.bin: postgres, initdb and the other PostgreSQL programs in ",
                at("bin =")
            ),
            format!("{}: prepare.osm[0].program: the program ", at("loader")),
            format!("{}: prepare.osm[0].style: the Lua code in ", at("loader")),
            format!("{}: change.sorted.yes.do: the shell command \"touch marks/ran-do\", as ", at("do = ")),
            format!("{}: change.sorted.yes.undo: the shell command \"touch marks/ran-undo\"", at("undo = ")),
            format!("{}: settings.all.archive_command: the setting archive_command = ", at("archive_")),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        shown.says(&lines);
    }
}

#[test]
fn a_run_that_nobody_allowed_executes_nothing_and_lists_all() {
    let place = Place::new();
    let (marks, file) = (marks(&place), every_program(&place));
    let refused = place.run(["run", "theirs.toml"]).expect(64);
    assert_eq!(names_in(&marks), [""; 0]);
    assert!(!place.home().exists() && !place.results().exists(), "nothing was begun");
    refused.says(&[
        "theirs.toml names commands, programs, or files outside its folder, and --allow-commands is not given",
        &format!("{}: change.sorted.yes.do: the shell command", line_of(&file, "do = ")),
        "the Lua code in tools/style.lua, by osm2pgsql",
        "archive_command = \"touch marks/ran-archive\", by the server, as the server's account",
        "add --allow-commands",
    ]);
}

/// Runs the command on a terminal, with this input.
fn typed(place: &Place, command: &str, answer: &str) -> Finished {
    let pgdyno = place.command([""; 0]);
    let line = format!("{} {command}", pgdyno.get_program().display());
    let mut shell = Command::new("sh");
    shell.args(["-c", "printf '%s\\n' \"$2\" | script -qec \"$1\" /dev/null", "sh", &line, answer]);
    shell.current_dir(place.path());
    for (name, value) in pgdyno.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    support::finish(shell)
}

#[test]
fn on_a_terminal_somebody_is_asked() {
    let place = Place::new();
    if Command::new("script").arg("--version").output().is_err() {
        return support::not_available("a terminal", "there is no program `script`");
    }
    let server = Server::start();
    let marks = marks(&place);
    allowed_by_url(&place, &server);
    for answer in ["", "n", "no, never"] {
        let refused = typed(&place, "run small.toml", answer).expect(64);
        let shown = format!("{}{}", refused.stdout, refused.stderr);
        assert!(shown.contains("change.noted.yes.do: the shell command"), "{shown}");
        assert!(shown.contains("allow all of it? [y/N]") && shown.contains("was not run"), "{shown}");
        assert_eq!(names_in(&marks), [""; 0], "{answer}");
    }
    typed(&place, "run small.toml", "yes").expect(0);
    assert_eq!(names_in(&marks), ["done"]);
}

/// A small file with one command, for a server by URL.
fn allowed_by_url(place: &Place, server: &Server) -> PathBuf {
    place.write("one.sql", "SELECT 1;\n");
    let text = "question = \"What does a note cost?\"\n[target]\nurl = \"URL\"\nchange_server = true\n\
                [workload.one]\npgbench = { files = [\"one.sql\"] }\n[factors]\nnoted = \"yes\"\n[change.noted.yes]\n\
                do = { command = \"touch marks/done\" }\nundo = { command = \"true\" }\n\
                [measure]\nwarmup = \"50ms\"\nduration = \"200ms\"\nrounds = 1\n";
    place.write("small.toml", text.replace("URL", &server.url()))
}

/// `export experiment` printed "repeat it" for an experiment with commands, without naming them.
#[test]
fn what_an_experiment_executes_is_told_with_what_repeats_it() {
    let (place, server) = (Place::new(), Server::start());
    let marks = marks(&place);
    allowed_by_url(&place, &server);
    place.run(["run", "small.toml", "--allow-commands", "--report", "page.html"]).expect(0);
    assert_eq!(names_in(&marks), ["done"]);
    let command = "change.noted.yes.do (line 10): the shell command \"touch marks/done\"";
    let repeat = "pgdyno run small.toml --allow-commands";
    place.run(["export", "experiment", "small", "kit"]).expect(0).says(&[command, repeat]);
    for format in ["text", "md", "json"] {
        let shown = place.run(["export", "experiment", "small", "-", "--format", format]).expect(0).stdout;
        assert!(shown.contains(repeat), "{format}: {shown}");
        assert!(
            shown.contains("touch marks/done") && shown.contains("change.noted.yes.undo"),
            "{format}: {shown}"
        );
    }
    place.run(["report", "-e", "small", "-o", "again.html"]).expect(0);
    for page in ["page.html", "again.html"] {
        let page = std::fs::read_to_string(place.path().join(page)).unwrap();
        assert!(page.contains("It executes or uses these"), "{page}");
        assert!(page.contains("change.noted.yes.do (line 10): the shell command"), "{page}");
    }
    // The stored command asks for consent again.
    assert_eq!(place.sql("select command from experiment"), "pgdyno run small.toml --report page.html");
}

#[test]
fn a_file_of_sql_alone_runs_without_the_option() {
    let (place, server) = (Place::new(), Server::start());
    let file = allowed_by_url(&place, &server);
    let text = std::fs::read_to_string(&file).unwrap();
    let sql = text.replace("{ command = \"touch marks/done\" }", "\"SELECT 1\"");
    place.write("small.toml", sql.replace("{ command = \"true\" }", "\"SELECT 2\""));
    place.run(["run", "small.toml"]).expect(0);
    let shown =
        place.run(["export", "experiment", "small", "kit"]).expect(0).says(&["pgdyno run small.toml"]);
    assert!(
        !shown.stderr.contains("allow-commands") && !shown.stderr.contains("names commands"),
        "{shown:?}"
    );
}

/// A file that cannot be parsed still causes a message.
#[test]
fn commands_of_a_stored_file_that_cannot_be_read_are_not_known() {
    let (place, server) = (Place::new(), Server::start());
    marks(&place);
    allowed_by_url(&place, &server);
    place.run(["run", "small.toml", "--allow-commands"]).expect(0);
    let edit = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); \
                c.execute(\"update experiment set file_text = replace(file_text, 'question', 'qustion')\"); c.commit()";
    let edited = Command::new("python3").args(["-c", edit]).arg(place.results()).status();
    if !edited.is_ok_and(|status| status.success()) {
        return support::not_available("a changed results file", "there is no Python with sqlite3");
    }
    let shown = place.run(["export", "experiment", "small", "-"]).expect(0).stdout;
    assert!(
        shown.contains("which commands, programs and files of other folders it names is not known"),
        "{shown}"
    );
}

/// A command that could not start was recorded as begun, and blocked its server.
#[test]
fn a_command_in_a_closed_folder_leaves_nothing_to_undo() {
    if !crate::support::is_root() {
        return support::not_available("a folder that the account cannot enter", "we are not root");
    }
    let place = Place::new();
    let closed = place.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
    let server = Server::start();
    allowed_by_url(&place, &server);
    std::fs::copy(place.path().join("small.toml"), closed.join("small.toml")).unwrap();
    for file in std::fs::read_dir(place.path()).unwrap().flatten().filter(|file| file.path().is_file()) {
        std::fs::copy(file.path(), closed.join(file.file_name())).unwrap();
    }
    let mut command = place.command(["run", "small.toml", "--allow-commands"]);
    command.current_dir(&closed);
    let done = support::finish(command);
    assert!(done.status.code().is_some_and(|code| code >= 64), "{}", done.stderr);
    assert!(done.stderr.contains("cannot enter") && !done.stderr.contains("still there"), "{}", done.stderr);
    let left = place.run(["target", "restore"]);
    assert!(
        left.stdout.is_empty() || left.stderr.contains("nothing to put back"),
        "{}{}",
        left.stdout,
        left.stderr
    );
}
