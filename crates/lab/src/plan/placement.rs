//! The placement of an experiment that does not set one: chosen once, at its start, the same for all arms.

use spec::plan::{ChosenPlacement, Decision, Facts, Needed, Placement, PlacementAdvice, Plan, TargetSpec};

use super::{levels, setups};
use crate::factors::{FREE, own_placement};
use crate::setup::At;

/// The placement of clients and managed servers; `None` if nothing is measured, levels set it, or a server is given by URL: that
/// server, and the clients next to it, stay unchanged.
pub(super) fn placement(plan: &Plan, facts: &Facts) -> Option<Decision<ChosenPlacement>> {
    let is_managed = |at: &At| matches!(levels::target(&plan.content, at), TargetSpec::Managed { .. });
    if plan.content.has_only_jobs() || plan.chooses_placement() || !setups::sites(plan).iter().all(is_managed)
    {
        return None;
    }
    let free = || ChosenPlacement { level: FREE.to_owned(), placement: Placement::default() };
    let Some(PlacementAdvice { level, day, why }) = facts.advice() else {
        return Some(Decision::open(free(), "as calibrate advises for this host", [Needed::Calibration]));
    };
    let Some(level) = level else { return Some(Decision::decided(free(), format!("no advice: {why}"))) };
    if plan.runs.iter().any(|run| run.threads > 1) && level != FREE {
        let why = format!("calibrate advised {level} on {day} for one client thread, and here are more");
        return Some(Decision::decided(free(), why));
    }
    Some(match own_placement(level, plan.content.cpus.as_ref()) {
        Ok(placement) => {
            let why = format!("calibrate advised it for this host on {day}: {why}");
            Decision::decided(ChosenPlacement { level: level.clone(), placement }, why)
        }
        Err(lacks) => {
            let why = format!("calibrate advised {level} on {day}, which is not available: {lacks}");
            Decision::decided(free(), why)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{plan, plan_with};
    use super::super::{identity, words};
    use super::*;
    use spec::plan::Fact;

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
            let planned = plan(&text(target, more));
            assert_eq!(planned.placement().is_some(), chosen, "{target} {more}");
        }
    }

    /// Placement is a property of a run, not of the identity of an experiment.
    #[test]
    fn a_chosen_placement_is_in_every_run_and_not_in_the_identity() {
        let text = text("managed = {}", "[factors]\nclients = [1, 2]");
        let advice = PlacementAdvice {
            level: Some("apart".into()),
            day: "2026-11-01".into(),
            why: "it is steady".into(),
        };
        let (placed, _) = plan_with(&text, [Fact::Calibration { advice }]);
        assert_eq!(identity::hash(&placed.content), identity::hash(&plan(&text).content));
        let clients: Option<spec::plan::Cpus> = "3".parse().ok();
        assert!(placed.runs.iter().all(|run| setups::setup(&placed, run).placement.clients == clients));
        let said = "placement apart (clients on CPU 3, server on CPU 0-2); calibrate advised it for this host on \
                    2026-11-01: it is steady";
        assert!(words::words(&placed).iter().any(|line| line == said), "{:?}", words::words(&placed));
    }

    #[test]
    fn advice_for_one_thread_is_none_for_more() {
        let advice = |level: &str| Fact::Calibration {
            advice: PlacementAdvice {
                level: Some(level.into()),
                day: "2026-11-01".into(),
                why: "it is steady".into(),
            },
        };
        let text = text("managed = {}", "").replace("rounds = 2", "rounds = 2\nthreads = 2")
            + "[factors]\nclients = 2\n";
        let (plan, _) = plan_with(&text, [advice("apart")]);
        let placement = plan.decisions.placement.unwrap();
        assert_eq!(placement.value().level, FREE);
        assert!(placement.why().contains("for one client thread, and here are more"), "{}", placement.why());
        let (plan, _) = plan_with(&text, [advice("nowhere")]);
        assert_eq!(plan.placement().map(|chosen| &*chosen.level), Some(FREE));
    }
}
