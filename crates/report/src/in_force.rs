//! Settings as the server reported them: which differ between arms, and which somebody changed.

use std::collections::{BTreeMap, BTreeSet};

use results::ReportData;
use spec::Setting;

/// Why it is not known which settings somebody changed.
pub(crate) const NOT_STORED: &str =
    "not available: the results were stored without the values of a plain initdb";

/// Settings in force by arm. Only runs that stored settings are known.
pub(crate) struct InForce<'r> {
    /// In file order; an arm is `None` if nothing is compared.
    pub(crate) arms: Vec<(Option<&'r str>, BTreeMap<&'r str, &'r Setting>)>,
    pub(crate) different: Vec<&'r str>,
    /// Alike in all arms, and not as a plain `initdb` makes it; empty if that is not known.
    pub(crate) changed: Vec<&'r str>,
    /// Whether it was stored which values come from a plain `initdb`.
    pub(crate) is_known: bool,
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
        let is_known = arms.iter().flat_map(|(_, set)| set.values()).all(|own| own.is_initial.is_some());
        changed.retain(|name| arms.iter().any(|(_, set)| set.get(name).is_some_and(|own| is_changed(own))));
        Self { arms, different, changed, is_known }
    }

    /// Whether somebody changed it in any arm: as far as that is known, else by its source.
    pub(crate) fn is_changed(&self, name: &str) -> bool {
        let set_there = |own: &&Setting| match own.is_initial {
            Some(_) => is_changed(own),
            None => own.source != "default",
        };
        self.arms.iter().any(|(_, set)| set.get(name).is_some_and(set_there))
    }
}

fn is_changed(setting: &Setting) -> bool {
    setting.is_initial == Some(false)
}
