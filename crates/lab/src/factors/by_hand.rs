//! A factor whose levels only a person can set, by its key in `[by_hand]`. All levels have the same setup.

use toml::Value;

use super::{Factor, LevelNames};
use crate::setup::Setup;
use spec::experiment::value::text;

pub(super) struct ByHandFactor;

impl Factor for ByHandFactor {
    fn name(&self) -> &'static str {
        "BY_HAND"
    }

    fn is(&self, key: &str, known: &LevelNames<'_>) -> bool {
        known.named.by_hand.contains_key(key)
    }

    fn in_grid(&self) -> bool {
        false
    }

    fn read(&self, _key: &str, value: &Value, _known: &LevelNames<'_>) -> Result<String, String> {
        let level = match value {
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            other => {
                text(other).map_err(|why| why.replace("a text in quotes", "a number or a text in quotes"))?
            }
        };
        if level.trim() != level || level.is_empty() {
            return Err("must not be empty, nor begin or end with a space".to_owned());
        }
        Ok(level)
    }

    fn apply(&self, _: &str, _: &str, _: &mut Setup, _: &LevelNames<'_>) -> Result<(), String> {
        Ok(())
    }
}
