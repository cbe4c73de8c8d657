//! Where the arms of a comparison stand: each on its own server, a copy of the prepared one, or all on the servers
//! as they are. Decided when the experiment begins, by what there is room for; kept with the plan, and no part of the
//! identity.

use std::collections::BTreeSet;

use server::settings::{in_the_background, needs_reload};
use spec::plan::change::Step;

use super::cells::Cell;
use super::facts::LEAVE_SOMETHING;
use super::restarts::arms_need_restart;
use super::{Content, Copies, Facts, Plan, PlannedRun, Scheme, Standing};
use crate::experiment::Slices;
use crate::factors::{SETTINGS, STORAGE};
use crate::setup::{At, Server, Setup};
use crate::target_spec::TargetSpec;

/// How the arms of a plan are wanted to stand where there is room; `None` where the question does not arise.
pub(super) fn wanted(content: &Content, facts: &Facts) -> Option<Standing> {
    content.compare.as_ref()?;
    if content.measure.search.is_some() {
        let why = "a search tries its arms one after the other".to_owned();
        return Some(Standing::AsTheyAre { why });
    }
    if content.varies_storage() {
        let why = "servers on storages of their own are not copied".to_owned();
        return (content.compared() != STORAGE).then_some(Standing::AsTheyAre { why });
    }
    if content.mounts_anew() {
        let why = "a filesystem is mounted anew for a cold run, which the servers of other arms on it would keep it from";
        return Some(Standing::AsTheyAre { why: why.to_owned() });
    }
    let arms = content.arm_names().len() as u32;
    let copies = match content.compared() {
        SETTINGS if arms_need_restart(&content.arms) || content.needs_servers_to_slice() => {
            Copies::new(arms, true)
        }
        change if content.named.changes.contains_key(change) => Copies::new(arms, false),
        "version" | "server" => Copies::new(1, false),
        data if data.starts_with("prepare.") => Copies::new(1, false),
        asked if content.needs_copies_to_write(asked, facts) => Copies::new(arms, false),
        _ => return None,
    };
    if !content.has_ours() {
        return None;
    }
    if let Some(why) = content.changes_share_a_server() {
        return Some(Standing::AsTheyAre { why });
    }
    Some(content.with_those_apart(copies, |name| facts.writes.contains(name)))
}

/// Why some workloads are run in half-rounds.
pub(super) fn why_apart(copies: &Copies) -> String {
    because_of_background(&copies.apart, &copies.background)
}

fn because_of_background(workloads: &[String], settings: &[String]) -> String {
    let write = if workloads.len() == 1 { "writes" } else { "write" };
    format!(
        "{} {write} and the arms differ in {}: what is still done in the background for one arm would fall into the other \
         one's time",
        workloads.join(", "),
        settings.join(", ")
    )
}

impl Content {
    /// Whether a server that arms may stand on is ours to copy.
    fn has_ours(&self) -> bool {
        let is_ours = |spec: &TargetSpec| matches!(spec, TargetSpec::Managed { .. });
        match self.factors.get("server") {
            Some(levels) => {
                levels.iter().any(|level| is_ours(self.named.servers.get(level).unwrap_or(&self.target)))
            }
            None => is_ours(&self.target),
        }
    }

    /// Whether its runs are on servers on several storages: then each works alone, since what one still writes would fall into
    /// another one's time, and is started again for each run.
    pub(crate) fn varies_storage(&self) -> bool {
        self.factors.get(STORAGE).is_some_and(|levels| levels.len() > 1)
    }

    /// Whether runs begin cold on a filesystem that is made for their server.
    fn mounts_anew(&self) -> bool {
        let is_cold = |levels: &Vec<String>| levels.iter().any(|level| level == "cold");
        self.factors.get("cache").is_some_and(is_cold) && self.is_on_made_storage()
    }

    /// Whether its only storage is a filesystem that is made, and goes with pgdyno.
    pub(crate) fn is_on_made_storage(&self) -> bool {
        let level = self.factors.get(STORAGE).and_then(|levels| levels.first());
        match self.target(&At { storage: level.cloned(), ..At::default() }) {
            TargetSpec::Managed { storage, .. } => storage.is_some_and(|storage| storage.is_made()),
            TargetSpec::Url { .. } => false,
        }
    }

    /// What is done in the background for an arm in the other arm's time under this workload, in words.
    pub(super) fn burden_of(&self, workload: &str, facts: &Facts) -> Option<String> {
        let background = match self.compared() {
            SETTINGS => self.background_settings(),
            _ => Vec::new(),
        };
        (!background.is_empty() && facts.writes.contains(workload))
            .then(|| because_of_background(&[workload.to_owned()], &background))
    }

    /// Whether arms that differ in what they ask can take turns only on copies, since what one writes is there in the other. Each stays on its
    /// own: what it wrote is its doing.
    fn needs_copies_to_write(&self, compared: &str, facts: &Facts) -> bool {
        let of_workload = compared.split_once('.').is_some_and(|(name, _)| self.workloads.contains_key(name));
        let writes = || self.workloads.keys().any(|name| facts.writes.contains(name));
        let once = || self.workloads.keys().any(|name| facts.jobs.contains(name));
        // What is made and undone under each arm would have to be so on each copy.
        let is_plain = self.named.changes.is_empty() && self.target.tile_servers().is_empty();
        (compared == "workload" || of_workload) && is_plain && self.may_be_sliced() && writes() && !once()
    }

    /// Whether arms can take turns only on their own servers, since they differ in a setting of the whole server.
    fn needs_servers_to_slice(&self) -> bool {
        let of_server = |name: &String| needs_reload(name) || LEAVE_SOMETHING.contains(&name.as_str());
        self.may_be_sliced() && self.differing_settings().iter().any(of_server)
    }

    /// Why one's own changes cannot be made on several servers of this machine at once.
    fn changes_share_a_server(&self) -> Option<String> {
        let changes = &self.named.changes;
        let all = changes.iter().flat_map(|(name, levels)| levels.iter().map(move |level| (name, level)));
        let command = all.into_iter().find_map(|(name, (level, change))| match &change.do_ {
            Some(step @ Step::Command(_)) => Some((name, level, step.words())),
            _ => None,
        });
        if let Some((name, level, does)) = command {
            return Some(format!(
                "{name} {level} does {does}, and a command may change more than one server"
            ));
        }
        let other = changes.keys().find(|name| *name != self.compared());
        let other = other.filter(|_| changes.contains_key(self.compared()))?;
        Some(format!("{other} is varied too, and is made and undone under each arm"))
    }

    /// Workloads for which what an idle server does in the background would be the other arm's burden.
    fn with_those_apart(&self, copies: Copies, writes: impl Fn(&str) -> bool) -> Standing {
        let background = match self.compared() {
            SETTINGS => self.background_settings(),
            _ => Vec::new(),
        };
        let in_grid: BTreeSet<String> =
            self.grid().iter().filter_map(|cell| cell.get("workload").cloned()).collect();
        let apart: Vec<String> =
            match background.is_empty() || self.measure.slices.is_some_and(Slices::is_wanted) {
                true => Vec::new(),
                false => in_grid.iter().filter(|name| writes(name)).cloned().collect(),
            };
        if !apart.is_empty() && apart.len() == in_grid.len() {
            return Standing::AsTheyAre { why: because_of_background(&apart, &background) };
        }
        let background = if apart.is_empty() { Vec::new() } else { background };
        Standing::Copies(Copies { apart, background, ..copies })
    }

    /// Settings that arms differ in and that decide what a server does when nobody asks it anything.
    fn background_settings(&self) -> Vec<String> {
        self.differing_settings().into_iter().filter(|name| in_the_background(name)).collect()
    }

    /// Whether the arms of a cell run next to each other.
    pub(super) fn together(&self, cell: &Cell, standing: Option<&Standing>) -> bool {
        match (self.scheme, standing.and_then(Standing::copies)) {
            (Scheme::HalfRounds, None) => false,
            (Scheme::HalfRounds, Some(copies)) => {
                !cell.get("workload").is_some_and(|workload| copies.apart.contains(workload))
            }
            (Scheme::Single | Scheme::Pairs, _) => true,
        }
    }
}

impl Plan {
    /// The same plan with its arms standing so.
    #[must_use]
    pub(crate) fn standing_so(mut self, standing: Option<Standing>) -> Self {
        self.standing = standing;
        self.sliced_anew().ordered_anew()
    }

    /// Whether the arms of its cell run next to it.
    pub(crate) fn has_arms_beside(&self, run: &PlannedRun) -> bool {
        self.content.scheme != Scheme::Single && self.content.together(&run.factors, self.standing.as_ref())
    }

    /// Whether no other server may be at work meanwhile.
    pub(crate) fn runs_alone(&self, run: &PlannedRun) -> bool {
        self.copies().is_some() && !self.content.together(&run.factors, self.standing.as_ref())
    }

    /// The copies that arms stand on.
    pub(crate) fn copies(&self) -> Option<&Copies> {
        self.standing.as_ref()?.copies()
    }

    /// How runs are interleaved, as it is recorded.
    pub(crate) fn scheme(&self) -> Scheme {
        match (self.content.scheme, self.copies()) {
            (Scheme::HalfRounds, Some(copies)) if copies.apart.is_empty() => Scheme::Pairs,
            (scheme, _) => scheme,
        }
    }

    /// The setup on the copy that the run's arm stands on; runs beside the grid are on that of the base.
    pub(super) fn on_its_copy(&self, run: &PlannedRun, setup: Setup) -> Setup {
        let Some(copies) = self.copies() else { return setup };
        let at = setup.at();
        if !matches!(self.content.target(&at), TargetSpec::Managed { .. }) {
            return setup;
        }
        let arms = self.content.arm_names();
        let arm = arms.iter().position(|arm| *arm == run.arm).unwrap_or(0) as u32;
        let at = At { copy: Some(copies.number(arm, run.round)), ..at };
        Setup { server: Server::Target(at), ..setup }
    }

    /// The run in words, with the copy that it is on.
    pub(crate) fn words_of(&self, run: &PlannedRun) -> String {
        match self.setup(run).at().copy {
            Some(number) => format!("{}, copy {number}", run.words()),
            None => run.words(),
        }
    }

    /// Where in its list the runs of this round begin to be on servers that were started again.
    pub(crate) fn begins_anew(&self, before: Option<&PlannedRun>, run: &PlannedRun) -> bool {
        self.copies().is_some() && before.is_none_or(|before| before.round != run.round)
    }

    /// How often servers are started again on the way through these runs.
    pub(crate) fn starts(&self, runs: &[&PlannedRun]) -> usize {
        let started: BTreeSet<_> = runs.iter().map(|run| (run.round, &run.arm)).collect();
        started.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::plan;
    use super::*;

    /// Two arms in their order, with these workloads of pgbench's own, and what they compare.
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

    /// Arm and copy of each run, a line for each round.
    fn turns(plan: &Plan) -> Vec<String> {
        let of_round = |round| {
            let runs = plan.runs.iter().filter(|run| run.round == round);
            let words = runs.map(|run| {
                let copy = plan.setup(run).at().copy.map(|number| number.to_string()).unwrap_or_default();
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
        assert_eq!(plan.sites(), [At::default()], "one server is prepared for both");
        let asked: BTreeSet<String> = plan.runs.iter().map(|run| plan.setup(run).asked()).collect();
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
            matches!(&plan.standing, Some(Standing::AsTheyAre { why }) if why.contains("a command may change"))
        );
        assert_eq!(turns(&plan)[0], "select-only without, select-only with");
    }

    #[test]
    fn what_works_in_the_background_keeps_arms_that_write_apart() {
        let log = settings("max_wal_size = \"1GB\"\nwal_buffers = \"1MB\"", "wal_buffers = \"16MB\"");
        let alone = compared(&["tpcb-like"], MANAGED, &log);
        let why = alone.standing_words();
        assert!(why.starts_with("half-rounds") && why.contains("tpcb-like writes"), "{why}");
        assert!(why.contains("max_wal_size, wal_buffers"), "{why}");
        assert_eq!(alone.scheme(), Scheme::HalfRounds);
        // Those beside it that only read are compared side by side.
        let both = compared(&["tpcb-like", "select-only"], MANAGED, &log);
        assert_eq!(
            turns(&both)[0],
            "select-only small1, select-only large2, tpcb-like small1, tpcb-like large2"
        );
        let alone: Vec<bool> = both.runs[..4].iter().map(|run| both.runs_alone(run)).collect();
        assert_eq!(alone, [false, false, true, true]);
        assert!(both.standing_words().contains("half-rounds for tpcb-like"), "{}", both.standing_words());
        // Settings of memory are no reason.
        let memory = compared(&["tpcb-like"], MANAGED, &buffers());
        assert!(memory.copies().is_some_and(|copies| copies.apart.is_empty()));
    }

    #[test]
    fn arms_stand_side_by_side_only_where_that_is_better() {
        let none = |target: &str, what: &str| compared(&["select-only"], target, what).standing;
        let memory = settings("work_mem = \"1MB\"", "work_mem = \"64MB\"");
        assert_eq!(none(MANAGED, &memory), None, "switching costs nothing");
        let change = "[change.index.without]\n[change.index.with]\ndo = \"x\"\nundo = \"y\"\n\
                      [compare]\nfactor = \"index\"\nbase = \"without\"";
        let url = "url = \"postgres://h/d\"\nchange_server = true";
        assert_eq!(none(url, change), None, "it is not ours");
        let versions = "[compare]\nfactor = \"version\"\nbase = 17";
        let versions = versions.replace("[compare]", "version = [17, 18]\n[compare]");
        let plan = compared(&["select-only"], MANAGED, &versions);
        assert_eq!(plan.sites().len(), 2, "one is prepared for each");
        assert!(plan.runs.iter().all(|run| plan.setup(run).at().copy == Some(1)));
    }
}
