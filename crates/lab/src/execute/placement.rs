//! The placement of an experiment whose file does not set one: chosen once, at its start.

use std::path::Path;

use results::Store;
use spec::Class;

use crate::error::LabError;
use crate::factors::{FREE, own_placement};
use crate::known_host::KnownHost;
use crate::plan::{ChosenPlacement, Plan, generator, identity, levels, setups};
use crate::setup::Placement;
use crate::target_spec::TargetSpec;

/// Chooses where clients and managed servers run, the same for all arms, unless the file varies or compares
/// that: as chosen when this experiment began, else as the last calibration of this host advises. Servers by
/// URL stay unchanged, and so do the clients next to them.
///
/// # Errors
/// When the results file cannot be read, or the placement of the experiment is no longer available.
pub fn choose_placement(plan: &mut Plan, results: &Path, again: bool) -> Result<(), LabError> {
    choose(plan, results, again)?;
    *plan = generator::with_generator(plan.clone());
    Ok(())
}

fn choose(plan: &mut Plan, results: &Path, again: bool) -> Result<(), LabError> {
    plan.placement = None;
    let managed = |plan: &Plan| {
        setups::sites(plan)
            .iter()
            .all(|at| matches!(levels::target(&plan.content, at), TargetSpec::Managed { .. }))
    };
    if plan.chooses_placement() || !managed(plan) {
        return Ok(());
    }
    let before = if again { None } else { begun(plan, results)? };
    plan.placement = match before {
        Some(before) => before.map(still_to_be_had).transpose()?,
        None => Some(advised(plan)),
    };
    Ok(())
}

/// The choice when the experiment began, if any. The outer `None`: not begun.
fn begun(plan: &Plan, results: &Path) -> Result<Option<Option<ChosenPlacement>>, LabError> {
    // It is created when the first run is stored.
    let Some(store) = Store::open_if_there(results)? else { return Ok(None) };
    let Some(id) = store.newest_with_hash(&identity::hash(&plan.content))? else { return Ok(None) };
    let begun = store.experiment(id)?.experiment;
    Ok(Some(begun.plan.plan().and_then(|plan| plan.placement.clone())))
}

fn still_to_be_had(chosen: ChosenPlacement) -> Result<ChosenPlacement, LabError> {
    let cpus = [&chosen.placement.clients, &chosen.placement.server];
    let checked = cpus.into_iter().flatten().try_for_each(server::placement::check);
    match checked {
        Ok(()) => Ok(chosen),
        Err(error) => Err(LabError::failed(
            Class::Usage,
            format!(
                "this experiment began with {}, and that cannot be had any more: {error}",
                chosen.words()
            ),
            "let pgdyno use those CPUs again, or begin anew with --again",
        )),
    }
}

fn advised(plan: &Plan) -> ChosenPlacement {
    let free = |why: String| ChosenPlacement { level: FREE.to_owned(), placement: Placement::default(), why };
    let (known, other) = KnownHost::here();
    let Some(advice) = known.placement else {
        return free(match other {
            Some(other) => {
                format!("no advice: it was another host that was calibrated ({other}); see pgdyno calibrate")
            }
            None => "no advice: this host was not calibrated; see pgdyno calibrate".to_owned(),
        });
    };
    let day = advice.found_at.get(..10).unwrap_or_default();
    if plan.runs.iter().any(|run| run.threads > 1) && advice.level != FREE {
        let level = &advice.level;
        return free(format!("calibrate advised {level} on {day} for one client thread, and here are more"));
    }
    match own_placement(&advice.level) {
        Ok(placement) => ChosenPlacement {
            placement,
            why: format!("calibrate advised it for this host on {day}: {}", advice.why),
            level: advice.level,
        },
        Err(why) => free(format!("calibrate advised {} on {day}, and it cannot be had: {why}", advice.level)),
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::words;
    use std::path::Path;

    use super::*;
    use crate::plan::tests::plan;

    fn text(target: &str, more: &str) -> String {
        format!(
            "question = \"?\"\n[target]\n{target}\n[workload.w]\npgbench = {{ builtin = \"select-only\" }}\n{more}\n\
             [measure]\nrounds = 2\nduration = \"2s\"\n"
        )
    }

    #[test]
    fn only_what_runs_on_private_servers_and_says_nothing_is_placed() {
        let url = "url = \"postgres://here\"";
        for (target, more, chosen) in [
            ("managed = {}", "", true),
            ("managed = {}", "[factors]\nplacement = \"free\"", false),
            ("managed = {}", "[factors]\nplacement = [\"free\", \"awake\"]", false),
            (
                "managed = {}",
                "[factors]\nplacement = [\"free\", \"awake\"]\n[compare]\nfactor = \"placement\"\nbase = \"free\"",
                false,
            ),
            (url, "", false),
            (
                "managed = {}",
                "[server.there]\nurl = \"postgres://there\"\n[server.here]\nmanaged = {}\n[factors]\nserver = [\"here\", \"there\"]",
                false,
            ),
        ] {
            let mut planned = plan(&text(target, more));
            choose_placement(&mut planned, Path::new("/nowhere/at/all.sqlite"), false).unwrap();
            assert_eq!(planned.placement.is_some(), chosen, "{target} {more}");
        }
    }

    /// Placement is a property of a run, not of the identity of an experiment.
    #[test]
    fn a_chosen_placement_is_in_every_run_and_not_in_the_identity() {
        let plain = plan(&text("managed = {}", "[factors]\nclients = [1, 2]"));
        let placement = Placement { clients: Some([0].into_iter().collect()), ..Placement::default() };
        let chosen = ChosenPlacement {
            level: "apart".into(),
            placement: placement.clone(),
            why: "it is steady".into(),
        };
        let placed = Plan { placement: Some(chosen.clone()), ..plain.clone() };
        assert_eq!(identity::hash(&placed.content), identity::hash(&plain.content));
        assert!(placed.runs.iter().all(|run| setups::setup(&placed, run).placement == placement));
        let said = "placement apart (clients on CPU 0); it is steady";
        assert!(words::words(&placed).iter().any(|line| line == said), "{:?}", words::words(&placed));
    }

    #[test]
    fn what_it_began_with_and_cannot_be_had_any_more_is_refused() {
        let placement = Placement { clients: Some([1000].into_iter().collect()), ..Placement::default() };
        let chosen = ChosenPlacement { level: "apart".into(), placement, why: String::new() };
        let error = still_to_be_had(chosen).unwrap_err();
        assert!(
            error.to_string().contains("clients on CPU 1000") && error.hint().unwrap().contains("--again"),
            "{error}"
        );
    }
}
