//! Whether a server can provide the arms of an experiment, checked before the preparation.

use spec::plan::{Arm, Plan};
use spec::{Class, Error};

use crate::error::of_sql;
use crate::experiment::ExperimentFile;
use server::control::Control;
use server::settings::{Catalog, Means, Refusal, catalog, check, is_in_force, without_right};

/// Reads the server's catalog and reports every setting of every arm that it cannot apply, each with its
/// line.
pub(super) fn check_arms(
    file: &ExperimentFile,
    plan: &Plan,
    control: &mut Control,
    means: Means,
) -> Result<(), Error> {
    if plan.content.arms.iter().all(|arm| arm.settings.is_empty()) {
        return Ok(());
    }
    let known = catalog(control)?;
    let mut problems = Vec::new();
    for arm in &plan.content.arms {
        let name = arm.name.as_deref().unwrap_or_default();
        let without_right = without_right(control, &known, &arm.settings, means).map_err(of_sql)?;
        let found = check(&known, &arm.settings, means).into_iter().chain(without_right);
        problems.extend(found.map(|refusal| (name, refusal)));
    }
    problems.sort_by_key(|(arm, refusal)| file.line_of(arm, refusal.setting.as_deref()));
    let told = problems.iter().map(|(arm, Refusal { setting, error })| {
        let line = file.line_of(arm, setting.as_deref()).map(|line| format!("{line}:")).unwrap_or_default();
        format!("{}:{line} [settings.{arm}] {error}", file.path.display())
    });
    let told: Vec<String> = told.collect();
    match problems.into_iter().next() {
        Some((_, first)) => Err(first.error.in_words(told.join("\n"))),
        None if file.allows_same() => Ok(()),
        None => {
            plan.content.arms.iter().skip(1).try_for_each(|arm| differs(&known, &plan.content.arms[0], arm))
        }
    }
}

/// Refuses an arm whose settings the base has already: A would be compared with A.
fn differs(known: &Catalog, base: &Arm, arm: &Arm) -> Result<(), Error> {
    let is_same = |(name, value): (&String, &String)| match base.settings.get(name) {
        Some(own) => own == value,
        None => known.get(name).is_some_and(|entry| is_in_force(value, entry)),
    };
    let only_of_base = base.settings.keys().any(|name| !arm.settings.contains_key(name));
    if arm.settings.is_empty() || only_of_base || !arm.settings.iter().all(is_same) {
        return Ok(());
    }
    let (name, base) = (arm.name.as_deref().unwrap_or_default(), base.name.as_deref().unwrap_or_default());
    let settings: Vec<_> = arm.settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let what = format!("arms {base} and {name} are the same: {} is in force already", settings.join(", "));
    Err(Error::new(Class::BadInput, what).with_hint("give --same if A against A is meant"))
}
