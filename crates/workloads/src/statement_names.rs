//! Names of the statements that a connection prepares.

use std::hash::{BuildHasher, RandomState};

/// Names of a connection's prepared statements, by number.
///
/// Behind a pooler the server may know a name already, from another program or an earlier connection, and
/// would execute that other statement. So each connection has unique names. The drop-in uses pgbench's names.
#[derive(Debug, Default)]
pub(crate) struct StatementNames {
    names: Vec<String>,
    as_pgbench: bool,
}

impl StatementNames {
    /// `P_0`, `P_1` …, on every connection.
    pub(crate) fn as_pgbench(count: usize) -> Self {
        Self { names: (0..count).map(|number| format!("P_{number}")).collect(), as_pgbench: true }
    }

    pub(crate) fn random(count: usize) -> Self {
        let mut names = Self { names: vec![String::new(); count], as_pgbench: false };
        names.renew();
        names
    }

    /// Changes the names for a new connection.
    pub(crate) fn renew(&mut self) {
        if self.as_pgbench || self.names.is_empty() {
            return;
        }
        // The standard library's hash keys come from the system's random numbers and never repeat.
        let random = RandomState::new().hash_one(std::process::id());
        for (number, name) in self.names.iter_mut().enumerate() {
            use std::fmt::Write;
            name.clear();
            // Writing to a string cannot fail.
            let _ = write!(name, "pgdyno_{random:016x}_{number}");
        }
    }

    #[inline]
    pub(crate) fn of(&self, number: usize) -> &str {
        &self.names[number]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two programs behind one pooler used the same names, and one ran the other's statement.
    #[test]
    fn no_two_connections_call_a_statement_alike() {
        let mut names = StatementNames::random(2);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..100 {
            assert!(names.of(0).starts_with("pgdyno_") && names.of(1).ends_with("_1"), "{names:?}");
            assert!(seen.insert(names.of(0).to_owned()) && seen.insert(names.of(1).to_owned()));
            names.renew();
        }
    }

    #[test]
    fn the_drop_in_calls_statements_as_pgbench_does() {
        let mut names = StatementNames::as_pgbench(2);
        names.renew();
        assert_eq!([names.of(0), names.of(1)], ["P_0", "P_1"]);
    }
}
