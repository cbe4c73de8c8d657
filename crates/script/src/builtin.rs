//! The built-in scripts of pgbench.

use std::fmt;

/// A built-in script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builtin {
    /// Its name for `-b`.
    pub name: &'static str,
    /// Its name in reports.
    pub description: &'static str,
    pub text: &'static str,
}

/// All built-in scripts, in the order of `-b list`.
pub static BUILTINS: [Builtin; 3] = [
    Builtin {
        name: "tpcb-like",
        description: "<builtin: TPC-B (sort of)>",
        text: include_str!("builtin/tpcb-like.sql"),
    },
    Builtin {
        name: "simple-update",
        description: "<builtin: simple update>",
        text: include_str!("builtin/simple-update.sql"),
    },
    Builtin {
        name: "select-only",
        description: "<builtin: select only>",
        text: include_str!("builtin/select-only.sql"),
    },
];

/// Why a name does not select a built-in script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuiltinError {
    #[error("no builtin script found for name \"{name}\"")]
    NotFound { name: String },
    #[error("ambiguous builtin name: {found} builtin scripts found for prefix \"{prefix}\"")]
    Ambiguous { prefix: String, found: usize },
}

impl Builtin {
    /// The script whose name starts with `prefix`.
    ///
    /// # Errors
    /// When no name does, or several do.
    pub fn find(prefix: &str) -> Result<&'static Builtin, BuiltinError> {
        let mut found = BUILTINS.iter().filter(|builtin| builtin.name.starts_with(prefix));
        match (found.next(), found.count()) {
            (None, _) => Err(BuiltinError::NotFound { name: prefix.into() }),
            (Some(builtin), 0) => Ok(builtin),
            (Some(_), more) => Err(BuiltinError::Ambiguous { prefix: prefix.into(), found: more + 1 }),
        }
    }

    /// The output of `-b list`, without the end of its last, empty line.
    pub fn list() -> String {
        let mut list = String::from("Available builtin scripts:\n");
        for builtin in &BUILTINS {
            list.push_str(&format!("  {:>13}: {}\n", builtin.name, builtin.description));
        }
        list
    }
}

/// The output of `--show-script`, without the end of its last, empty line.
impl fmt::Display for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "-- {}: {}\n{}", self.name, self.description, self.text)
    }
}
