//! `\shell` and `\setshell`.

use std::sync::{Arc, Mutex};

use super::*;
use crate::pgbench::{Shell, ShellCommand, ShellDone, WhenDone};

/// Answers at once, and keeps what was to be run.
#[derive(Debug)]
struct Echo {
    answer: ShellDone,
    ran: Mutex<Vec<ShellCommand>>,
}

impl Shell for Echo {
    fn start(&self, command: ShellCommand, done: WhenDone) {
        self.ran.lock().unwrap().push(command);
        done(self.answer.clone());
    }
}

fn ended(success: bool, output: &str) -> ShellDone {
    ShellDone::Ended { success, output: output.as_bytes().to_vec() }
}

/// The messages, the commands that were run, and the queries.
fn run(script: &str, answer: ShellDone, debug: bool) -> (Vec<String>, Vec<ShellCommand>, Vec<String>) {
    let echo = Arc::new(Echo { answer, ran: Mutex::default() });
    let drop_in_options =
        DropInOptions { shell: Some(Arc::clone(&echo) as Arc<dyn Shell>), debug, ..DropInOptions::default() };
    let mut server = FakePostgres::new(|_, _: &str| one("1"));
    let (messages, _) = drop_in(&PgbenchOptions::default(), drop_in_options, script, 1, &mut server);
    let ran = echo.ran.lock().unwrap().clone();
    (messages, ran, server.asked().iter().map(|sql| (*sql).to_owned()).collect())
}

#[test]
fn commands_are_run_elsewhere_and_the_script_goes_on() {
    let script = "\\set n 5\n\\shell echo :n ::x\n\\setshell v echo :n\nselect :v;";
    let (messages, ran, asked) = run(script, ended(true, "42\nmore\n"), false);
    assert_eq!(messages, [""; 0]);
    let command = |text: &str, capture| ShellCommand { text: text.as_bytes().to_vec(), capture };
    assert_eq!(ran, [command("echo 5 :x", false), command("echo 5", true)]);
    assert_eq!(asked, ["select 42;"]);
}

#[test]
fn what_cannot_be_run_ends_the_client_in_pgbench_s_words() {
    let shell = "client 0 aborted in command 0 (shell) of script 0; execution of meta-command failed";
    let set_shell = "client 0 aborted in command 0 (setshell) of script 0; execution of meta-command failed";
    let cases = [
        ("\\shell false", ended(false, ""), "false: could not launch shell command", shell),
        ("\\shell x", ShellDone::NotStarted, "x: could not launch shell command", shell),
        ("\\shell echo :none", ended(true, ""), "echo: undefined variable \":none\"", shell),
        ("\\setshell v true", ended(true, ""), "true: could not read result of shell command", set_shell),
        ("\\setshell v x", ShellDone::NotStarted, "x: could not launch shell command", set_shell),
        (
            "\\setshell v echo",
            ended(true, "one"),
            "echo: shell command must return an integer (not \"one\")",
            set_shell,
        ),
        ("\\setshell 1v echo", ended(true, "1"), "setshell: invalid variable name: \"1v\"", set_shell),
    ];
    for (script, answer, cause, last) in cases {
        let (messages, ..) = run(script, answer, false);
        assert_eq!(messages, [format!("abort: {cause}\n{last}")], "{script}");
    }
    // The exit status of \setshell means nothing.
    assert_eq!(run("\\setshell v false", ended(false, "7\n"), false).0, [""; 0]);
}

#[test]
fn steps_of_a_shell_command_are_told_when_asked_for() {
    let (messages, ..) = run("\\setshell v echo 4 5", ended(true, "45\n"), true);
    insta::assert_snapshot!(messages.join("\n"), @r#"
    debug: client 0 executing script "script0"
    debug: client 0 executing \setshell v echo 4 5
    debug: echo: shell parameter name: "4", value: "45
    "
    "#);
}

#[test]
fn without_a_shell_scripts_that_need_one_are_refused_by_name() {
    let refused = Pgbench::with_drop_in_options(
        &PgbenchOptions::default(),
        &sources(&["\\shell x"]),
        DropInOptions::default(),
    );
    let message = refused.err().unwrap().to_string();
    assert!(message.starts_with("script0:1: \\shell is not supported"), "{message}");
}
