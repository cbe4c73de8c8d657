//! Settings taken apart: an arm of several settings, with arms that have one of them alone, and all but
//! one.

use std::collections::{BTreeMap, BTreeSet};

use spec::{ArmRecord, ExperimentRecord};

const NOT_SET: &str = "not set";

/// An arm that others take apart.
#[derive(Debug, Clone, PartialEq)]
pub struct TakenApart {
    pub whole: String,
    pub settings: Vec<MeasuredSetting>,
}

/// One of its settings.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredSetting {
    pub name: String,
    pub value: String,
    /// The base arm's value, if it sets it.
    pub base: Option<String>,
    /// How it weakens crash safety or upkeep, from the arm's record.
    pub risk: Option<String>,
    /// The arm that is the base with this setting.
    pub only: String,
    pub without: String,
}

impl TakenApart {
    /// The arm with the most settings for which all of these arms exist, under any name; of an experiment
    /// that compares settings.
    #[must_use]
    pub fn of(experiment: &ExperimentRecord) -> Option<Self> {
        let is_settings = experiment.compare_factor.as_deref() == Some("settings");
        let base = experiment
            .arms
            .iter()
            .find(|arm| Some(&arm.name) == experiment.base.as_ref())
            .filter(|_| is_settings)?;
        let found = experiment.arms.iter().filter_map(|whole| {
            let names: BTreeSet<&String> = whole.settings.keys().chain(base.settings.keys()).collect();
            let differing =
                names.into_iter().filter(|name| base.settings.get(*name) != whole.settings.get(*name));
            let settings: Option<Vec<MeasuredSetting>> = differing
                .map(|name| {
                    let named = |settings: BTreeMap<String, String>| {
                        experiment
                            .arms
                            .iter()
                            .find(|arm| arm.settings == settings)
                            .map(|arm| arm.name.clone())
                    };
                    Some(MeasuredSetting {
                        name: name.clone(),
                        value: whole.settings.get(name).cloned().unwrap_or_else(|| NOT_SET.to_owned()),
                        base: base.settings.get(name).cloned(),
                        risk: risk(whole, name),
                        only: named(with(base, whole, name))?,
                        without: named(with(whole, base, name))?,
                    })
                })
                .collect();
            let settings = settings.filter(|settings| settings.len() > 1)?;
            Some(Self { whole: whole.name.clone(), settings })
        });
        // The first of several with as many.
        found.reduce(|most, other| if other.settings.len() > most.settings.len() { other } else { most })
    }

    /// Whether an arm was generated to take it apart, by its name: an arm that a user wrote has a separate
    /// meaning.
    #[must_use]
    pub fn is_part(&self, arm: &str) -> bool {
        self.settings.iter().any(|MeasuredSetting { name, only, without, .. }| {
            let made = |part: &str, word: &str| part == arm && part == format!("{word} {name}");
            made(only, "only") || made(without, "without")
        })
    }
}

/// The arm's record of a setting begins with its name.
fn risk(arm: &ArmRecord, setting: &str) -> Option<String> {
    let is_it =
        |said: &&String| said.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next() == Some(setting);
    arm.unsafe_settings.iter().find(is_it).cloned()
}

/// The settings of an arm, with one as another arm has it.
fn with(arm: &ArmRecord, other: &ArmRecord, setting: &str) -> BTreeMap<String, String> {
    let mut all = arm.settings.clone();
    match other.settings.get(setting) {
        Some(value) => all.insert(setting.to_owned(), value.clone()),
        None => all.remove(setting),
    };
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn arm(name: &str, settings: &[(&str, &str)], unsafe_settings: &[&str]) -> ArmRecord {
        ArmRecord {
            name: name.to_owned(),
            settings: settings
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            target: None,
            unsafe_settings: unsafe_settings.iter().map(ToString::to_string).collect(),
        }
    }

    fn experiment(arms: Vec<ArmRecord>) -> ExperimentRecord {
        let base = Some(arms[0].name.clone());
        ExperimentRecord {
            arms,
            base,
            compare_factor: Some("settings".to_owned()),
            ..fixture::experiment(&[])
        }
    }

    #[test]
    fn parts_are_found_by_what_they_set() {
        let arms = vec![
            arm("stock", &[("a", "0")], &[]),
            arm("fast", &[("a", "1"), ("b", "2"), ("c", "3")], &["c = 3 may lose data"]),
            arm("x", &[("a", "1")], &[]),
            arm("y", &[("a", "0"), ("b", "2")], &[]),
            arm("z", &[("a", "0"), ("c", "3")], &[]),
            arm("not a", &[("a", "0"), ("b", "2"), ("c", "3")], &[]),
            arm("not b", &[("a", "1"), ("c", "3")], &[]),
            arm("not c", &[("a", "1"), ("b", "2")], &[]),
        ];
        let found = TakenApart::of(&experiment(arms.clone())).expect("all are there");
        assert_eq!(found.whole, "fast");
        let settings: Vec<_> =
            found.settings.iter().map(|s| (&*s.name, &*s.only, &*s.without, s.risk.is_some())).collect();
        assert_eq!(
            settings,
            [("a", "x", "not a", false), ("b", "y", "not b", false), ("c", "z", "not c", true)]
        );
        assert_eq!(found.settings[0].base.as_deref(), Some("0"));
        assert!(
            !found.is_part("not b") && !found.is_part("fast"),
            "written by somebody, who wants to know of it"
        );
        let lacking = experiment(arms[..7].to_vec());
        // A part of two settings, each with an arm, is taken apart itself.
        assert_ne!(TakenApart::of(&lacking).expect("not b").whole, "fast", "one part is missing");
    }

    #[test]
    fn of_two_settings_each_alone_is_the_other_ones_lack() {
        let arms = vec![
            arm("stock", &[], &[]),
            arm("fast", &[("a", "1"), ("b", "2")], &[]),
            arm("only a", &[("a", "1")], &[]),
            arm("only b", &[("b", "2")], &[]),
        ];
        let found = TakenApart::of(&experiment(arms)).expect("all are there");
        assert_eq!((&*found.settings[0].only, &*found.settings[0].without), ("only a", "only b"));
        assert!(found.is_part("only a") && found.is_part("only b"));
    }

    /// Regression: a setting of the base only was neither separate nor among all.
    #[test]
    fn a_setting_that_only_the_base_has_is_taken_apart_too() {
        let arms = vec![
            arm("stock", &[("d", "9")], &[]),
            arm("fast", &[("a", "1")], &[]),
            arm("only a", &[("a", "1"), ("d", "9")], &[]),
            arm("only d", &[], &[]),
        ];
        let found = TakenApart::of(&experiment(arms)).expect("all are there");
        let settings: Vec<_> = found.settings.iter().map(|s| (&*s.name, &*s.value, &*s.only)).collect();
        assert_eq!(settings, [("a", "1", "only a"), ("d", "not set", "only d")]);
    }
}
