//! The PostgreSQL of a managed server: an installed major version, or a build by the name of its table
//! `[version.NAME]`.

use toml::Value;

use super::{Factor, LevelNames};
use crate::setup::{Server, Setup};
use spec::experiment::value::{text, whole_number};

pub(crate) use spec::plan::VERSION;

pub(super) struct VersionFactor;

impl Factor for VersionFactor {
    fn name(&self) -> &'static str {
        VERSION
    }

    fn levels(&self) -> &'static str {
        "major versions, names of `[version.NAME]`"
    }

    fn meaning(&self) -> &'static str {
        "PostgreSQL of a managed server. Each level has its own server, prepared in the same way."
    }

    fn read(&self, _key: &str, value: &Value, known: &LevelNames<'_>) -> Result<String, String> {
        let level = match value {
            Value::Integer(_) => whole_number(value, 9, 99)?.to_string(),
            other => text(other)?,
        };
        match is_version(&level, known) {
            true => Ok(level),
            false => Err(format!(
                "cannot be \"{level}\"\nwrite a major version such as 15, or the name of a table [version.NAME]"
            )),
        }
    }

    fn apply(
        &self,
        _key: &str,
        level: &str,
        setup: &mut Setup,
        known: &LevelNames<'_>,
    ) -> Result<(), String> {
        if !is_version(level, known) {
            return Err(format!("unknown version {level:?}"));
        }
        if let Server::Target(at) = &mut setup.server {
            at.version = Some(level.to_owned());
        }
        Ok(())
    }
}

fn is_version(level: &str, known: &LevelNames<'_>) -> bool {
    known.named.builds.contains_key(level)
        || level.parse::<u32>().is_ok_and(|major| (9..=99).contains(&major))
}
