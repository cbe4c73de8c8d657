//! A plan as a table, for `--dry-run`.

use std::collections::{BTreeMap, BTreeSet};

use protocol::without_credentials;
use results::{Table, Value};
use spec::AskedLimit;
use spec::plan::storage::Holds;

use super::cost::CACHE;
use super::restarts::arms_need_restart;
use super::sides::why_apart;
use super::{Generator, NotRun, Plan, PlannedRun, SHOWN_APART, Scheme, Standing, jobs_of};
use crate::factors::{SETTINGS, STORAGE};
use crate::setup::At;
use crate::target_spec::TargetSpec;

/// Columns before those of further factors, and behind them.
const FIRST: [&str; 5] = ["step", "round", "workload", "clients", "rate_per_s"];
const LAST: [&str; 4] = ["arm", "warmup_s", "duration_s", "seed"];

/// A rate as it was asked for: a measured figure would have digits behind the point.
fn rate(asked: Option<f64>) -> Value {
    match asked {
        Some(rate) if rate.fract() == 0.0 => Value::Int(rate as i64),
        other => other.into(),
    }
}

fn of_clients(run: &PlannedRun, value: Value) -> Value {
    if run.is_job() { Value::Null } else { value }
}

impl Plan {
    /// One row per step in order: switches of settings, and runs.
    #[must_use]
    pub fn table(&self) -> Table {
        let further = self.further_factors();
        let copy = self.copies().map(|_| "copy");
        let columns = FIRST.into_iter().chain(further.iter().copied()).chain(copy).chain(LAST);
        let columns: Vec<&str> = columns.collect();
        let mut table = Table::new(&columns);
        let (mut in_force, mut before) = (None, None);
        for run in &self.runs {
            if self.begins_anew(before.replace(run), run) {
                let mut row = vec![Value::Null; columns.len()];
                (row[0], row[1]) = ("start all anew".into(), run.round.into());
                table.push(row);
            }
            let state = self.content.state_of(run);
            // Arms in turn on one server bring their settings with their connections.
            let in_turn = self.content.compared() == SETTINGS && self.turns(run).is_some();
            let switches = !run.beside && !state.is_empty() && copy.is_none() && !in_turn;
            if switches && in_force.as_ref() != Some(&state) {
                table.push(self.switch(run, &state, further.len()));
                in_force = Some(state);
            }
            let step = if run.beside { "run beside the grid" } else { "run" };
            let first = [
                Value::from(step),
                run.round.into(),
                run.workload.clone().into(),
                of_clients(run, u64::from(run.clients).into()),
                rate(run.rate),
            ];
            let levels = further.iter().map(|key| Value::from(run.factors.get(*key).cloned()));
            let last = [
                run.arm.clone().into(),
                of_clients(run, self.warmup_of(run).into()),
                of_clients(run, self.content.measure.duration_s.into()),
                run.seed.into(),
            ];
            let copy = copy.map(|_| Value::from(self.setup(run).at().copy));
            table.push(first.into_iter().chain(levels).chain(copy).chain(last));
        }
        table
    }

    /// What is varied beside that which every run has.
    fn further_factors(&self) -> Vec<&str> {
        let keys = self.runs.iter().flat_map(|run| run.factors.keys()).map(String::as_str);
        // A mean says little of a rate that changes.
        let changing = self.runs.iter().any(|run| run.changing_rate().is_some());
        let apart = |key: &&str| SHOWN_APART.contains(key) && !(changing && *key == "rate");
        let further: BTreeSet<&str> = keys.filter(|key| !apart(key)).collect();
        further.into_iter().collect()
    }

    /// The same for people: the seed of each run, 19 digits that follow from the plan's, is left out.
    #[must_use]
    pub fn short_table(&self) -> Table {
        self.table().only(|table, at| table.columns[at].name != "seed")
    }

    /// The row of a change of the server's state before a run.
    fn switch(&self, run: &PlannedRun, state: &str, further: usize) -> Vec<Value> {
        let step = if arms_need_restart(&self.content.arms) { "switch, restart" } else { "switch" };
        let mut row = vec![Value::Null; FIRST.len() + further + LAST.len()];
        (row[0], row[1]) = (step.into(), run.round.into());
        row[FIRST.len() + further] = state.to_owned().into();
        row
    }

    /// What will be done, in words, a line each: target, preparation, arms, order, time.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let mut lines = vec![self.question.clone()];
        lines.extend(self.taste.iter().map(|taste| format!("a taste: {taste}")));
        lines.push(format!("target: {}", self.target_words()));
        lines.extend(self.preparation_words());
        lines.extend(self.arms_words());
        lines.extend(self.not_run.iter().map(|NotRun { what, why }| format!("not run: {what}: {why}")));
        lines.extend(self.storage_words());
        lines.extend(self.placement_words());
        lines.extend(self.generator.iter().map(Generator::words));
        lines.push(self.order_words());
        lines.push(format!("seed {}; each run's own is made from it", self.seed));
        if self.content.measure.search.is_some() {
            lines.push(self.search_length_words());
            return lines;
        }
        let jobs = self.runs.iter().filter(|run| run.is_job()).count();
        if jobs > 0 {
            lines.push(format!(
                "{} of jobs, each done once to its end: how long they take is known from earlier ones, or after the first",
                crate::words::count(jobs, "run")
            ));
        }
        if jobs == self.runs.len() {
            return lines;
        }
        let estimate = self.estimate();
        lines.push(format!(
            "{} of {} s (warm-up {} s{}{}), about {} in all, preparation not counted",
            crate::words::count(self.runs.len() - jobs, "run"),
            self.content.measure.duration_s,
            self.content.measure.warmup_s,
            if self.content.starts_cold() { ", none where cold" } else { "" },
            self.longer_warmup(),
            crate::words::duration(estimate.total),
        ));
        lines
    }

    /// How many trials there will be, and how long that takes, at least and at most.
    fn search_length_words(&self) -> String {
        let (measure, per_run) = (&self.content.measure, self.estimate().per_run);
        let [least, most] = crate::strategies::of(self, &[], None).usual(&[]);
        let [from, to] = [least, most].map(|runs| crate::words::duration(per_run * runs as u32));
        format!(
            "{least} to {most} runs of {} s (warm-up {} s), {from} to {to} in all, more where trials disagree, preparation not counted",
            measure.duration_s, measure.warmup_s,
        )
    }

    /// That arms which take turns are warmed up all the same.
    fn longer_warmup(&self) -> String {
        let asked = self.content.measure.warmup_s;
        let given = self.runs.iter().filter(|run| self.turns(run).is_some()).map(|run| self.warmup_of(run));
        match given.reduce(f64::max).filter(|given| *given > asked) {
            Some(given) => format!(", {given} s where arms take turns: it tells how long slices are to be"),
            None => String::new(),
        }
    }

    fn target_words(&self) -> String {
        let target = &self.content.target;
        let kinds: Vec<&str> = target.tile_servers().iter().map(|options| options.kind.name()).collect();
        let tile_servers = match kinds[..] {
            [] => String::new(),
            _ => format!(", with {} before it", kinds.join(" and ")),
        };
        let server = match target {
            TargetSpec::Managed { name, version, extensions, redis, .. } => {
                let mut words = format!("managed server {name:?}");
                if let Some(version) = version {
                    words += &format!(", PostgreSQL {version}");
                }
                if !extensions.is_empty() {
                    words += &format!(", with {}", extensions.join(", "));
                }
                if *redis {
                    words += ", and a private Redis";
                }
                words
            }
            TargetSpec::Url { shown, redis, .. } => {
                let redis = redis.as_ref().map(|redis| format!(", and {redis}")).unwrap_or_default();
                format!("{shown}{redis}")
            }
        };
        server + &tile_servers
    }

    fn preparation_words(&self) -> Vec<String> {
        jobs_of(&self.content.prepare).jobs().iter().map(|job| format!("prepare: {}", job.what())).collect()
    }

    /// What the arms are, and what the settings are that are varied beside them.
    fn arms_words(&self) -> Vec<String> {
        let settings = self.content.compared() == SETTINGS;
        let of_settings = if settings { "arm" } else { "settings" };
        let named = self.content.arms.iter().filter(|arm| arm.name.is_some());
        let compared = (!settings).then(|| {
            let arms: Vec<String> = self.content.arm_names().into_iter().flatten().collect();
            format!("compared: {} = {}, the first is the base", self.content.compared(), arms.join(", "))
        });
        let changes = self.content.named.changes.iter().flat_map(|(name, levels)| {
            levels.iter().map(move |(level, change)| format!("{name} {level}: {}", change.all_words()))
        });
        let poolers = self.content.named.poolers.iter();
        let poolers =
            poolers.map(|(name, options)| format!("connection {name}: PgBouncer, {}", options.words()));
        let described = changes.chain(poolers).chain(self.cache_words());
        named.map(|arm| arm_words(of_settings, arm)).chain(described).chain(compared).collect()
    }

    /// What is to be known where arms differ in more than what they stand on.
    fn storage_words(&self) -> Option<String> {
        let levels = self.content.factors.get(STORAGE)?;
        let mut held: BTreeMap<Holds, Vec<&str>> = BTreeMap::new();
        for level in levels {
            let holds = self.content.named.storages.get(level).map(|storage| storage.holds);
            held.entry(holds.unwrap_or_default()).or_default().push(level);
        }
        let words = |(holds, levels): (&Holds, &Vec<&str>)| {
            let what = match holds {
                Holds::Data => "the whole data folder",
                Holds::Tablespace => "the databases",
                Holds::Wal => "the log",
            };
            format!("{what} on {}", levels.join(", "))
        };
        let told: Vec<String> = held.iter().map(words).collect();
        (told.len() > 1).then(|| {
            format!("storages that hold different files differ in more than the storage: {}", told.join("; "))
        })
    }

    fn cache_words(&self) -> Vec<String> {
        let levels = self.content.factors.get(CACHE).into_iter().flatten();
        let words = |level: &String| match level.as_str() {
            "cold" => {
                "with its files dropped from the page cache (as root that of the whole machine is); no warm-up, so the run begins \
                 cold and heats as it goes"
            }
            _ => "with its files read into the page cache; then the warm-up",
        };
        levels
            .map(|level| {
                format!("{CACHE} {level}: the server is started anew before each run, {}", words(level))
            })
            .collect()
    }

    fn is_by_url(&self, at: &At) -> bool {
        matches!(self.content.target(at), TargetSpec::Url { .. })
    }

    /// Where arms stand, and why.
    pub(crate) fn standing_words(&self) -> String {
        let Some(standing) = &self.standing else { return String::new() };
        let half = self.content.scheme == Scheme::HalfRounds;
        match standing {
            Standing::AsTheyAre { why } if half => format!("half-rounds, on one server: {why}"),
            Standing::AsTheyAre { why } => {
                format!("arms on the servers as they were prepared, not on copies: {why}")
            }
            Standing::Copies(copies) => {
                let each = match (copies.each, copies.swapped) {
                    (1, _) if self.sites().iter().any(|at| self.is_by_url(at)) => {
                        "each arm on a copy of its server (those by URL as they are, one start of each)"
                            .to_owned()
                    }
                    (1, _) => "each arm on a copy of its server".to_owned(),
                    (number, true) => format!("on {number} copies, which arms swap every round"),
                    (number, false) => format!("on {number} copies, each arm on its own"),
                };
                let figures = match copies.figures.as_str() {
                    "" => "if they fit into memory and onto the disk once the data are prepared".to_owned(),
                    figures => figures.to_owned(),
                };
                let apart = match copies.apart.is_empty() {
                    true => String::new(),
                    false => format!("; half-rounds for {}: {}", copies.apart.join(", "), why_apart(copies)),
                };
                format!("side by side {each}, started anew every round ({figures}){apart}")
            }
        }
    }

    /// How rounds, cells and arms follow each other.
    pub(crate) fn order_words(&self) -> String {
        let slicing = self.slicing_words();
        [self.rounds_words(), slicing]
            .into_iter()
            .filter(|words| !words.is_empty())
            .collect::<Vec<_>>()
            .join("; ")
    }

    fn rounds_words(&self) -> String {
        if let Some(asked) = &self.content.measure.search {
            return search_words(asked, self.content.compare.is_some());
        }
        if self.standing.is_some() {
            let rounds = crate::words::count(self.rounds as usize, "round");
            let order = match self.scheme() {
                Scheme::HalfRounds if self.copies().is_none() => {
                    "all cells run in one arm and then in the next, the base first in odd rounds"
                }
                _ => "the arms of a cell run next to each other, the base first in odd rounds",
            };
            return format!("{rounds}; {}; {order}", self.standing_words());
        }
        let rounds = crate::words::count(self.rounds as usize, "round");
        match self.content.scheme {
            Scheme::Single => format!("{rounds}; nothing is compared"),
            Scheme::Pairs => {
                let blocked = if self.content.blocked() {
                    "; going to another level of settings or of a change is dear, so the cells of one stand together"
                } else {
                    ""
                };
                let on = match self.sites() {
                    sites if sites.len() == 1 => "one server",
                    sites if sites.iter().any(|at| self.is_by_url(at)) => {
                        "servers of their own, one start of each (by URL none is started anew)"
                    }
                    _ => "servers of their own",
                };
                format!(
                    "{rounds}; the arms of a cell run next to each other on {on}, the base first in odd rounds{blocked}"
                )
            }
            Scheme::HalfRounds => {
                let why = match self.content.compared() {
                    SETTINGS => "takes a restart",
                    _ => "is a change of the server",
                };
                format!(
                    "{rounds}; switching arms {why}, so all cells run in one arm and then in the next, the base first in odd rounds"
                )
            }
        }
    }
}

/// The rule of a search, and its bounds.
fn search_words(asked: &AskedLimit, compares: bool) -> String {
    let from = asked.lowest.map_or("1 % of the fastest run".to_owned(), |rate| format!("{rate}/s"));
    let to = asked.highest.map_or("120 % of it".to_owned(), |rate| format!("{rate}/s"));
    let grow = if asked.grow_clients { "; clients are doubled until more bring nothing" } else { "" };
    let arms = if compares { "; then all arms in turn around the limit of the base" } else { "" };
    format!(
        "the highest rate at which {} holds is searched in each cell: a run as fast as the clients can, then trials between {from} and \
         {to} until the rate that keeps it and the one that does not are within {} %, each by three trials of five{grow}{arms}",
        asked.words(),
        (1000.0 * asked.width).round() / 10.0
    )
}

fn arm_words(of: &str, arm: &crate::setup::Arm) -> String {
    let name = arm.name.as_deref().unwrap_or_default();
    let settings: Vec<_> =
        arm.settings.iter().map(|(name, value)| format!("{name} = {}", without_credentials(value))).collect();
    let what = if settings.is_empty() { "the server's own settings".to_owned() } else { settings.join(", ") };
    let safety =
        if arm.weakens.is_empty() { String::new() } else { format!("; weakens: {}", arm.weakens.join(", ")) };
    format!("{of} {name}: {what}{safety}")
}
