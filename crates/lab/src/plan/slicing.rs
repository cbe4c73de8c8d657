//! Whether the arms of a workload take turns in slices, or run one after the other. Not part of the identity.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use server::managed::NetworkAccess;
use server::settings::{needs_reload, needs_restart};
use spec::plan::{ArmPlacement, Content, Decision, Facts, Needed, Slices, Slicing, TargetSpec};

use super::burden::LEAVE_SOMETHING;
use super::cells::Cell;
use super::levels::Levels;
use super::{burden, cells, levels, slice_rules, turns};
use crate::factors::SETTINGS;
use crate::setup::{At, ConnectionPath, Setup};

/// Whether the arms of each workload take turns, for where they run; empty without a comparison.
pub(super) fn slices(
    content: &Content,
    arm_placement: Option<&Decision<ArmPlacement>>,
    facts: &Facts,
) -> BTreeMap<String, Decision<Slicing>> {
    let mut decided = BTreeMap::new();
    if content.compare.is_none() {
        return decided;
    }
    let cells = cells::grid(content);
    // How much is asked at once decides nothing.
    let mut alike: HashSet<(Levels<'_>, Vec<&String>)> = HashSet::new();
    let mut by_workload: BTreeMap<String, Vec<&Cell>> = BTreeMap::new();
    for cell in &cells {
        if alike.insert((levels::apart_from_load(content, cell, None), cell.keys().collect())) {
            by_workload.entry(cells::workload_of(content, cell)).or_default().push(cell);
        }
    }
    for (name, own) in by_workload {
        let outcome = |known: Where<'_>| match own
            .iter()
            .find_map(|cell| why_uncut(content, cell, &name, known, facts))
        {
            Some(why) => (Slicing::Uncut, why),
            None => (Slicing::Slices, turns::in_slices(content, &name, known.arm_placement, facts)),
        };
        let decision = decision(content, arm_placement, facts, outcome);
        decided.insert(name, decision);
    }
    decided
}

/// What is known about the servers that arms run on.
#[derive(Clone, Copy)]
struct Where<'a> {
    arm_placement: Option<&'a ArmPlacement>,
    /// Whether two of them are one server.
    shared: bool,
}

/// The decision, if it is the same wherever the arms will run; else the expected one, and what decides it.
fn decision(
    content: &Content,
    arm_placement: Option<&Decision<ArmPlacement>>,
    facts: &Facts,
    outcome: impl Fn(Where<'_>) -> (Slicing, String),
) -> Decision<Slicing> {
    let known_shared = facts.shared_server();
    let expected =
        Where { arm_placement: arm_placement.map(Decision::value), shared: known_shared.unwrap_or(false) };
    let on_one = Where { arm_placement: Some(&ArmPlacement::AsTheyAre), ..expected };
    let is_open = arm_placement.is_some_and(Decision::is_open);
    let places: Vec<Where<'_>> = [expected].into_iter().chain(is_open.then_some(on_one)).collect();
    let (value, reason) = outcome(expected);
    let differs = |known: Where<'_>| outcome(known) != (value, reason.clone());
    let mut needs = Vec::new();
    if places.iter().any(|known| differs(*known)) {
        needs.push(Needed::Preparation);
    }
    let turns_out_shared = |known: &Where<'_>| outcome(*known) != outcome(Where { shared: true, ..*known });
    if known_shared.is_none() && has_several_by_url(content) && places.iter().any(turns_out_shared) {
        needs.push(Needed::Servers);
    }
    match needs.is_empty() {
        true => Decision::decided(value, reason),
        false => Decision::open(value, reason, needs),
    }
}

/// Only servers given by URL can turn out to be one.
fn has_several_by_url(content: &Content) -> bool {
    let by_url = |spec: &&TargetSpec| matches!(spec, TargetSpec::Url { .. });
    content.named.servers.values().filter(by_url).count() > 1
}

fn why_uncut(
    content: &Content,
    cell: &Cell,
    workload: &str,
    known: Where<'_>,
    facts: &Facts,
) -> Option<String> {
    if let Some(why) = slice_rules::why_never(content) {
        return Some(why);
    }
    if facts.part().is_some_and(|part| part.shared) {
        return Some("several generators cannot be held at one time".to_owned());
    }
    if ["rate", "rate_per_client"].iter().any(|key| cell.contains_key(*key)) {
        return Some("arrivals on a schedule cannot be held".to_owned());
    }
    if cell.contains_key("promise") {
        return Some("a promise is judged in uncut runs: a slice empties the queues".to_owned());
    }
    if content.by_hand().is_some() {
        return Some("its arms are set by hand".to_owned());
    }
    if !content.together(cell, known.arm_placement) {
        return Some("its arms run in half-rounds".to_owned());
    }
    let setups = content.arm_names().into_iter().map(|arm| levels::setup(content, cell, arm.as_deref()));
    let Ok(setups) = setups.collect::<Result<Vec<_>, _>>() else { return Some("unknown".to_owned()) };
    let plain = |connection: &ConnectionPath| {
        matches!(
            connection,
            ConnectionPath::Direct | ConnectionPath::Via(NetworkAccess::Socket | NetworkAccess::Tcp)
        )
    };
    if setups.iter().any(|setup| !plain(&setup.connection)) {
        return Some("connections by TLS or through a pooler are measured uncut".to_owned());
    }
    let all: BTreeSet<&String> = setups.iter().map(|setup| &setup.workload).collect();
    if all.iter().any(|name| facts.reconnects(name)) {
        return Some("it connects for each transaction".to_owned());
    }
    if all.iter().any(|name| facts.is_job(name)) {
        return Some("it is done once to its end, and cannot be held".to_owned());
    }
    if let Some(why) = why_not_held(content, &setups) {
        return Some(why.to_owned());
    }
    let ats: BTreeSet<At> = setups.iter().map(Setup::at).collect();
    let copies = known.arm_placement.and_then(ArmPlacement::copies).is_some_and(|copies| copies.each > 1);
    if copies || (ats.len() == setups.len() && !known.shared) {
        return None;
    }
    why_not_on_one_server(content, workload, &all, facts)
}

fn why_not_held(content: &Content, setups: &[Setup]) -> Option<&'static str> {
    let specs: Vec<_> = setups.iter().filter_map(|setup| levels::spec_of(content, setup).ok()).collect();
    let commands: BTreeSet<u32> = specs.iter().map(workloads::Spec::commands_per_transaction).collect();
    match specs.iter().any(workloads::Spec::resets_before_each_run) {
        true => Some("each run begins with a Redis of its own memory and fresh keys"),
        false => (commands.len() > 1)
            .then_some("its arms send pipelines of different lengths, and slices count pipelines"),
    }
}

fn why_not_on_one_server(
    content: &Content,
    workload: &str,
    all: &BTreeSet<&String>,
    facts: &Facts,
) -> Option<String> {
    match content.compared() {
        SETTINGS => {
            let held = |name: &&String| needs_restart(name) || needs_reload(name);
            let names = content.differing_settings();
            if let Some(name) = names.iter().find(held) {
                return Some(format!("{name} is a setting of the whole server, and the arms share one"));
            }
            if !content.target.tile_servers().is_empty() {
                return Some("its tile servers have the settings of one arm at a time".to_owned());
            }
            let forced = content.measure.slices.is_some_and(Slices::is_wanted);
            let burden = all.iter().find_map(|name| burden::burden_of(content, name, facts));
            if let Some(burden) = burden.filter(|_| !forced) {
                return Some(burden);
            }
            let leaves = names.iter().find(|name| LEAVE_SOMETHING.contains(&name.as_str()))?;
            Some(format!("on one server the effect of {leaves} outlasts its arm's slices"))
        }
        change if content.named.changes.contains_key(change) => {
            Some(format!("{change} is made and undone on the one server"))
        }
        "clients" | "threads" | "mode" => None,
        _ if all.iter().any(|name| facts.writes(name)) => {
            Some(format!("on one server what {workload} writes in one arm is there in the other"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use spec::RunEvent;
    use spec::plan::{Fact, Facts};

    use super::super::tests::plan;
    use spec::plan::Plan;

    use super::super::turns;
    use crate::measure::USUAL;

    const MANAGED: &str = "managed = {}";
    const URL: &str = "url = \"postgres://there\"";

    fn settings(target: &str, builtins: &[&str], one: &str, more: &str) -> Plan {
        let what = format!(
            "[settings.base]\n[settings.other]\n{one}\n[compare]\nfactor = \"settings\"\nbase = \"base\""
        );
        compared(target, builtins, &what, more)
    }

    fn compared(target: &str, builtins: &[&str], what: &str, more: &str) -> Plan {
        let workloads =
            builtins.iter().map(|name| format!("[workload.{name}]\npgbench = {{ builtin = \"{name}\" }}\n"));
        let (workloads, load) = (workloads.collect::<String>(), more);
        plan(&format!(
            "question = \"?\"\n[target]\n{target}\n{workloads}[factors]\nworkload = {builtins:?}\nclients = 2\n{what}\n\
             {load}\nrounds = 4\n"
        ))
    }

    /// What the two built-in workloads do.
    fn facts() -> Facts {
        let does = |name: &str, writes| Fact::Workload {
            workload: name.into(),
            writes,
            is_job: false,
            reconnects: false,
        };
        let mut facts = Facts::default();
        [does("select-only", false), does("tpcb-like", true)].into_iter().for_each(|fact| facts.learn(fact));
        facts
    }

    fn words(plan: &Plan) -> (usize, String) {
        let sliced = plan.runs.iter().filter(|run| run.round == 1 && turns::takes_turns(plan, run)).count();
        (sliced, turns::slicing_words(plan))
    }

    #[track_caller]
    fn uncut(plan: &Plan, why: &str) {
        let (sliced, words) = words(plan);
        assert_eq!(sliced, 0, "{words}");
        assert!(words.contains(why), "{words:?} lacks {why:?}");
    }

    #[track_caller]
    fn sliced(plan: &Plan, runs: usize) {
        let (sliced, words) = words(plan);
        assert_eq!(sliced, runs, "{words}");
    }

    const MEASURE: &str = "[measure]";

    #[test]
    fn settings_of_a_connection_need_one_server_and_others_two() {
        let on_one = settings(MANAGED, &["select-only", "tpcb-like"], "work_mem = \"64MB\"", MEASURE);
        sliced(&on_one, 4);
        assert!(on_one.copies().is_none());
        sliced(&settings(URL, &["select-only"], "jit = \"off\"", MEASURE), 2);
        let restart = settings(MANAGED, &["select-only"], "shared_buffers = \"1GB\"", MEASURE);
        sliced(&restart, 2);
        // A reload would suffice on one server, if both did not have to be in force at once.
        let reload = settings(MANAGED, &["select-only"], "autovacuum_naptime = \"10s\"", MEASURE);
        sliced(&reload, 2);
        assert!(reload.copies().is_some_and(|copies| copies.each == 2));
        let at_url = settings(
            &format!("{URL}\nchange_server = true"),
            &["select-only"],
            "autovacuum_naptime = \"10s\"",
            MEASURE,
        );
        uncut(&at_url, "autovacuum_naptime is a setting of the whole server");
        let log = |more| settings(MANAGED, &["tpcb-like", "select-only"], "wal_compression = \"on\"", more);
        assert_eq!(words(&log(MEASURE)).0, 2, "what writes is not cut, on one server either");
        assert!(
            words(&log(MEASURE)).1.contains("the arms differ in wal_compression"),
            "{}",
            words(&log(MEASURE)).1
        );
        sliced(&log("[measure]\nslices = true"), 4);
        let outlasting = settings(URL, &["select-only"], "synchronous_commit = \"off\"", MEASURE);
        uncut(&outlasting, "the effect of synchronous_commit outlasts");
    }

    #[test]
    fn what_an_idle_server_does_is_a_reason_unless_they_are_asked_for() {
        let background =
            |more| settings(MANAGED, &["select-only", "tpcb-like"], "wal_buffers = \"16MB\"", more);
        let (runs, words) = words(&background(MEASURE));
        assert_eq!(runs, 2);
        assert!(words.contains("arms of select-only take turns"), "{words}");
        assert!(words.contains("no slices for tpcb-like: its arms run in half-rounds"), "{words}");
        let forced = background("[measure]\nslices = true");
        sliced(&forced, 4);
        let tpcb = forced.runs.iter().find(|run| run.workload == "tpcb-like").unwrap();
        let (kind, burden) = turns::turns_event(&forced, &facts(), tpcb).unwrap();
        assert_eq!(kind, RunEvent::SLICED_ALL_THE_SAME);
        assert!(burden.contains("tpcb-like writes and the arms differ in wal_buffers"), "{burden}");
        let reads = forced.runs.iter().find(|run| run.workload == "select-only").unwrap();
        assert_eq!(turns::turns_event(&forced, &facts(), reads), None);
    }

    #[test]
    fn loads_that_cannot_be_held_are_not_cut() {
        let of = |more: &str| settings(MANAGED, &["select-only"], "jit = \"off\"", more);
        uncut(&of("[load]\nrate = 100\n[measure]"), "arrivals on a schedule cannot be held");
        uncut(&of("[load]\nusers = { think = \"1s\" }\n[measure]"), "users pause by themselves");
        uncut(&of("[load]\npromise = \"10ms\"\n[measure]"), "a slice empties the queues");
        uncut(&of("[measure]\nslices = false"), "slices = false");
        uncut(&of("[measure]\nduration = \"90ms\""), "shorter than two slices");
        let length = of("[measure]\nslices = \"250ms\"");
        let turns = turns::turns(&length, &length.runs[0]).unwrap();
        assert_eq!(turns.length, Some(Duration::from_millis(250)));
        let at_once = of("[measure]\nwarmup = \"0s\"");
        assert_eq!(
            turns::turns(&at_once, &at_once.runs[0]).unwrap().warmup,
            USUAL,
            "its length follows from the warm-up"
        );
        assert!(
            turns::slicing_words(&length).contains("slices of 250 ms"),
            "{}",
            turns::slicing_words(&length)
        );
    }

    #[test]
    fn arms_that_write_leave_something_on_the_one_server() {
        // By URL there is one server.
        let there = compared(
            URL,
            &["tpcb-like", "simple-update"],
            "[compare]\nfactor = \"workload\"\nbase = \"tpcb-like\"",
            MEASURE,
        );
        uncut(&there, "is there in the other");
        let clients = "[compare]\nfactor = \"clients\"\nbase = 2";
        let clients = plan(&format!(
            "question = \"?\"\n[target]\n{MANAGED}\n[workload.w]\npgbench = {{ builtin = \"tpcb-like\" }}\n[factors]\n\
             clients = [2, 4]\n{clients}\n[measure]\nrounds = 4\n"
        ));
        sliced(&clients, 2);
    }

    /// An index cost a writer 10 to 12 %, and the answer was +1.5 % [-20.7, +29.9].
    #[test]
    fn an_index_a_schema_or_a_script_on_copies_does_nothing_in_the_background() {
        let index = "[change.index.without]\n[change.index.with]\ndo = \"CREATE INDEX i ON t (x)\"\n\
                     [compare]\nfactor = \"index\"\nbase = \"without\"";
        let script = "[compare]\nfactor = \"workload\"\nbase = \"tpcb-like\"";
        let option = "\"tpcb-like.builtin\" = [\"tpcb-like\", \"simple-update\"]\n[compare]\nfactor = \"tpcb-like.builtin\"\nbase = \"tpcb-like\"";
        for (builtins, what) in
            [(&["tpcb-like"][..], index), (&["tpcb-like", "simple-update"], script), (&["tpcb-like"], option)]
        {
            let plan = compared(MANAGED, builtins, what, MEASURE);
            sliced(&plan, 2);
            assert!(plan.copies().is_some_and(|copies| copies.each == 2 && !copies.swapped), "{what}");
            let words = turns::slicing_words(&plan);
            assert!(
                words.contains(
                    "background work of the servers (checkpoints, autovacuum) takes time from all arms"
                ),
                "{words}"
            );
        }
        // Scripts that only read need one server.
        let tries =
            "\"select-only.max_tries\" = [1, 2]\n[compare]\nfactor = \"select-only.max_tries\"\nbase = 1";
        let reads = compared(MANAGED, &["select-only"], tries, MEASURE);
        sliced(&reads, 2);
        assert!(reads.copies().is_none());
    }
}
