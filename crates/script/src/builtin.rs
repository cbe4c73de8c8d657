//! The scripts that come with pgbench.

use std::fmt;

/// A script that needs no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builtin {
    /// What `-b` calls it.
    pub name: &'static str,
    /// What reports call it.
    pub description: &'static str,
    pub text: &'static str,
}

/// All of them, in the order they are listed.
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

/// Why a name finds no builtin script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuiltinError {
    /// None starts like this.
    #[error("no builtin script found for name \"{name}\"")]
    NotFound { name: String },
    /// Several start like this.
    #[error("ambiguous builtin name: {found} builtin scripts found for prefix \"{prefix}\"")]
    Ambiguous { prefix: String, found: usize },
}

impl Builtin {
    /// The one whose name starts with `prefix`.
    ///
    /// # Errors
    /// None or several do.
    pub fn find(prefix: &str) -> Result<&'static Builtin, BuiltinError> {
        let mut found = BUILTINS.iter().filter(|builtin| builtin.name.starts_with(prefix));
        match (found.next(), found.count()) {
            (None, _) => Err(BuiltinError::NotFound { name: prefix.into() }),
            (Some(builtin), 0) => Ok(builtin),
            (Some(_), more) => Err(BuiltinError::Ambiguous { prefix: prefix.into(), found: more + 1 }),
        }
    }

    /// What `-b list` prints, without the last, empty line's end.
    pub fn list() -> String {
        let mut list = String::from("Available builtin scripts:\n");
        for builtin in &BUILTINS {
            list.push_str(&format!("  {:>13}: {}\n", builtin.name, builtin.description));
        }
        list
    }
}

/// What `--show-script` prints, without the last, empty line's end.
impl fmt::Display for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "-- {}: {}\n{}", self.name, self.description, self.text)
    }
}
