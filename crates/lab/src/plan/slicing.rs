//! Whether the arms of a cell take turns in slices, or run one after the other. Decided when the experiment begins, kept
//! with the plan, and no part of the identity.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use server::managed::Via;
use server::settings::{needs_reload, needs_restart};

use super::cells::Cell;
use super::cost::CACHE;
use super::facts::LEAVE_SOMETHING;
use super::{Content, Facts, Plan, PlannedLoad, PlannedRun, Slices, Slicing, Standing};
use crate::factors::{PLACEMENT, SETTINGS};
use crate::measure::{LONGEST, SHORTEST, Turns, USUAL};
use crate::setup::{At, Connection, Placement, Setup};
use spec::RunEvent;

/// What is done where arms stand like this; `None` where nothing is compared.
pub(super) fn sliced(content: &Content, standing: Option<&Standing>, facts: Facts) -> Option<Slicing> {
    content.compare.as_ref()?;
    let mut uncut = BTreeMap::new();
    for cell in content.grid() {
        let name = content.workload_of(&cell);
        if !uncut.contains_key(&name)
            && let Some(why) = content.why_uncut(&cell, &name, standing, &facts)
        {
            uncut.insert(name, why);
        }
    }
    Some(Slicing { uncut, facts })
}

impl Content {
    /// The workload of a cell, as its runs name it.
    fn workload_of(&self, cell: &Cell) -> String {
        cell.get("workload").cloned().unwrap_or_else(|| self.compared_workloads())
    }

    /// Whether slices could be had, wherever arms stand.
    pub(super) fn may_be_sliced(&self) -> bool {
        self.why_never().is_none()
    }

    /// Why nothing of this experiment is cut.
    fn why_never(&self) -> Option<String> {
        let measure = &self.measure;
        if measure.slices == Some(Slices::Never) {
            return Some("slices = false".to_owned());
        }
        match measure.load {
            _ if measure.search.is_some() => Some("a limit is looked for in uncut trials".to_owned()),
            _ if self.factors.contains_key("rate") => {
                Some("arrivals on a schedule cannot be held".to_owned())
            }
            PlannedLoad::Rate => Some("arrivals on a schedule cannot be held".to_owned()),
            PlannedLoad::Users { .. } => Some("users pause by themselves".to_owned()),
            PlannedLoad::Closed if measure.promise_s.is_some() => {
                Some("a promise is judged in uncut runs: a slice empties the queues".to_owned())
            }
            PlannedLoad::Closed if self.factors.contains_key(CACHE) => {
                Some("the server is started anew before each run".to_owned())
            }
            PlannedLoad::Closed if self.varies_storage() => {
                Some("the server of each storage works alone, and is started anew before each run".to_owned())
            }
            PlannedLoad::Closed if self.compared() == PLACEMENT => {
                Some("the placement is what is compared, and slices need the same for all arms".to_owned())
            }
            PlannedLoad::Closed if measure.duration_s < 2.0 * self.least_slice_s() => {
                Some("runs are shorter than two slices".to_owned())
            }
            PlannedLoad::Closed => None,
        }
    }

    /// The length of a slice that is asked for, or the shortest there is, seconds.
    fn least_slice_s(&self) -> f64 {
        match self.measure.slices {
            Some(Slices::Length(length_s)) => length_s,
            _ => SHORTEST.as_secs_f64(),
        }
    }

    fn why_uncut(
        &self,
        cell: &Cell,
        workload: &str,
        standing: Option<&Standing>,
        facts: &Facts,
    ) -> Option<String> {
        if let Some(why) = self.why_never() {
            return Some(why);
        }
        if ["rate", "rate_per_client"].iter().any(|key| cell.contains_key(*key)) {
            return Some("arrivals on a schedule cannot be held".to_owned());
        }
        if cell.contains_key("promise") {
            return Some("a promise is judged in uncut runs: a slice empties the queues".to_owned());
        }
        if !self.together(cell, standing) {
            return Some("its arms run in half-rounds".to_owned());
        }
        let setups = self.arm_names().into_iter().map(|arm| self.setup(cell, arm.as_deref()));
        let Ok(setups) = setups.collect::<Result<Vec<_>, _>>() else { return Some("unknown".to_owned()) };
        let plain = |connection: &Connection| {
            matches!(connection, Connection::Direct | Connection::Via(Via::Socket | Via::Tcp))
        };
        if setups.iter().any(|setup| !plain(&setup.connection)) {
            return Some("connections by TLS or through a pooler are measured uncut".to_owned());
        }
        let all: BTreeSet<&String> = setups.iter().map(|setup| &setup.workload).collect();
        if all.iter().any(|name| facts.reconnects.contains(*name)) {
            return Some("it connects for each transaction".to_owned());
        }
        if all.iter().any(|name| facts.jobs.contains(*name)) {
            return Some("it is done once to its end, and cannot be held".to_owned());
        }
        if let Some(why) = self.why_not_held(&setups) {
            return Some(why.to_owned());
        }
        let ats: BTreeSet<At> = setups.iter().map(super::Setup::at).collect();
        let copies = standing.and_then(Standing::copies).is_some_and(|copies| copies.each > 1);
        if copies || (ats.len() == setups.len() && !facts.shared_server) {
            return None;
        }
        self.why_not_on_one_server(workload, &all, facts)
    }

    /// Why what some arm asks cannot be cut.
    fn why_not_held(&self, setups: &[Setup]) -> Option<&'static str> {
        let specs: Vec<_> = setups.iter().filter_map(|setup| self.spec(setup).ok()).collect();
        let commands: BTreeSet<u32> = specs.iter().map(workloads::Spec::commands_per_transaction).collect();
        match specs.iter().any(workloads::Spec::begins_anew) {
            true => Some("each run begins with a Redis of its own memory and fresh keys"),
            false => (commands.len() > 1)
                .then_some("its arms send pipelines of different lengths, and slices count pipelines"),
        }
    }

    /// Why arms cannot take turns on one server.
    fn why_not_on_one_server(
        &self,
        workload: &str,
        all: &BTreeSet<&String>,
        facts: &Facts,
    ) -> Option<String> {
        match self.compared() {
            SETTINGS => {
                let held = |name: &&String| needs_restart(name) || needs_reload(name);
                let names = self.differing_settings();
                if let Some(name) = names.iter().find(held) {
                    return Some(format!("{name} is one of the whole server, and the arms stand on one"));
                }
                if !self.target.tile_servers().is_empty() {
                    return Some("its tile servers have the settings of one arm at a time".to_owned());
                }
                let forced = self.measure.slices.is_some_and(Slices::is_wanted);
                let burden = all.iter().find_map(|name| self.burden_of(name, facts));
                if let Some(burden) = burden.filter(|_| !forced) {
                    return Some(burden);
                }
                let leaves = names.iter().find(|name| LEAVE_SOMETHING.contains(&name.as_str()))?;
                Some(format!("on one server the effect of {leaves} outlasts its arm's slices"))
            }
            change if self.named.changes.contains_key(change) => {
                Some(format!("{change} is made and undone on the one server"))
            }
            "clients" | "threads" | "mode" => None,
            _ if all.iter().any(|name| facts.writes.contains(*name)) => {
                Some(format!("on one server what {workload} writes in one arm is there in the other"))
            }
            _ => None,
        }
    }

    /// Settings in which arms differ.
    pub(super) fn differing_settings(&self) -> BTreeSet<String> {
        let names: BTreeSet<&String> = self.arms.iter().flat_map(|arm| arm.settings.keys()).collect();
        let differs = |name: &&&String| {
            let of = |at: usize| self.arms[at].settings.get(**name);
            (1..self.arms.len()).any(|at| of(at) != of(0))
        };
        names.iter().filter(differs).map(ToString::to_string).collect()
    }
}

impl Plan {
    /// The same plan with this decided.
    #[must_use]
    pub(crate) fn sliced_so(mut self, slicing: Option<Slicing>) -> Self {
        self.slicing = slicing;
        self
    }

    /// The same plan with it decided again, because two servers of its arms are one.
    #[must_use]
    pub(crate) fn on_a_shared_server(&self) -> Self {
        let mut plan = self.clone();
        if let Some(slicing) = &mut plan.slicing {
            slicing.facts.shared_server = true;
        }
        plan.sliced_anew()
    }

    /// The same plan with it decided again, for where its arms stand now.
    #[must_use]
    pub(super) fn sliced_anew(mut self) -> Self {
        let facts = self.slicing.take().map(|slicing| slicing.facts);
        self.slicing = facts.and_then(|facts| sliced(&self.content, self.standing.as_ref(), facts));
        self
    }

    /// Seconds of load before anything of a run counts.
    pub(super) fn warmup_of(&self, run: &PlannedRun) -> f64 {
        self.turns(run).map_or_else(|| self.content.warmup_of(run), |turns| turns.warmup.as_secs_f64())
    }

    /// How the arms of a run's cell take turns; `None` where they run one after the other.
    pub(crate) fn turns(&self, run: &PlannedRun) -> Option<Turns> {
        let slicing = self.slicing.as_ref()?;
        if run.beside || !self.has_arms_beside(run) || slicing.uncut.contains_key(&run.workload) {
            return None;
        }
        let measure = &self.content.measure;
        Some(Turns {
            // Without one nothing would be known of how long transactions take.
            warmup: Duration::from_secs_f64(self.content.warmup_of(run)).max(USUAL),
            duration: Duration::from_secs_f64(measure.duration_s),
            length: match measure.slices {
                Some(Slices::Length(length_s)) => {
                    Some(Duration::from_secs_f64(length_s).clamp(SHORTEST, LONGEST))
                }
                _ => None,
            },
            strict: run.round == 1,
            spread: !self.chooses_placement()
                && self.placement.as_ref().is_some_and(|chosen| chosen.placement == Placement::default()),
        })
    }

    /// The placement that was chosen, why, and what becomes of it where arms take turns; `None` where none was.
    pub(crate) fn placement_words(&self) -> Option<String> {
        let chosen = self.placement.as_ref()?;
        let spread = self.runs.iter().any(|run| self.turns(run).is_some_and(|turns| turns.spread));
        let by_turns = match spread {
            true => {
                "; where arms take turns, client threads and server processes are on the CPUs by turns, alike for all arms"
            }
            false => "",
        };
        Some(format!("{}; {}{by_turns}", chosen.words(), chosen.why))
    }

    /// What is to be known of how a run's arm takes turns, or does not: the kind of an event, and its words.
    pub(crate) fn told_of_turns(&self, run: &PlannedRun) -> Option<(&'static str, String)> {
        let slicing = self.slicing.as_ref().filter(|_| !run.beside)?;
        if let Some(why) = slicing.uncut.get(&run.workload) {
            return Some((RunEvent::UNCUT, format!("{}: {why}", run.workload)));
        }
        let forced = self.content.measure.slices.is_some_and(Slices::is_wanted);
        let burden = self.content.burden_of(&run.workload, &slicing.facts).filter(|_| forced)?;
        Some((RunEvent::SLICED_ALL_THE_SAME, burden))
    }

    /// Whether arms take turns, and where they don't, why; empty where the question does not arise.
    pub(crate) fn slicing_words(&self) -> String {
        let Some(slicing) = &self.slicing else { return String::new() };
        let workloads: BTreeSet<String> =
            self.content.grid().iter().map(|cell| self.content.workload_of(cell)).collect();
        let sliced: Vec<&str> =
            workloads.iter().filter(|name| !slicing.uncut.contains_key(*name)).map(String::as_str).collect();
        let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, why) in &slicing.uncut {
            by_reason.entry(why).or_default().push(name);
        }
        let all = sliced.len() == workloads.len();
        let length = match self.content.measure.slices {
            Some(Slices::Length(length_s)) => format!("{:.0} ms", length_s * 1e3),
            _ => "0.1 s (more where transactions are long)".to_owned(),
        };
        let cut = match (sliced.is_empty(), all) {
            (true, _) => None,
            (false, true) => Some(format!("arms take turns in slices of {length}, in the order A B B A")),
            (false, false) => Some(format!(
                "arms of {} take turns in slices of {length}, in the order A B B A",
                sliced.join(", ")
            )),
        };
        let uncut = by_reason.into_iter().map(|(why, names)| {
            match sliced.is_empty() && slicing.uncut.len() == names.len() {
                true => format!("no slices: {why}"),
                false => format!("no slices for {}: {why}", names.join(", ")),
            }
        });
        // Where workloads are what is compared, they go by one name together.
        let writes = &slicing.facts.writes;
        let is_several = |name: &str| !self.content.workloads.contains_key(name) && !writes.is_empty();
        let writing = sliced.iter().any(|name| writes.contains(*name) || is_several(name));
        let background = (writing && self.copies().is_some()).then(|| {
            "what the servers do in the background (checkpoints, autovacuum) takes time from all arms alike".to_owned()
        });
        cut.into_iter().chain(background).chain(uncut).collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::plan;
    use super::*;

    const MANAGED: &str = "managed = {}";
    const URL: &str = "url = \"postgres://there\"";

    /// Two arms of settings, of these workloads of pgbench's own.
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

    /// Whether all, some or none take turns, and the words about it.
    fn words(plan: &Plan) -> (usize, String) {
        let sliced = plan.runs.iter().filter(|run| run.round == 1 && plan.turns(run).is_some()).count();
        (sliced, plan.slicing_words())
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
        // A reload would do on one server, if they did not have to be in force at once.
        let reload = settings(MANAGED, &["select-only"], "autovacuum_naptime = \"10s\"", MEASURE);
        sliced(&reload, 2);
        assert!(reload.copies().is_some_and(|copies| copies.each == 2));
        let at_url = settings(
            &format!("{URL}\nchange_server = true"),
            &["select-only"],
            "autovacuum_naptime = \"10s\"",
            MEASURE,
        );
        uncut(&at_url, "autovacuum_naptime is one of the whole server");
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
        let (kind, burden) = forced.told_of_turns(tpcb).unwrap();
        assert_eq!(kind, RunEvent::SLICED_ALL_THE_SAME);
        assert!(burden.contains("tpcb-like writes and the arms differ in wal_buffers"), "{burden}");
        let reads = forced.runs.iter().find(|run| run.workload == "select-only").unwrap();
        assert_eq!(forced.told_of_turns(reads), None);
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
        let turns = length.turns(&length.runs[0]).unwrap();
        assert_eq!(turns.length, Some(Duration::from_millis(250)));
        let at_once = of("[measure]\nwarmup = \"0s\"");
        assert_eq!(
            at_once.turns(&at_once.runs[0]).unwrap().warmup,
            USUAL,
            "its length follows from the warm-up"
        );
        assert!(length.slicing_words().contains("slices of 250 ms"), "{}", length.slicing_words());
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
            let words = plan.slicing_words();
            assert!(
                words.contains("in the background (checkpoints, autovacuum) takes time from all arms"),
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

    #[test]
    fn one_that_was_begun_by_an_earlier_build_goes_on_as_it_began() {
        let plan = settings(MANAGED, &["select-only"], "work_mem = \"64MB\"", MEASURE);
        let hash = plan.hash();
        let before = plan.sliced_so(None);
        assert_eq!(before.hash(), hash, "no part of the identity");
        assert_eq!(words(&before), (0, String::new()));
    }
}
