//! From the command line to the experiment file that does it.

use toml::Value;

use super::args::{LadderArgs, Rungs};
use super::{Made, usage};
use crate::commands::bench::against::base::Folder;
use crate::commands::bench::against::parts::Begun;
use crate::commands::bench::against::toml_text::{TomlText, one_or_many, seconds};

/// Clients of a ladder of rates: enough that a server that keeps up is rarely waited for.
const CLIENTS: u32 = 16;

/// The file of a ladder.
///
/// # Errors
/// What cannot be meant, with what to write.
pub(super) fn written(args: &LadderArgs, folder: &Folder) -> anyhow::Result<Made> {
    let steps = Steps::of(&args.rungs)?;
    let question = |name: &str| question(name, &args.rungs, &steps);
    let mut begun = Begun::new(&args.made.asked(), super::SAVED_BY, question, folder)?;
    let text = &mut begun.text;
    text.table(&["factors"]);
    text.entry("clients", numbers(steps.clients.iter().map(|clients| Value::Integer((*clients).into()))));
    match steps.offered {
        Offered::Nothing => {}
        Offered::Rates(rates) => text.entry("rate", numbers(rates.iter().map(|rate| number(*rate)))),
        Offered::PerClient(rate) => text.entry("rate_per_client", number(rate)),
    }
    if !args.rungs.promise.is_empty() {
        let promises = args.rungs.promise.iter().map(|promise| Value::from(promise.as_str()));
        text.entry("promise", numbers(promises));
    }
    let most = steps.clients.iter().copied().max().unwrap_or(0);
    begun.make_room(most);
    measured(&args.rungs, &mut begun.text);
    args.made.asked().conduct.write_generator(&mut begun.text);
    let made = begun.made();
    Ok(Made { name: format!("{}-ladder", made.name), ..made })
}

fn measured(rungs: &Rungs, text: &mut TomlText) {
    if let Some(bound) = rungs.bound {
        text.table(&["load"]);
        text.entry("bound", format!("{bound}%"));
    }
    text.table(&["measure"]);
    text.entry("warmup", seconds(rungs.warmup));
    text.entry("duration", seconds(rungs.time as f64));
    text.entry("rounds", Value::Integer(rungs.rounds.into()));
    if rungs.jobs != 1 {
        text.entry("threads", Value::Integer(rungs.jobs.into()));
    }
}

fn numbers(values: impl Iterator<Item = Value>) -> Value {
    one_or_many(values.collect())
}

fn number(value: f64) -> Value {
    let whole = value.fract() == 0.0 && value.abs() < 1e9;
    if whole { Value::Integer(value as i64) } else { Value::Float(value) }
}

/// What rises.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Steps {
    clients: Vec<u32>,
    offered: Offered,
}

#[derive(Debug, Clone, PartialEq)]
enum Offered {
    /// The load is closed.
    Nothing,
    Rates(Vec<f64>),
    PerClient(f64),
}

impl Steps {
    /// What the lists mean together.
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

/// How much each client is offered where the lists rise in step.
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
    let promises = match &rungs.promise[..] {
        [] => String::new(),
        [only] => format!(" keep its promise of {only}"),
        several => format!(" keep its promise of {}", several.join(" and of ")),
    };
    match (&steps.offered, promises.is_empty()) {
        (Offered::Nothing, true) => format!("How does {name} grow with clients?"),
        (Offered::Nothing, false) => format!("With how many clients does {name}{promises}?"),
        (_, true) => format!("Up to which rate does {name} keep up?"),
        (_, false) => format!("Up to which rate does {name}{promises}?"),
    }
}
