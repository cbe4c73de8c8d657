//! Where the arms of a comparison run: each on its own server, a copy of the prepared one, or all on the
//! existing servers. Decided by the available space, and not part of the identity.

use std::collections::BTreeSet;

use server::settings::needs_reload;
use spec::plan::change::ChangeStep;
use spec::plan::{ArmPlacement, Content, Copies, Decision, Facts, Needed, Slices, TargetSpec};

use super::burden::{LEAVE_SOMETHING, because_of_background};
use super::restarts::arms_need_restart;
use super::{burden, cells, levels, slice_rules};
use crate::factors::{SETTINGS, STORAGE};

/// Where the arms run; `None` if there is nothing to decide.
pub(super) fn arm_placement(content: &Content, facts: &Facts) -> Option<Decision<ArmPlacement>> {
    content.compare.as_ref()?;
    let on_one = |why: &str| Some(Decision::decided(ArmPlacement::AsTheyAre, why));
    if content.measure.search.is_some() {
        return on_one("a search tries its arms one after the other");
    }
    if content.varies_storage() {
        return on_one("servers on storages of their own are not copied")
            .filter(|_| content.compared() != STORAGE);
    }
    if mounts_anew(content) {
        return on_one(
            "a filesystem is mounted again for a cold run, which the servers of other arms on it would keep it from",
        );
    }
    let arms = content.arm_names().len() as u32;
    let copies = match content.compared() {
        SETTINGS if arms_need_restart(&content.arms) || needs_servers_to_slice(content) => {
            // Sessions that are kept stay on their server.
            Copies::new(arms, !content.keeps_sessions())
        }
        change if content.named.changes.contains_key(change) => Copies::new(arms, false),
        "version" | "server" => Copies::new(1, false),
        data if data.starts_with("prepare.") => Copies::new(1, false),
        asked if needs_copies_to_write(content, asked, facts) => Copies::new(arms, false),
        _ => return None,
    };
    if !has_ours(content) {
        return None;
    }
    if let Some(why) = changes_share_a_server(content) {
        return on_one(&why);
    }
    Some(match with_those_apart(content, copies, facts) {
        Err(why) => Decision::decided(ArmPlacement::AsTheyAre, why),
        Ok(copies) => match facts.copies() {
            Some((true, figures)) => Decision::decided(ArmPlacement::Copies(copies), figures),
            Some((false, why)) => Decision::decided(ArmPlacement::AsTheyAre, why),
            None => {
                let so_far = facts.copies_so_far();
                let so_far = so_far.map(|figures| format!("; with the data of now, an estimate: {figures}"));
                let rule = IF_THEY_FIT.to_owned() + &so_far.unwrap_or_default();
                Decision::open(ArmPlacement::Copies(copies), rule, [Needed::Preparation])
            }
        },
    })
}

/// Decides about copies before the size of the data is known.
const IF_THEY_FIT: &str = "if they fit into memory and onto the disk once the data are prepared";

pub(super) fn why_apart(copies: &Copies) -> String {
    because_of_background(&copies.apart, &copies.background)
}

/// Whether pgdyno owns a server of the arms, and so can copy it.
fn has_ours(content: &Content) -> bool {
    let is_ours = |spec: &TargetSpec| matches!(spec, TargetSpec::Managed { .. });
    match content.factors.get("server") {
        Some(levels) => {
            levels.iter().any(|level| is_ours(content.named.servers.get(level).unwrap_or(&content.target)))
        }
        None => is_ours(&content.target),
    }
}

/// Whether runs begin cold on a filesystem made for their server.
fn mounts_anew(content: &Content) -> bool {
    let is_cold = |levels: &Vec<String>| levels.iter().any(|level| level == "cold");
    content.factors.get("cache").is_some_and(is_cold) && levels::is_on_made_storage(content)
}

/// Whether arms with different requests can take turns only on copies, since both see what one writes. A copy
/// stays with its arm: what an arm wrote belongs to it.
fn needs_copies_to_write(content: &Content, compared: &str, facts: &Facts) -> bool {
    let of_workload = compared.split_once('.').is_some_and(|(name, _)| content.workloads.contains_key(name));
    let writes = || content.workloads.keys().any(|name| facts.writes(name));
    let once = || content.workloads.keys().any(|name| facts.is_job(name));
    // Changes made and undone under each arm would be needed on each copy.
    let is_plain = content.named.changes.is_empty() && content.target.tile_servers().is_empty();
    (compared == "workload" || of_workload)
        && is_plain
        && slice_rules::may_be_sliced(content)
        && writes()
        && !once()
}

/// Whether arms can take turns only on separate servers, since they differ in a setting of the whole server.
fn needs_servers_to_slice(content: &Content) -> bool {
    let of_server = |name: &String| needs_reload(name) || LEAVE_SOMETHING.contains(&name.as_str());
    slice_rules::may_be_sliced(content) && content.differing_settings().iter().any(of_server)
}

/// Why users' changes cannot be made on several servers of this machine at once.
fn changes_share_a_server(content: &Content) -> Option<String> {
    let changes = &content.named.changes;
    let all = changes.iter().flat_map(|(name, levels)| levels.iter().map(move |level| (name, level)));
    let command = all.into_iter().find_map(|(name, (level, change))| match &change.do_ {
        Some(step @ ChangeStep::Command(_)) => Some((name, level, step.words())),
        _ => None,
    });
    if let Some((name, level, does)) = command {
        return Some(format!("{name} {level} does {does}, and a command may change more than one server"));
    }
    let other = changes.keys().find(|name| *name != content.compared());
    let other = other.filter(|_| changes.contains_key(content.compared()))?;
    Some(format!("{other} is varied too, and is made and undone under each arm"))
}

/// Adds the workloads for which background work of an idle server would slow the other arm.
///
/// # Errors
/// As text, why no arms run on copies: all workloads are such.
fn with_those_apart(content: &Content, copies: Copies, facts: &Facts) -> Result<Copies, String> {
    let background = match content.compared() {
        SETTINGS => burden::background_settings(content),
        _ => Vec::new(),
    };
    let in_grid: BTreeSet<String> =
        cells::grid(content).iter().filter_map(|cell| cell.get("workload").cloned()).collect();
    let apart: Vec<String> =
        match background.is_empty() || content.measure.slices.is_some_and(Slices::is_wanted) {
            true => Vec::new(),
            false => in_grid.iter().filter(|name| facts.writes(name)).cloned().collect(),
        };
    if !apart.is_empty() && apart.len() == in_grid.len() {
        return Err(because_of_background(&apart, &background));
    }
    let background = if apart.is_empty() { Vec::new() } else { background };
    Ok(Copies { apart, background, ..copies })
}

#[cfg(test)]
mod tests {
    use super::super::tests::plan;
    use super::*;
    use crate::plan::{setups, words};
    use crate::setup::At;
    use spec::plan::{Plan, Scheme};

    fn compared(builtins: &[&str], target: &str, what: &str) -> Plan {
        let workloads =
            builtins.iter().map(|name| format!("[workload.{name}]\npgbench = {{ builtin = \"{name}\" }}\n"));
        let workloads: String = workloads.collect();
        plan(&format!(
            "question = \"?\"\n[target]\n{target}\n{workloads}[factors]\nworkload = {builtins:?}\nclients = 1\n\
             {what}\n[measure]\nrounds = 4\n"
        ))
    }

    const MANAGED: &str = "managed = {}";

    fn settings(small: &str, large: &str) -> String {
        format!(
            "[settings.small]\n{small}\n[settings.large]\n{large}\n[compare]\nfactor = \"settings\"\nbase = \"small\""
        )
    }

    fn buffers() -> String {
        settings("shared_buffers = \"16MB\"", "shared_buffers = \"1GB\"")
    }

    fn turns(plan: &Plan) -> Vec<String> {
        let of_round = |round| {
            let runs = plan.runs.iter().filter(|run| run.round == round);
            let words = runs.map(|run| {
                let copy =
                    setups::setup(plan, run).at().copy.map(|number| number.to_string()).unwrap_or_default();
                format!("{} {}{copy}", run.workload, run.arm.clone().unwrap_or_default())
            });
            words.collect::<Vec<_>>().join(", ")
        };
        (1..=2).map(of_round).collect()
    }

    #[test]
    fn arms_that_are_only_settings_swap_copies_each_round() {
        let plan = compared(&["select-only"], MANAGED, &buffers());
        assert_eq!(
            turns(&plan),
            ["select-only small1, select-only large2", "select-only large1, select-only small2"]
        );
        assert_eq!(plan.scheme(), Scheme::Pairs);
        assert_eq!(plan.content.scheme, Scheme::HalfRounds, "the identity stays what it was");
        assert_eq!(setups::sites(&plan), [At::default()], "one server is prepared for both");
        let asked: BTreeSet<String> = plan.runs.iter().map(|run| setups::setup(&plan, run).asked()).collect();
        assert_eq!(asked.len(), 1, "one workload, chosen and guarded once");
    }

    #[test]
    fn three_arms_turn_round() {
        let copies = Copies::new(3, true);
        let of = |round| (0..3).map(|arm| copies.number(arm, round)).collect::<Vec<_>>();
        assert_eq!((of(1), of(2), of(4)), (vec![1, 2, 3], vec![2, 3, 1], vec![1, 2, 3]));
    }

    #[test]
    fn arms_whose_data_differ_stay_where_they_are() {
        let change = "[change.index.without]\n[change.index.with]\ndo = \"CREATE INDEX i ON t (x)\"\n\
                      [compare]\nfactor = \"index\"\nbase = \"without\"";
        let plan = compared(&["select-only"], MANAGED, change);
        assert_eq!(
            turns(&plan),
            ["select-only without1, select-only with2", "select-only with2, select-only without1"]
        );
        let command =
            change.replace("do = \"CREATE INDEX i ON t (x)\"", "do = { command = \"x\" }\nundo = \"y\"");
        let plan = compared(&["select-only"], MANAGED, &command);
        assert!(
            plan.arm_placement() == Some(&ArmPlacement::AsTheyAre)
                && words::arm_placement_words(&plan).contains("a command may change")
        );
        assert_eq!(turns(&plan)[0], "select-only without, select-only with");
    }

    #[test]
    fn what_works_in_the_background_keeps_arms_that_write_apart() {
        let log = settings("max_wal_size = \"1GB\"\nwal_buffers = \"1MB\"", "wal_buffers = \"16MB\"");
        let alone = compared(&["tpcb-like"], MANAGED, &log);
        let why = words::arm_placement_words(&alone);
        assert!(why.starts_with("half-rounds") && why.contains("tpcb-like writes"), "{why}");
        assert!(why.contains("max_wal_size, wal_buffers"), "{why}");
        assert_eq!(alone.scheme(), Scheme::HalfRounds);
        // Other workloads that only read are compared in turns.
        let both = compared(&["tpcb-like", "select-only"], MANAGED, &log);
        assert_eq!(
            turns(&both)[0],
            "select-only small1, select-only large2, tpcb-like small1, tpcb-like large2"
        );
        let alone: Vec<bool> = both.runs[..4].iter().map(|run| both.runs_alone(run)).collect();
        assert_eq!(alone, [false, false, true, true]);
        assert!(
            words::arm_placement_words(&both).contains("half-rounds for tpcb-like"),
            "{}",
            words::arm_placement_words(&both)
        );
        // Settings of memory do not matter.
        let memory = compared(&["tpcb-like"], MANAGED, &buffers());
        assert!(memory.copies().is_some_and(|copies| copies.apart.is_empty()));
    }

    #[test]
    fn arms_stand_side_by_side_only_where_that_is_better() {
        let none =
            |target: &str, what: &str| compared(&["select-only"], target, what).decisions.arm_placement;
        let memory = settings("work_mem = \"1MB\"", "work_mem = \"64MB\"");
        assert_eq!(none(MANAGED, &memory), None, "switching costs nothing");
        let change = "[change.index.without]\n[change.index.with]\ndo = \"x\"\nundo = \"y\"\n\
                      [compare]\nfactor = \"index\"\nbase = \"without\"";
        let url = "url = \"postgres://h/d\"\nchange_server = true";
        assert_eq!(none(url, change), None, "it is not ours");
        let versions = "[compare]\nfactor = \"version\"\nbase = 17";
        let versions = versions.replace("[compare]", "version = [17, 18]\n[compare]");
        let plan = compared(&["select-only"], MANAGED, &versions);
        assert_eq!(setups::sites(&plan).len(), 2, "one is prepared for each");
        assert!(plan.runs.iter().all(|run| setups::setup(&plan, run).at().copy == Some(1)));
    }
}
