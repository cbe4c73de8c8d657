//! Settings as a factor: what an arm requests, how it is applied, and how the server is restored.
//!
//! Values may be shares of the machine ([`resolve`]). Each setting uses the cheapest way its context allows:
//! the load's own connections, a reload, a restart. A setting counts only after it was verified to be in
//! force.

mod apply;
mod background;
mod catalog;
mod change;
mod check;
mod compare;
mod contexts;
mod error;
mod expression;
pub mod journal;
mod read;
mod reserved;
mod rights;
mod safety;
mod statements;

use std::collections::BTreeMap;

use spec::{Class, Error};

pub use apply::{Applied, Effort, apply_managed, apply_url, restore_managed, restore_managed_settings};
pub use background::in_the_background;
pub use catalog::{Catalog, CatalogEntry, TakesEffect};
pub use change::SettingsChange;
pub use check::{Means, check};
pub use compare::{is_in_force, memory_bytes};
pub use contexts::{always_needs_restart, needs_reload, needs_restart};
pub(crate) use error::already_changed;
pub use error::{Refusal, SettingDifference};
pub use expression::{ExpressionError, Machine, resolve};
pub use journal::{left_behind, left_behind_at};
pub use read::{catalog, changed, differences, recorded};
pub use reserved::{reserved, without_timeouts};
pub use rights::without_right;
pub use safety::weakens;

/// The requested settings of an arm: name to value as written.
pub type SettingValues = BTreeMap<String, String>;

/// Computes every value that is a share of the machine.
pub fn resolve_all(wanted: &SettingValues, machine: Machine) -> Result<SettingValues, Error> {
    wanted
        .iter()
        .map(|(name, value)| match resolve(value, machine) {
            Ok(value) => Ok((name.clone(), value)),
            Err(error) => Err(Error::new(Class::BadInput, format!("{name}: {error}")).because(error)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_share_names_its_setting() {
        let machine = Machine { memory_bytes: 4 << 30, cores: 4 };
        let wanted = SettingValues::from([("shared_buffers".into(), "25% of memory".into())]);
        assert_eq!(resolve_all(&wanted, machine).unwrap()["shared_buffers"], "1024MB");
        let wanted = SettingValues::from([("work_mem".into(), "1% of luck".into())]);
        let error = resolve_all(&wanted, machine).unwrap_err();
        assert!(error.to_string().starts_with("work_mem: "), "{error}");
    }
}
