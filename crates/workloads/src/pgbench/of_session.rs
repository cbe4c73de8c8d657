//! Statements of a script that change its session: behind a transaction pooler the next client gets that
//! session, and the script does not.

use script::Action;

use super::prepare::PreparedScripts;

/// Functions that take session locks.
const LOCKS: [&str; 2] = ["PG_ADVISORY_LOCK", "PG_TRY_ADVISORY_LOCK"];

impl PreparedScripts {
    /// The first statement that changes its session, with its position: `a.sql, line 3: LISTEN x`.
    pub(super) fn of_session(&self) -> Option<String> {
        let scripts = self.scripts.scripts().iter().enumerate();
        let mut commands = scripts.flat_map(|(index, script)| {
            let first = self.first_command[index];
            script.commands.iter().enumerate().map(move |(at, command)| (first + at, command))
        });
        let (number, _) = commands.find(|(_, command)| match &command.action {
            Action::Sql(statement) => is_of_session(&String::from_utf8_lossy(statement.text())),
            _ => false,
        })?;
        self.statement_position(number)
    }
}

fn is_of_session(text: &str) -> bool {
    text.split(';').any(|part| {
        let words: Vec<String> = part
            .split(|character: char| !character.is_ascii_alphanumeric() && character != '_')
            .filter(|word| !word.is_empty())
            .map(str::to_ascii_uppercase)
            .collect();
        let word = |at: usize| words.get(at).map_or("", String::as_str);
        let has = |wanted: &str| words.iter().any(|word| word == wanted);
        let temporary = has("TEMP") || has("TEMPORARY");
        match word(0) {
            "LISTEN" | "UNLISTEN" | "DEALLOCATE" | "DISCARD" | "LOAD" | "RESET" => true,
            "PREPARE" => word(1) != "TRANSACTION",
            "SET" => !matches!(word(1), "LOCAL" | "TRANSACTION" | "CONSTRAINTS"),
            "CREATE" => {
                temporary
                    && matches!(word(1), "TEMP" | "TEMPORARY" | "LOCAL" | "GLOBAL" | "OR")
                    && !has("DROP")
            }
            "DECLARE" => has("HOLD") && !has("WITHOUT"),
            "SELECT" | "WITH" => {
                let into = words.windows(2).any(|two| two[0] == "INTO" && two[1].starts_with("TEMP"));
                into || has("SET_CONFIG") && has("FALSE") || LOCKS.iter().any(|lock| has(lock))
            }
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgbench::{PgbenchOptions, ScriptSource};

    #[test]
    fn what_stays_in_a_session_is_told_from_what_does_not() {
        for text in [
            "LISTEN news;",
            "set work_mem = '64MB';",
            "SET SESSION statement_timeout TO 5;",
            "reset all",
            "PREPARE q AS SELECT 1;",
            "create temp table t (a int);",
            "CREATE LOCAL TEMPORARY TABLE t AS SELECT 1",
            "declare c cursor with hold for select 1",
            "select pg_advisory_lock(1)",
            "select set_config('work_mem', '1MB', false)",
            "select 1 into temp t",
            "select 1 ; set jit = off",
        ] {
            assert!(is_of_session(text), "{text}");
        }
        for text in [
            "SET LOCAL work_mem = '64MB';",
            "set transaction read only",
            "set constraints all deferred",
            "select 'set work_mem = 1'",
            "update t set a = 1",
            "create temporary table t (a int) on commit drop",
            "create table temp (a int)",
            "select pg_advisory_xact_lock(1)",
            "select set_config('work_mem', '1MB', true)",
            "notify news",
            "prepare transaction 'x'",
            "declare c cursor for select 1",
        ] {
            assert!(!is_of_session(text), "{text}");
        }
    }

    #[test]
    fn the_statement_is_named_with_its_place() {
        let of = |text: &str| {
            let source = ScriptSource::Text { name: "a.sql".into(), text: text.into(), weight: 1 };
            PreparedScripts::load(&PgbenchOptions::default(), &[source]).unwrap().of_session()
        };
        assert_eq!(of("\\set x 1\nselect :x;\nlisten news;").as_deref(), Some("a.sql, line 3: listen news;"));
        assert_eq!(of("select 1;"), None);
    }
}
