//! A user's factor: SQL or a command that changes the server and its data, such as an index, by the name of
//! its table `[change.NAME.LEVEL]`.

use protocol::nearest;
use toml::Value;

use super::{Factor, LevelNames};
use crate::setup::{ChangeLevel, Setup};
use spec::experiment::value::text;

pub(super) struct ChangeFactor;

impl Factor for ChangeFactor {
    fn name(&self) -> &'static str {
        "CHANGE"
    }

    fn levels(&self) -> &'static str {
        "names of `[change.CHANGE.LEVEL]`"
    }

    fn meaning(&self) -> &'static str {
        "Levels of the factor. Default: all."
    }

    fn is(&self, key: &str, known: &LevelNames<'_>) -> bool {
        known.named.changes.contains_key(key)
    }

    fn is_dear(&self) -> bool {
        true
    }

    fn read(&self, key: &str, value: &Value, known: &LevelNames<'_>) -> Result<String, String> {
        let level = text(value)?;
        let levels =
            known.named.changes.get(key).into_iter().flat_map(|levels| levels.keys()).map(String::as_str);
        if levels.clone().any(|known| known == level) {
            return Ok(level);
        }
        let advice = match nearest(&level, levels.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known here: {}", levels.collect::<Vec<_>>().join(", ")),
        };
        Err(format!("cannot be \"{level}\": there is no [change.{key}.{level}]\n{advice}"))
    }

    fn apply(&self, key: &str, level: &str, setup: &mut Setup, known: &LevelNames<'_>) -> Result<(), String> {
        let change = known.named.changes.get(key).and_then(|levels| levels.get(level));
        let change = change.ok_or_else(|| format!("there is no [change.{key}.{level}]"))?;
        let own = ChangeLevel { level: level.to_owned(), change: change.clone() };
        setup.changes.get_or_insert_default().insert(key.to_owned(), own);
        Ok(())
    }
}
