//! Variables that a script uses in SQL and nothing sets: the server would get `:name`, or NULL.

use std::collections::BTreeSet;

use script::{
    Action, AssignmentTarget, Capture, Script, Statement, Symbols, is_valid_name, without_literals,
};
use spec::{Class, Error};

use super::prepare::PreparedScripts;

/// Set before the first script.
const AUTOMATIC: [&str; 4] = ["client_id", "scale", "random_seed", "default_seed"];

/// Refuses scripts that use a variable which nothing sets: no option, no row and no command of any script.
///
/// # Errors
/// The variable, and where it is used.
pub(super) fn refuse(program: &PreparedScripts) -> Result<(), Error> {
    let symbols = program.scripts.symbols();
    let mut set: BTreeSet<String> = AUTOMATIC.iter().map(|name| (*name).to_owned()).collect();
    set.extend(program.options.define.keys().cloned());
    if let Some((rows, _)) = program.rows() {
        set.extend(rows.names().iter().cloned());
    }
    let scripts = program.scripts.scripts();
    let assigned = Assigned::of(scripts, symbols);
    set.extend(assigned.names);
    for (script, weight) in scripts.iter().zip(program.scripts.weights()) {
        for command in script.commands.iter().filter(|_| *weight > 0) {
            let Action::Sql(statement) = &command.action else { continue };
            let unset = |name: &String| {
                !set.contains(name)
                    && !assigned.prefixes.iter().any(|prefix| name.starts_with(prefix.as_str()))
            };
            if let Some(name) = uses(statement).into_iter().find(unset) {
                return Err(not_set(&name, script, command.line));
            }
        }
    }
    Ok(())
}

fn not_set(name: &str, script: &Script, line: usize) -> Error {
    let what = format!("{}, line {line}: the variable :{name} is not set", script.name);
    Error::new(Class::BadInput, what).with_hint(format!(
        "set it with \\set {name} or -D {name}=VALUE, or take it from rows: --variables FILE.csv (variables in an experiment file)"
    ))
}

/// What the commands of the scripts set. A client keeps its variables from script to script.
#[derive(Default)]
struct Assigned {
    names: Vec<String>,
    /// Columns of results have names that begin so.
    prefixes: Vec<String>,
}

impl Assigned {
    fn of(scripts: &[Script], symbols: &Symbols) -> Self {
        let mut assigned = Self::default();
        for command in scripts.iter().flat_map(|script| &script.commands) {
            match &command.action {
                Action::Set { target: AssignmentTarget::Variable(slot), .. }
                | Action::SetShell { target: AssignmentTarget::Variable(slot), .. } => {
                    assigned.names.push(symbols.display_name(*slot));
                }
                Action::Sql(Statement { capture: Capture::Gset(prefix) | Capture::Aset(prefix), .. }) => {
                    assigned.prefixes.push(String::from_utf8_lossy(prefix).into_owned());
                }
                _ => {}
            }
        }
        assigned
    }
}

/// The variables of a statement outside strings and comments. A colon after a name, a number or a bracket is part
/// of an array's slice, and a number is no name.
fn uses(statement: &Statement) -> Vec<String> {
    let text = without_literals(&String::from_utf8_lossy(statement.text()));
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut found = Vec::new();
    for (at, _) in text.match_indices(':') {
        let before = text[..at].chars().next_back();
        if before.is_some_and(|before| is_letter(before) || matches!(before, ':' | '[' | ']' | ')')) {
            continue;
        }
        let after = &text[at + 1..];
        let name = &after[..after.find(|letter| !is_letter(letter)).unwrap_or(after.len())];
        let begins = name.chars().next();
        if begins.is_some_and(|first| !first.is_ascii_digit()) && is_valid_name(name.as_bytes()) {
            found.push(name.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgbench::{PgbenchOptions, ScriptSource};

    fn told(scripts: &[&str], define: &[&str]) -> Option<String> {
        let source = |(number, text): (usize, &&str)| ScriptSource::Text {
            name: format!("s{number}.sql"),
            text: text.as_bytes().to_vec(),
            weight: 1,
        };
        let sources: Vec<_> = scripts.iter().enumerate().map(source).collect();
        let define = define.iter().map(|name| ((*name).to_owned(), "7".to_owned())).collect();
        let options = PgbenchOptions { define, ..PgbenchOptions::default() };
        let program = PreparedScripts::load(&options, &sources).unwrap();
        refuse(&program).err().map(|error| error.to_string())
    }

    #[test]
    fn a_variable_that_nothing_sets_is_named() {
        let wanted = |told: Option<String>, wanted: &str| {
            let told = told.unwrap_or_default();
            assert!(told.starts_with(wanted), "{told}");
        };
        wanted(
            told(&["SELECT 1;\nSELECT :shop + 1;\n"], &[]),
            "s0.sql, line 2: the variable :shop is not set",
        );
        wanted(
            told(&["\\set a 1\nSELECT :a, :b;\n", "SELECT :c;"], &["b"]),
            "s1.sql, line 1: the variable :c ",
        );
        for fine in [
            "SELECT :client_id, :scale, :random_seed, :default_seed;",
            "SELECT '12:30:shop', now()::date, -- :shop\n a[1:n], a[:n], ':x' /* :y */;",
            "SELECT 1 AS one \\gset p_\nSELECT :p_one;",
        ] {
            assert_eq!(told(&[fine], &[]), None, "{fine}");
        }
        // Another script of the same client sets it.
        assert_eq!(told(&["SELECT :d;", "\\set d 3\nSELECT 1;"], &[]), None);
    }
}
