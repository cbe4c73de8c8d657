//! Command lines recorded with real pgbench 18.

use super::super::super::talk::Talk;
use super::*;

/// The program's output for a command line, in the format of the recorded cases.
fn shown(words: &[&str]) -> String {
    let (lines, end) = match parse_words(words, &Fake::default()) {
        Ok(CommandLine { messages, command: PgbenchCommand::ListScripts, .. }) => {
            (messages, format!("{}exit 0\n", list_text()))
        }
        Ok(CommandLine { messages, command: PgbenchCommand::ShowScript(builtin), .. }) => {
            (messages, format!("{}exit 0\n", show_text(builtin)))
        }
        Ok(CommandLine { messages, .. }) => (messages, "accepted\n".to_owned()),
        Err(ArgumentError { lines, exit }) => (lines, format!("exit {exit}\n")),
    };
    let talk = Talk::default();
    lines.iter().map(|(level, text)| talk.line(*level, text)).chain([end]).collect()
}

/// Each recorded command line of pgbench 18.6 has the same result here. (A case starts with `$` and its words
/// separated by tabs; `accepted` means that pgbench tried to connect.)
#[test]
fn command_lines_end_as_in_pgbench_18() {
    let mut wrong = String::new();
    let cases: Vec<&str> = include_str!("real18.txt").split("$\t").skip(1).collect();
    assert_eq!(cases.len(), 277);
    for case in cases {
        let (words, wanted) = case.split_once('\n').expect("a line of words");
        let words: Vec<&str> = words.split('\t').collect();
        let shown = shown(&words);
        if shown != wanted {
            wrong.push_str(&format!("{words:?}\nwanted: {wanted}shown:  {shown}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
