//! Splits settings: next to an arm of many settings come arms with only one of them, and arms without one of
//! them.

use std::collections::{BTreeMap, BTreeSet};

use super::model::ArmSpec;

/// Adds the arms that split `whole`: `only NAME`, which is the base with one of its settings, and `without
/// NAME`, which lacks one of them. Equal arms are merged.
///
/// # Errors
/// Why it is impossible; advice is on a separate line.
pub(super) fn take_apart(arms: &mut Vec<ArmSpec>, base: &str, whole: &str) -> Result<(), String> {
    let of = |name: &str| arms.iter().find(|arm| arm.name == name).cloned();
    let names = || {
        arms.iter().map(|arm| arm.name.as_str()).filter(|name| *name != base).collect::<Vec<_>>().join(", ")
    };
    let Some(whole) = of(whole) else {
        return Err(format!("cannot be \"{whole}\"\nthe name of a table [settings.NAME]: {}", names()));
    };
    // A missing base is reported elsewhere.
    let Some(base) = of(base) else { return Ok(()) };
    if whole.name == base.name {
        return Err(format!("cannot be the base\nthe name of another arm: {}", names()));
    }
    let names: BTreeSet<&String> = whole.settings.keys().chain(base.settings.keys()).collect();
    let differ: Vec<&String> =
        names.into_iter().filter(|name| base.settings.get(*name) != whole.settings.get(*name)).collect();
    if differ.len() < 2 {
        return Err(format!(
            "cannot be \"{}\": it differs from the base in less than two settings",
            whole.name
        ));
    }
    let only = |name: &String| with(&base, &whole, name, format!("only {name}"));
    let without = |name: &String| with(&whole, &base, name, format!("without {name}"));
    let parts: Vec<ArmSpec> =
        differ.iter().map(|name| only(name)).chain(differ.iter().map(|name| without(name))).collect();
    for part in parts {
        if arms.iter().any(|arm| arm.name == part.name) {
            return Err(format!(
                "makes an arm \"{}\", and there is one of that name\ngive that another name",
                part.name
            ));
        }
        if !arms.iter().any(|arm| arm.settings == part.settings) {
            arms.push(part);
        }
    }
    Ok(())
}

fn with(arm: &ArmSpec, other: &ArmSpec, setting: &str, name: String) -> ArmSpec {
    fn put<T: Clone>(
        own: &BTreeMap<String, T>,
        other: &BTreeMap<String, T>,
        key: &str,
    ) -> BTreeMap<String, T> {
        let mut all = own.clone();
        match other.get(key) {
            Some(value) => all.insert(key.to_owned(), value.clone()),
            None => all.remove(key),
        };
        all
    }
    ArmSpec {
        name,
        settings: put(&arm.settings, &other.settings, setting),
        lines: put(&arm.lines, &other.lines, setting),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arm(name: &str, settings: &[(&str, &str)]) -> ArmSpec {
        let settings =
            settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        ArmSpec { name: name.to_owned(), settings, lines: BTreeMap::new() }
    }

    /// The added arms, as `name: setting=value`.
    fn parts(base: ArmSpec, whole: ArmSpec) -> Result<Vec<String>, String> {
        let mut arms = vec![base, whole];
        take_apart(&mut arms, "stock", "fast")?;
        let words = |arm: &ArmSpec| {
            let settings: Vec<String> =
                arm.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!("{}: {}", arm.name, settings.join(" "))
        };
        Ok(arms[2..].iter().map(words).collect())
    }

    #[test]
    fn each_alone_and_all_but_one() {
        let whole = arm("fast", &[("a", "1"), ("b", "2"), ("c", "3")]);
        let wanted = [
            "only a: a=1",
            "only b: b=2",
            "only c: c=3",
            "without a: b=2 c=3",
            "without b: a=1 c=3",
            "without c: a=1 b=2",
        ];
        assert_eq!(parts(arm("stock", &[]), whole).unwrap(), wanted);
    }

    #[test]
    fn what_the_base_sets_too_stays_or_takes_its_value() {
        let base = arm("stock", &[("a", "0"), ("d", "9")]);
        let whole = arm("fast", &[("a", "1"), ("b", "2"), ("c", "3"), ("d", "9")]);
        let found = parts(base, whole).unwrap();
        assert_eq!(found[0], "only a: a=1 d=9");
        assert_eq!(found[3], "without a: a=0 b=2 c=3 d=9");
    }

    #[test]
    fn what_only_the_base_sets_is_taken_away_alone() {
        let found = parts(arm("stock", &[("d", "9")]), arm("fast", &[("a", "1"), ("b", "2")])).unwrap();
        assert_eq!(found[..3], ["only a: a=1 d=9", "only b: b=2 d=9", "only d: "]);
        assert_eq!(found[5], "without d: a=1 b=2 d=9");
    }

    #[test]
    fn of_two_settings_one_without_the_other_is_that_one_alone() {
        let found = parts(arm("stock", &[]), arm("fast", &[("a", "1"), ("b", "2")])).unwrap();
        assert_eq!(found, ["only a: a=1", "only b: b=2"]);
    }

    #[test]
    fn what_cannot_be_taken_apart_is_said() {
        let one = parts(arm("stock", &[]), arm("fast", &[("a", "1")])).unwrap_err();
        assert!(one.contains("less than two settings"), "{one}");
        let unknown = parts(arm("stock", &[]), arm("quick", &[("a", "1")])).unwrap_err();
        assert!(unknown.contains("cannot be \"fast\"") && unknown.contains("quick"), "{unknown}");
    }
}
