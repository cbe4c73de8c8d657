//! Settings as the server reported them: which differ between arms, and which are not at the default.

use std::collections::{BTreeMap, BTreeSet};

use results::ReportData;
use spec::Setting;

/// Settings in force by arm. Only runs that stored settings are known.
pub(crate) struct InForce<'r> {
    /// In file order; an arm is `None` if nothing is compared.
    pub(crate) arms: Vec<(Option<&'r str>, BTreeMap<&'r str, &'r Setting>)>,
    pub(crate) different: Vec<&'r str>,
    /// Alike in all arms, and not at the default.
    pub(crate) changed: Vec<&'r str>,
}

impl<'r> InForce<'r> {
    pub(crate) fn of(data: &'r ReportData) -> Self {
        let of_arm = |arm: Option<&str>| {
            data.grid_runs().find(|run| run.arm.as_deref() == arm && !run.settings.is_empty())
        };
        let arms = data.arms().into_iter().filter_map(|arm| {
            Some((arm, of_arm(arm)?.settings.iter().map(|own| (own.name.as_str(), own)).collect()))
        });
        let arms: Vec<(Option<&str>, BTreeMap<&str, &Setting>)> = arms.collect();
        let names: BTreeSet<&str> = arms.iter().flat_map(|(_, set)| set.keys().copied()).collect();
        let differs = |name: &str| {
            let values = arms.iter().map(|(_, set)| set.get(name).map(|setting| &setting.value));
            values.collect::<BTreeSet<_>>().len() > 1
        };
        let (different, mut changed): (Vec<&str>, Vec<&str>) =
            names.into_iter().partition(|name| differs(name));
        let is_changed = |setting: &&Setting| setting.source != "default";
        changed.retain(|name| arms.iter().any(|(_, set)| set.get(name).is_some_and(is_changed)));
        Self { arms, different, changed }
    }
}
