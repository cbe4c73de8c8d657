//! A plan as text.

use std::collections::BTreeMap;

use protocol::without_credentials;
use spec::AskedLimit;
use spec::plan::storage::Holds;
use spec::plan::{
    Arm, ArmPlacement, CACHE, Generator, NotRun, Plan, PlannedCalibration, ProbeOptions, Scheme, TargetSpec,
};

use super::arm_placement::why_apart;
use super::cells;
use super::{calibration, divide, jobs_of, levels, setups, turns};
use crate::factors::{SETTINGS, STORAGE};
use crate::setup::At;

/// A plan as text, a line each: target, preparation, arms, order. How long it takes: [`super::length_words`].
#[must_use]
pub fn words(plan: &Plan) -> Vec<String> {
    if let Some(asked) = &plan.content.calibrate {
        return calibration_words(plan, asked);
    }
    let mut lines = vec![plan.question.clone()];
    lines.extend(plan.taste.iter().map(|taste| format!("a taste: {taste}")));
    lines.push(format!("target: {}", target_words(plan)));
    lines.extend(plan.content.probe.as_ref().map(probe_words));
    lines.extend(preparation_words(plan));
    if plan.content.has_only_jobs() {
        return lines;
    }
    lines.extend(divide::words(plan));
    lines.extend(arms_words(plan));
    lines.extend(plan.not_run().iter().map(|NotRun { what, why }| format!("not run: {what}: {why}")));
    lines.extend(storage_words(plan));
    lines.extend(turns::placement_words(plan));
    lines.extend(super::users::words(plan));
    lines.extend(plan.generator().map(Generator::words));
    lines.push(order_words(plan));
    lines.push(format!("seed {}; each run's own is made from it", plan.seed()));
    lines.extend(open_words(plan));
    let jobs = plan.runs.iter().filter(|run| run.is_job()).count();
    if jobs > 0 {
        lines.push(format!(
            "{} of jobs, each done once to its end: how long they take is known from earlier ones, or after the first",
            crate::words::count(jobs, "run")
        ));
    }
    lines
}

fn calibration_words(plan: &Plan, asked: &PlannedCalibration) -> Vec<String> {
    let measurements = calibration::Times::of(plan, asked).of_measurements();
    let mut lines = vec![plan.question.clone()];
    if setups::sites(plan).is_empty() {
        lines.push("target: a sink".to_owned());
    } else {
        lines.push(format!("target: a sink and {}", target_words(plan)));
        lines.extend(preparation_words(plan));
    }
    lines.push(format!(
        "{}, about {} in all, and the preparation",
        crate::words::count(measurements.len(), "measurement"),
        crate::words::duration(measurements.iter().sum()),
    ));
    lines
}

/// What is still open, the rule that decides it, and the facts that are missing.
fn open_words(plan: &Plan) -> Vec<String> {
    let open = plan.decisions.rows().into_iter().filter(|row| !row.needs.is_empty());
    open.map(|row| format!("{}: {} (decided once {} is known)", row.what, row.why, row.needs_words()))
        .collect()
}

fn target_words(plan: &Plan) -> String {
    let target = &plan.content.target;
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
    let topology = Some(target.topology()).filter(|topology| !topology.is_alone());
    let replicas = match (topology, target) {
        (None, _) => String::new(),
        (Some(topology), TargetSpec::Managed { .. }) => format!(", with {}", topology.words()),
        (Some(topology), TargetSpec::Url { .. }) => {
            format!(", with {}", spec::count(topology.replicas.into(), "replica"))
        }
    };
    server + &replicas + &tile_servers
}

fn probe_words(options: &ProbeOptions) -> String {
    format!("probe: the hardware of each server, in about {}", crate::words::duration(options.time))
}

fn preparation_words(plan: &Plan) -> Vec<String> {
    jobs_of(&plan.content.prepare).jobs().iter().map(|job| format!("prepare: {}", job.what())).collect()
}

fn arms_words(plan: &Plan) -> Vec<String> {
    let settings = plan.content.compared() == SETTINGS;
    let of_settings = if settings { "arm" } else { "settings" };
    let named = plan.content.arms.iter().filter(|arm| arm.name.is_some());
    let compared = (!settings).then(|| {
        let arms: Vec<String> = plan.content.arm_names().into_iter().flatten().collect();
        format!("compared: {} = {}, the first is the base", plan.content.compared(), arms.join(", "))
    });
    let changes = plan.content.named.changes.iter().flat_map(|(name, levels)| {
        levels.iter().map(move |(level, change)| format!("{name} {level}: {}", change.all_words()))
    });
    let poolers = plan.content.named.poolers.iter();
    let poolers = poolers.map(|(name, options)| format!("connection {name}: {}", options.words()));
    let described = changes.chain(poolers).chain(cache_words(plan));
    named.map(|arm| arm_words(of_settings, arm)).chain(described).chain(compared).collect()
}

fn storage_words(plan: &Plan) -> Option<String> {
    let levels = plan.content.factors.get(STORAGE)?;
    let mut held: BTreeMap<Holds, Vec<&str>> = BTreeMap::new();
    for level in levels {
        let holds = plan.content.named.storages.get(level).map(|storage| storage.holds);
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

fn cache_words(plan: &Plan) -> Vec<String> {
    let levels = plan.content.factors.get(CACHE).into_iter().flatten();
    let words = |level: &String| match level.as_str() {
        "cold" => {
            "with its files dropped from the page cache (as root that of the whole machine is); no warm-up, so the run begins \
             cold and heats as it goes"
        }
        _ => "with its files read into the page cache; then the warm-up",
    };
    levels
        .map(|level| format!("{CACHE} {level}: the server is restarted before each run, {}", words(level)))
        .collect()
}

fn is_by_url(plan: &Plan, at: &At) -> bool {
    matches!(levels::target(&plan.content, at), TargetSpec::Url { .. })
}

pub(crate) fn arm_placement_words(plan: &Plan) -> String {
    let Some(arm_placement) = &plan.decisions.arm_placement else { return String::new() };
    let why = arm_placement.why();
    let half = plan.content.scheme == Scheme::HalfRounds;
    match arm_placement.value() {
        ArmPlacement::AsTheyAre if half => format!("half-rounds, on one server: {why}"),
        ArmPlacement::AsTheyAre => {
            format!("arms on the servers as they were prepared, not on copies: {why}")
        }
        ArmPlacement::Copies(copies) => {
            let each = match (copies.each, copies.swapped) {
                (1, _) if setups::sites(plan).iter().any(|at| is_by_url(plan, at)) => {
                    "each arm on a copy of its server (those by URL as they are, one start of each)"
                        .to_owned()
                }
                (1, _) => "each arm on a copy of its server".to_owned(),
                (number, true) => format!("on {number} copies, which arms swap every round"),
                (number, false) => format!("on {number} copies, each arm on its own"),
            };
            let apart = match copies.apart.is_empty() {
                true => String::new(),
                false => format!("; half-rounds for {}: {}", copies.apart.join(", "), why_apart(copies)),
            };
            let restarted = match plan.content.keeps_sessions() {
                true => "one start of each",
                false => "restarted every round",
            };
            format!("side by side {each}, {restarted} ({why}){apart}")
        }
    }
}

pub(crate) fn order_words(plan: &Plan) -> String {
    let slicing = turns::slicing_words(plan);
    [rounds_words(plan), slicing].into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join("; ")
}

fn rounds_words(plan: &Plan) -> String {
    if let Some(asked) = &plan.content.measure.search {
        return search_words(asked, plan.content.compare.is_some());
    }
    if plan.arm_placement().is_some() {
        let rounds = crate::words::count(plan.rounds as usize, "round");
        let order = match plan.scheme() {
            Scheme::HalfRounds if plan.copies().is_none() => {
                "all cells run in one arm and then in the next, the base first in odd rounds"
            }
            _ => "the arms of a cell run next to each other, the base first in odd rounds",
        };
        return format!("{rounds}; {}; {order}", arm_placement_words(plan));
    }
    let rounds = crate::words::count(plan.rounds as usize, "round");
    match plan.content.scheme {
        Scheme::Sets => sets_words(plan),
        Scheme::Single => format!("{rounds}; nothing is compared"),
        Scheme::Pairs => {
            let blocked = if cells::blocked(&plan.content) {
                "; a change of settings or of a level of [change] is expensive, so cells of one level run together"
            } else {
                ""
            };
            let on = match setups::sites(plan) {
                sites if sites.len() == 1 => "one server",
                sites if sites.iter().any(|at| is_by_url(plan, at)) => {
                    "separate servers, one start of each (by URL none is restarted)"
                }
                _ => "separate servers",
            };
            format!(
                "{rounds}; the arms of a cell run next to each other on {on}, the base first in odd rounds{blocked}"
            )
        }
        Scheme::HalfRounds => {
            let why = match plan.content.compared() {
                SETTINGS => "takes a restart",
                _ => "is a change of the server",
            };
            format!(
                "{rounds}; switching arms {why}, so all cells run in one arm and then in the next, the base first in odd rounds"
            )
        }
    }
}

fn sets_words(plan: &Plan) -> String {
    let Some((factor, by_hand)) = plan.content.by_hand() else { return String::new() };
    let rounds = crate::words::count(by_hand.rounds as usize, "round");
    let sets = plan.rounds / by_hand.rounds.max(1);
    let begun = match plan.sets.len() {
        0 => String::new(),
        begun => format!(", {begun} of them begun"),
    };
    let sets = crate::words::count(sets as usize, "set");
    format!(
        "{sets} of {rounds} each{begun}; a person sets {factor} before each set, so arms are not interleaved"
    )
}

fn search_words(asked: &AskedLimit, compares: bool) -> String {
    if let Some(first) = asked.users {
        return users_words(asked, first, compares);
    }
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

fn users_words(asked: &AskedLimit, first: u32, compares: bool) -> String {
    let arms = if compares { "; then all arms in turn around the limit of the base" } else { "" };
    let most =
        asked.highest.map_or("as many as the server accepts".to_owned(), |most| asked.level_words(most));
    format!(
        "the highest number of users at which {} holds is searched in each cell: trials from about {} on, up to {most}, until the \
         number that keeps it and the one that does not are within {} % or neighbours, each by three trials of five{arms}",
        asked.words(),
        asked.level_words(f64::from(first)),
        (1000.0 * asked.width).round() / 10.0
    )
}

fn arm_words(of: &str, arm: &Arm) -> String {
    let name = arm.name.as_deref().unwrap_or_default();
    let settings: Vec<_> =
        arm.settings.iter().map(|(name, value)| format!("{name} = {}", without_credentials(value))).collect();
    let what = if settings.is_empty() { "the server's own settings".to_owned() } else { settings.join(", ") };
    let safety =
        if arm.weakens.is_empty() { String::new() } else { format!("; weakens: {}", arm.weakens.join(", ")) };
    format!("{of} {name}: {what}{safety}")
}
