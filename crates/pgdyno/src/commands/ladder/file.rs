//! Turns the command line into an experiment.

use results::cells::BOUND;
use spec::Term;
use spec::experiment::{BoundedDuration, LengthOrBounds, Measure, Share, ValueList, Whole};
use toml::Value;

use super::args::{LadderArgs, RungPromise, Rungs};
use super::{MadeExperiment, usage};
use crate::commands::bench::against::base::Folder;
use crate::commands::bench::against::parts::{make_room, of_scripts, seed};

/// Clients for a ladder of rates: enough that arrivals rarely wait for a client.
const CLIENTS: u32 = 16;

/// The experiment of a ladder.
pub(super) fn made(args: &LadderArgs, folder: &Folder) -> anyhow::Result<MadeExperiment> {
    let rungs = &args.rungs;
    let steps = Steps::of(rungs)?;
    let is_p99 = rungs.promise.iter().any(|promise| matches!(promise, RungPromise::P99(_)));
    if is_p99 && rungs.bound.is_some_and(|bound| bound != 100.0 * BOUND) {
        return Err(usage("p99 is a bound of 1 %, and --bound is another", "--promise 500ms with --bound"));
    }
    let are_users = args.made.users.is_asked();
    if are_users && steps.offered != Offered::Nothing {
        return Err(usage("--users and rates cannot be combined", "--clients 10,20,40 for numbers of users"));
    }
    let question = |name: &str| {
        let question = question(name, rungs, &steps);
        if are_users { question.replace("clients", "users") } else { question }
    };
    let mut made = of_scripts(&args.made.asked(), super::SAVED_BY, question, folder)?;
    made.experiment.seed = seed(args.made.asked().conduct.random_seed.as_deref())?;
    made.name.push_str("-ladder");
    let experiment = &mut made.experiment;
    let mut vary =
        |factor: &str, levels: ValueList| drop(experiment.factors.insert(factor.to_owned(), levels));
    vary("clients", steps.clients.iter().map(|clients| i64::from(*clients)).collect());
    match &steps.offered {
        Offered::Nothing => {}
        Offered::Rates(rates) => vary("rate", rates.iter().map(|rate| number(*rate)).collect()),
        Offered::PerClient(rate) => vary("rate_per_client", [number(*rate)].into_iter().collect()),
    }
    if !rungs.promise.is_empty() {
        vary("promise", rungs.promise.iter().map(RungPromise::time).collect());
    }
    make_room(experiment, steps.clients.iter().copied().max().unwrap_or(0));
    experiment.load.bound = rungs.bound.map(Share::percent);
    experiment.measure = Measure {
        warmup: Some(BoundedDuration::seconds(rungs.warmup)),
        duration: Some(LengthOrBounds::Fixed(BoundedDuration::seconds(rungs.time as f64))),
        rounds: Some(Whole::new(rungs.rounds)),
        threads: (rungs.jobs != 1).then(|| Whole::new(rungs.jobs)),
        ..std::mem::take(&mut experiment.measure)
    };
    Ok(made)
}

fn number(value: f64) -> Value {
    let whole = value.fract() == 0.0 && value.abs() < 1e9;
    if whole { Value::Integer(value as i64) } else { Value::Float(value) }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Steps {
    clients: Vec<u32>,
    offered: Offered,
}

#[derive(Debug, Clone, PartialEq)]
enum Offered {
    /// A closed load.
    Nothing,
    Rates(Vec<f64>),
    PerClient(f64),
}

impl Steps {
    fn of(rungs: &Rungs) -> anyhow::Result<Self> {
        let Rungs { clients, rate, rate_per_client, .. } = rungs;
        let several = |count: usize| count > 1;
        let offered = match (rate_per_client, several(clients.len()) && several(rate.len())) {
            (Some(rate), _) => Offered::PerClient(*rate),
            (None, true) => Offered::PerClient(in_step(clients, rate)?),
            (None, false) if rate.is_empty() => Offered::Nothing,
            (None, false) => Offered::Rates(rate.clone()),
        };
        let rising = several(clients.len()) || several(rate.len());
        if !rising {
            let hint = "-R 100,200,400 for rates, -c 1,2,4,8 for clients, both with --rate-per-client; for one run: pgdyno bench";
            return Err(usage("a ladder needs two rungs at least", hint));
        }
        let by_rate = clients.is_empty() && offered != Offered::Nothing;
        Ok(Self { clients: if by_rate { vec![CLIENTS] } else { clients.clone() }, offered })
    }
}

/// The rate per client, where both lists rise together.
fn in_step(clients: &[u32], rates: &[f64]) -> anyhow::Result<f64> {
    let each = |(clients, rate): (&u32, &f64)| rate / f64::from(*clients);
    let first = each((&clients[0], &rates[0]));
    let alike = clients.iter().zip(rates).all(|pair| (each(pair) - first).abs() <= 1e-9 * first.abs());
    if clients.len() != rates.len() || !alike {
        let hint = "--rate-per-client 1, or one number of clients for all rates";
        return Err(usage(
            "-c and -R do not rise in step: each rung must have as much for each client",
            hint,
        ));
    }
    Ok(first)
}

fn question(name: &str, rungs: &Rungs, steps: &Steps) -> String {
    let share = rungs.bound.unwrap_or(100.0 * BOUND) / 100.0;
    let each: Vec<String> = rungs.promise.iter().map(|promise| Term::words(promise.time(), share)).collect();
    let promises = match each.is_empty() {
        true => String::new(),
        false => format!(" keep {}", each.join(" and ")),
    };
    match (&steps.offered, promises.is_empty()) {
        (Offered::Nothing, true) => format!("How does {name} grow with clients?"),
        (Offered::Nothing, false) => format!("With how many clients does {name}{promises}?"),
        (_, true) => format!("Up to which rate does {name} keep up?"),
        (_, false) => format!("Up to which rate does {name}{promises}?"),
    }
}
