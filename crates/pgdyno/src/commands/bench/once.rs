//! `pgdyno bench` without a comparison: one run, with a report as pgbench prints it. It is a further round of its
//! experiment.

use lab::execute::{self, ExecutionOptions, OneRun, Planned};
use script::Seed as SeedChoice;
use spec::experiment::{BoundedDuration, Experiment, LengthOrBounds, LoadShape, Measure, Whole};
use spec::plan::AskedCounting;
use spec::{Error, Profile, ProfileError, Reason, advice_on_sqlstate};

use super::against::base::Folder;
use super::against::made::MadeExperiment;
use super::against::parts::{make_room, of_scripts, users};
use super::against::values;
use super::args::BenchArgs;
use super::asked::BenchRequest;
use super::watched::Watched;
use super::{check_bounds, check_script, fresh_seed, of_option, show, told_where, usage, usage_with};
use crate::commands::jobs::not_stored;
use crate::commands::part::AskedPart;
use crate::commands::{by_hand, print, signals, typed};
use crate::exit::{
    CommandFailure, ExitResult, GUARD, INTERRUPTED, INVALID, SAME_OR_BETTER, UNREACHABLE, USAGE, of_class,
};
use crate::options::OutputFormat;
use crate::print::{data, warning};
use crate::progress::Screen;

const SAVED_BY: &str = "Made by pgdyno bench; docs/reference/experiment.md explains every key.";

pub(super) fn measure(args: &BenchArgs) -> ExitResult {
    let rate = rate(args)?;
    let part = args.part.asked()?;
    let seed = seed(args.conduct.random_seed.as_deref(), part)?;
    let file = made(args)?.read("bench", None)?;
    let options = ExecutionOptions {
        results: part.results(&args.output.results.path()),
        again: false,
        further_round: Some(seed),
        part: part.part,
        patience: part.patience,
        level: args.conduct.level.as_deref().map(|text| file.level(text)).transpose()?,
        statements: args.conduct.report_per_command,
        pg_bin: None,
        command: Some(typed::command()),
    };
    let stop = signals::listen_at_once()?;
    let mut screen = Watched::new(Screen::new(args.output.verbose), args);
    let Planned { plan, facts, .. } = execute::planned(&file, &options, false, &stop)?;
    let _measuring = args.output.measuring(&plan, &mut screen);
    let mut done = execute::run_once(&file, facts, &options, &mut screen, &stop)?;
    drop(screen);
    if args.output.format.format == OutputFormat::Text
        && let Some(error) = did_nothing(&done)
    {
        return Err(error);
    }
    done.remarks.iter().for_each(|remark| warning(remark));
    match args.output.format.format {
        OutputFormat::Text => data(&show::text(args, rate.as_ref(), &done))?,
        format => print(show::table(&done, args, format == OutputFormat::Json), format)?,
    }
    let refused = refused(&done).map(|(error, said)| {
        done.run.doubts.retain(|doubt| Some(doubt.reason) != said);
        error
    });
    for doubt in &done.run.doubts {
        warning(&doubt.to_string());
    }
    let code = match done.run.validity {
        _ if done.measured.interrupted => INTERRUPTED,
        spec::Validity::Invalid => INVALID,
        _ => SAME_OR_BETTER,
    };
    let id = done.stored.as_ref().ok().copied();
    if let Err(error) = done.stored {
        // One error ends the program; the other is shown as a warning.
        if let Some(refused) = refused {
            warning(&refused.to_string());
        }
        return Err(not_stored(&error));
    }
    told_where(&options.results, &["runs"], id);
    part.tell(&options.results);
    if options.level.is_some() {
        by_hand::tell(&file, &options, id)?;
    }
    match (refused, done.lost) {
        (Some(refused), _) => Err(refused),
        (None, Some(lost)) => Err(without_counters(&lost)),
        (None, None) => Ok(code),
    }
}

/// The result was measured, but the server's counters are missing.
fn without_counters(lost: &Error) -> anyhow::Error {
    let what = format!("the result above is without the server's counters: {lost}");
    CommandFailure::with_code(of_class(lost.class()), what, lost.hint().map(str::to_owned))
}

/// The error of a run without a single transaction, since the first of a client failed: a report of it would say
/// nothing else.
fn did_nothing(done: &OneRun) -> Option<anyhow::Error> {
    let abort = done.measured.aborts.first().filter(|abort| !abort.lost)?;
    let place = done.aborted_at.as_ref().filter(|_| done.measured.totals().processed() == 0)?;
    let text = abort.to_string();
    let first = text.lines().next().unwrap_or_default();
    let said = ["ERROR:  ", "FATAL:  "].iter().find_map(|severity| Some(first.split_once(severity)?.1));
    let of_server = text.lines().find_map(|line| line.strip_prefix("HINT:")).map(str::trim);
    let known = || abort.code.as_deref().map_or("", |code| advice_on_sqlstate(code, &text));
    let hint = Some(of_server.unwrap_or_else(known).to_owned()).filter(|advice| !advice.is_empty());
    Some(CommandFailure::with_code(
        GUARD,
        format!("{}: {}", place.trim_end_matches(';'), said.unwrap_or(first)),
        hint,
    ))
}

/// Why a run has no valid figures: first clients that aborted, whose message is the error; then a script that
/// does nothing. Also returns the doubt that this error covers.
fn refused(done: &OneRun) -> Option<(anyhow::Error, Option<Reason>)> {
    if let Some(abort) = done.measured.aborts.first() {
        let more = done.measured.aborts.len() - 1;
        let others = match more {
            0 => String::new(),
            more => format!(" (and {})", lab::words::count(more, "more client")),
        };
        let code = if abort.lost { UNREACHABLE } else { GUARD };
        let place = done.aborted_at.as_ref().map(|place| format!("{place}\n")).unwrap_or_default();
        let error = CommandFailure::with_code(code, format!("{place}{abort}{others}"), None);
        return Some((error, Some(Reason::Errors)));
    }
    let empty = done.run.doubts.iter().find(|doubt| doubt.reason == Reason::EmptyResults);
    let empty = empty.filter(|_| !done.measured.interrupted)?;
    let what = empty.to_string();
    let hint = Some("pgdyno bench --may-be-empty, if that is right".into());
    Some((CommandFailure::with_code(GUARD, what, hint), Some(empty.reason)))
}

const SEVERAL_CLIENTS: &str =
    "two sides at each: --against 'KIND: WHAT'; one side at each: pgdyno ladder -c 1,4,16";

/// Seed of a load in parts, unless one is given.
const SEED_OF_PARTS: u64 = 1;

/// The experiment of one run a round.
fn made(args: &BenchArgs) -> anyhow::Result<MadeExperiment> {
    check_bounds(args)?;
    if args.conduct.max_tries == 0 && args.load.time.is_none() && args.pace.latency_limit.is_none() {
        return Err(usage("--max-tries 0 needs a bound: a duration (-T) or a latency limit (-L)"));
    }
    args.scripts.in_order.iter().try_for_each(check_script)?;
    let (asked, clients) = (BenchRequest::of(args), args.load.client.only("-c", SEVERAL_CLIENTS)?);
    let folder = Folder::of(None);
    check_users(args, &asked)?;
    let each = if args.users.is_asked() { "user" } else { "client" };
    let question =
        |name: &str| format!("How fast is {name} with {}?", lab::words::count(clients as usize, each));
    let mut made = of_scripts(&asked, SAVED_BY, question, &folder)?;
    "bench".clone_into(&mut made.name);
    let given = asked.users()?;
    let usual_warmup = given.map_or(0.0, |users| users.warmup_s(args.load.time.unwrap_or_default() as f64));
    let experiment = &mut made.experiment;
    experiment.factors.insert("clients".to_owned(), [i64::from(clients)].into_iter().collect());
    make_room(experiment, clients);
    experiment.load = LoadShape {
        rate: args.pace.rate.as_deref().map(values::rate),
        promise: args.pace.latency_limit.map(|limit_ms| BoundedDuration::seconds(limit_ms / 1e3)),
        users: users(&asked, args.sessions_each(), &folder)?,
        ..LoadShape::default()
    };
    experiment.measure = Measure {
        warmup: Some(BoundedDuration::seconds(args.load.warmup.unwrap_or(usual_warmup))),
        duration: args
            .load
            .time
            .map(|seconds| LengthOrBounds::Fixed(BoundedDuration::seconds(seconds as f64))),
        transactions: args.load.per_client().filter(|_| !args.users.is_asked()).map(Whole::new),
        rounds: Some(Whole::new(1_u32)),
        threads: (args.load.jobs != 1).then(|| Whole::new(args.load.jobs)),
        try_first: Some(false),
        counting: Some(AskedCounting::Pgbench),
        ..std::mem::take(&mut experiment.measure)
    };
    if let Some(text) = &args.conduct.level {
        set_by_hand(experiment, text, args.load.time.is_some())?;
    }
    Ok(made)
}

/// A run at a level that a person sets is one set.
fn set_by_hand(experiment: &mut Experiment, text: &str, has_length: bool) -> anyhow::Result<()> {
    let named = text.split_once('=').map(|(factor, level)| (factor.trim(), level.trim()));
    let Some((factor, level)) = named.filter(|(factor, level)| !factor.is_empty() && !level.is_empty())
    else {
        return Err(usage_with(
            &format!("--level {text}: a factor and its level are needed"),
            "--level memory=3200",
        ));
    };
    if !has_length {
        let what = "--level: levels are compared over runs of one length";
        return Err(usage_with(what, "give a duration: -T 60"));
    }
    experiment.by_hand.insert(factor.to_owned(), [level].into_iter().collect());
    experiment.measure.sets = Some(Whole::new(1_u32));
    Ok(())
}

/// Options that do not go with users.
fn check_users(args: &BenchArgs, asked: &BenchRequest<'_>) -> anyhow::Result<()> {
    let Some(users) = asked.users()? else { return Ok(()) };
    if args.pace.rate.is_some() {
        let hint = "for users who come at a rate: --arrivals '12 per minute'";
        return Err(usage_with("--users and --rate cannot be combined", hint));
    }
    if args.load.transactions.is_some() {
        let hint = "--sessions N for sessions of each user, or -T for a duration";
        return Err(usage_with("-t counts transactions, and users do sessions", hint));
    }
    if users.need_duration() && args.load.time.is_none() {
        let hint = "-T 60; -c is how many of them can be there at once";
        return Err(usage_with("users who come and go need a duration", hint));
    }
    Ok(())
}

/// The rate asked for; a changing one must fit into the run.
pub(super) fn rate(args: &BenchArgs) -> anyhow::Result<Option<Profile>> {
    let Some(written) = &args.pace.rate else { return Ok(None) };
    let profile: Profile = written.parse().map_err(|error: ProfileError| {
        CommandFailure::with_code(USAGE, of_option("--rate", error.what()), Some(error.advice().to_owned()))
    })?;
    match args.load.time {
        _ if profile.is_constant() => {}
        None => return Err(usage("--rate: a rate that changes needs a duration (-T)")),
        Some(seconds) if profile.lasts_s() > seconds as f64 => {
            let needed = profile.lasts_s();
            return Err(usage(&format!(
                "--rate \"{profile}\" takes {needed} s, and the run lasts {seconds} s (-T)"
            )));
        }
        Some(_) => {}
    }
    Ok(Some(profile))
}

/// The seed of the run; the parts of a load need the same.
fn seed(given: Option<&str>, part: AskedPart) -> anyhow::Result<u64> {
    match given.map(SeedChoice::parse).transpose() {
        Ok(Some(SeedChoice::Value(seed))) => Ok(seed),
        Ok(None) if part.is_of_a_load() => Ok(SEED_OF_PARTS),
        Ok(Some(_)) if part.is_of_a_load() => {
            Err(usage("--random-seed: each part would draw another seed; give all parts one number"))
        }
        Ok(None | Some(SeedChoice::Time | SeedChoice::Strong)) => Ok(fresh_seed()),
        Err(_) => Err(usage("--random-seed: write a number, time or rand")),
    }
}
