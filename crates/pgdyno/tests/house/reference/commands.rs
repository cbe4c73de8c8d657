//! All commands, as their help describes them. Options that several commands share are listed once.

use std::collections::BTreeMap;
use std::process::Command;

use super::check;

/// From this many commands on, an option with the same text is listed once.
const SHARED: usize = 3;

/// All command paths (`target start`, ...) with their help, from the program itself.
fn commands(path: &[&str], found: &mut BTreeMap<String, String>) {
    let output = Command::new(env!("CARGO_BIN_EXE_pgdyno")).args(path).arg("--help").output().expect("runs");
    assert!(output.status.success(), "{path:?} --help fails");
    let help = String::from_utf8(output.stdout).expect("UTF-8");
    let listed = help.split("Commands:\n").nth(1).unwrap_or_default();
    for line in listed.lines().take_while(|line| !line.is_empty()) {
        let Some(name) = line.strip_prefix("  ").and_then(|rest| rest.split_whitespace().next()) else {
            continue;
        };
        if line.starts_with("   ") || name == "help" {
            continue;
        }
        let deeper = [path, &[name]].concat();
        commands(&deeper, found);
    }
    found.insert(path.join(" "), help);
}

/// The parts of a help: options, headings and paragraphs. An option goes on as long as its lines are indented further.
fn parts(help: &str) -> Vec<String> {
    let is_option = |line: &str| line.trim_start().starts_with('-') && line.starts_with("  ");
    let is_further = |line: &str| line.starts_with("        ");
    let mut parts: Vec<String> = Vec::new();
    let mut blanks = 0;
    for line in help.trim_end().lines().map(str::trim_end) {
        if line.is_empty() {
            blanks += 1;
            continue;
        }
        let goes_on = match parts.last() {
            Some(part) if is_option(part) => is_further(line),
            Some(_) => blanks == 0 && !is_option(line),
            None => false,
        };
        match parts.last_mut() {
            Some(part) if goes_on => *part += &format!("{}{line}", "\n".repeat(blanks + 1)),
            _ => parts.push(line.to_owned()),
        }
        blanks = 0;
    }
    parts
}

/// `--format` of `--format <FORMAT>` and its text; the short name where there is no other.
fn name(option: &str) -> Option<&str> {
    let first = option.lines().next()?.trim_start();
    let words = first.split([' ', ',', '=', '[', '<']).filter(|word| word.starts_with('-'));
    words.clone().find(|word| word.starts_with("--")).or_else(|| words.clone().next())
}

fn block(parts: &[&String]) -> String {
    let mut text = String::new();
    for (at, part) in parts.iter().enumerate() {
        let is_heading = part.ends_with(':') && !part.contains('\n');
        let ends = at + 1 == parts.len();
        text += part;
        text += if ends || is_heading { "\n" } else { "\n\n" };
    }
    format!("\n```text\n{text}```\n")
}

#[test]
fn commands_page_is_the_help_of_every_command() {
    let mut found = BTreeMap::new();
    commands(&[], &mut found);
    assert!(found.len() > 12, "{:?}", found.keys());
    let found: BTreeMap<_, _> = found.iter().map(|(path, help)| (path, parts(help))).collect();
    let mut times: BTreeMap<&String, usize> = BTreeMap::new();
    for option in found
        .values()
        .flatten()
        .filter(|part| name(part).is_some_and(|name| part.trim_start().starts_with('-') && name != "--help"))
    {
        *times.entry(option).or_default() += 1;
    }
    times.retain(|_, times| *times >= SHARED);
    let mut shared: Vec<&String> = times.keys().copied().collect();
    shared.sort_by_key(|option| name(option).map(|name| name.trim_start_matches('-')));
    let mut page = format!(
        "\n## Options of several commands\n\nThe commands below name them after *Also*.\n{}",
        block(&shared)
    );
    for (path, parts) in &found {
        let own: Vec<&String> = parts.iter().filter(|part| !times.contains_key(part)).collect();
        // A heading whose options are all above.
        let is_heading = |part: &str| part.ends_with(':') && !part.contains('\n') && !part.starts_with(' ');
        let is_empty = |at: usize| own.get(at + 1).is_none_or(|next| !next.starts_with(' '));
        let kept: Vec<&String> = own
            .iter()
            .enumerate()
            .filter(|(at, part)| !is_heading(part) || !is_empty(*at))
            .map(|(_, part)| *part)
            .collect();
        page += &format!("\n## {}\n{}", format!("pgdyno {path}").trim_end(), block(&kept));
        let also: Vec<_> =
            parts.iter().filter(|part| times.contains_key(part)).filter_map(|part| name(part)).collect();
        if !also.is_empty() {
            let also: Vec<_> = also.iter().map(|name| format!("`{name}`")).collect();
            page += &format!("\nAlso: {}\n", also.join(", "));
        }
    }
    check("commands.md", &(page + "\n"));
}

#[test]
fn options_end_where_the_next_part_begins() {
    let help = "Run\n\nUsage: x\n\nOptions:\n  -a, --all <N>\n          All\n\n          [default: 1]\n\n  -h\n          Help\n\nMore:\n      --b=<X>\n";
    let parts = parts(help);
    assert_eq!(
        parts[2..],
        [
            "Options:",
            "  -a, --all <N>\n          All\n\n          [default: 1]",
            "  -h\n          Help",
            "More:",
            "      --b=<X>"
        ]
    );
    let names: Vec<_> = parts.iter().filter_map(|part| name(part)).collect();
    assert_eq!(names, ["--all", "-h", "--b"]);
}
