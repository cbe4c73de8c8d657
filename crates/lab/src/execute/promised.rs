//! Whether the terms of a promise apply to scripts that run.

use std::collections::BTreeSet;

use spec::plan::Plan;
use spec::{Class, Error};

use crate::experiment::ExperimentFile;
use crate::plan::levels;
use crate::plan::setups::Setups;

/// A term for a missing script would always hold, and one for a script of no workload would hold for none of
/// its runs. No server is contacted; a workload that cannot be opened reports that later.
///
/// # Errors
/// The term, or the workload, and which scripts there are.
pub fn check_promise(file: &ExperimentFile, plan: &Plan) -> Result<(), Error> {
    let Some(asked) = &plan.content.measure.search else { return Ok(()) };
    let mut each: Vec<(String, Vec<String>)> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut setups = Setups::of(plan);
    for run in &plan.runs {
        let setup = setups.without_load(run);
        if seen.insert(setup.asked()) {
            let Ok(workload) = levels::spec_of(&plan.content, setup)?.open(file.folder()) else {
                return Ok(());
            };
            let scripts = workload.scripts().into_iter().map(|script| script.name);
            each.push((setup.workload.clone(), scripts.collect()));
        }
    }
    let all: BTreeSet<&String> = each.iter().flat_map(|(_, scripts)| scripts).collect();
    for term in asked.promise.iter().filter(|term| term.script.is_some()) {
        if !all.iter().any(|script| term.is_of(script)) {
            let names: Vec<&str> = all.iter().map(|name| name.as_str()).collect();
            let what = format!("the promise \"{}\" is of a script that nothing has", term.written);
            return Err(Error::new(Class::BadInput, what).with_hint(format!("scripts: {}", names.join(", "))));
        }
    }
    let is_promised = |script: &String| asked.promise.iter().any(|term| term.is_of(script));
    match each.iter().find(|(_, scripts)| !scripts.iter().any(is_promised)) {
        Some((workload, scripts)) => {
            let what = format!("no term of the promise is of {workload}");
            Err(Error::new(Class::BadInput, what).with_hint(format!("its scripts: {}", scripts.join(", "))))
        }
        None => Ok(()),
    }
}
