//! Settings of the server, by the name of an arm.

use toml::Value;

use super::{Factor, LevelNames};
use crate::setup::Setup;
use spec::experiment::value::text;

/// Its levels are the default arms of a comparison.
pub(crate) const NAME: &str = spec::plan::SETTINGS;

pub(super) struct SettingsFactor;

impl Factor for SettingsFactor {
    fn name(&self) -> &'static str {
        NAME
    }

    fn in_grid(&self) -> bool {
        false
    }

    fn read(&self, _key: &str, value: &Value, _known: &LevelNames<'_>) -> Result<String, String> {
        text(value)
    }

    fn apply(
        &self,
        _key: &str,
        level: &str,
        setup: &mut Setup,
        known: &LevelNames<'_>,
    ) -> Result<(), String> {
        let arm = known.arms.iter().find(|arm| arm.name.as_deref() == Some(level));
        setup.arm = Some(arm.ok_or_else(|| format!("unknown settings {level:?}"))?.clone());
        Ok(())
    }
}
