//! Turns the command line into an experiment.

use spec::experiment::{BoundedDuration, LengthOrBounds, LoadShape, Measure, Search as Sought, Share, Whole};
use toml::Value;

use super::MadeExperiment;
use super::args::{ClientsArg, LimitArgs, Search};
use crate::commands::bench::against::base::Folder;
use crate::commands::bench::against::file::{Compared, made as compared};
use crate::commands::bench::against::kind::AgainstChange;
use crate::commands::bench::against::parts::{SEVERAL_MODES, make_room, of_scripts, seed};

/// First number of clients with `auto`.
const FIRST_CLIENTS: u32 = 8;
/// Connections of a private server for users, unless --highest sets the most.
const USERS_ROOM: u32 = 1000;
const MOST_USERS: f64 = 100_000.0;

/// The experiment of a search; of two searches if there is a change.
pub(super) fn made(
    args: &LimitArgs,
    change: Option<&AgainstChange>,
    folder: &Folder,
) -> anyhow::Result<MadeExperiment> {
    let promise = args.search.promise.join(" and ");
    let mut made = match change {
        Some(change) => {
            args.made.scripts.mode.only("-M", SEVERAL_MODES)?;
            let question =
                |base: &str, other: &str| format!("Can {other} take more than {base} at {promise}?");
            let of = Compared {
                asked: args.made.asked(),
                change,
                compare: &args.compare,
                clients: vec![clients(&args.search)],
                saved_by: super::SAVED_BY,
                question: &question,
                load: load(args, &promise),
                measure: measure(&args.search),
                by_turns: true,
            };
            compared(of, folder)?
        }
        None => alone(args, &promise, folder)?,
    };
    made.name.push_str("-limit");
    Ok(made)
}

fn alone(args: &LimitArgs, promise: &str, folder: &Folder) -> anyhow::Result<MadeExperiment> {
    let are_users = args.made.users.is_asked();
    let question = |name: &str| match are_users {
        true => format!("How many users of {name} can it take at {promise}?"),
        false => format!("How much {name} can it take at {promise}?"),
    };
    let asked = args.made.asked();
    let mut made = of_scripts(&asked, super::SAVED_BY, question, folder)?;
    made.experiment.seed = seed(asked.conduct.random_seed.as_deref())?;
    let clients = clients(&args.search);
    made.experiment.factors.insert("clients".to_owned(), [i64::from(clients)].into_iter().collect());
    make_room(&mut made.experiment, if are_users { most_users(&args.search) } else { clients });
    let users = made.experiment.load.users.take();
    made.experiment.load = LoadShape { users, ..load(args, promise) };
    made.experiment.measure = measure(&args.search);
    asked.conduct.choose_generator(&mut made.experiment);
    Ok(made)
}

fn clients(search: &Search) -> u32 {
    match search.clients {
        ClientsArg::Auto => FIRST_CLIENTS,
        ClientsArg::Fixed(clients) => clients,
    }
}

/// Connections that a private server needs for the users of a search.
fn most_users(search: &Search) -> u32 {
    search.highest.map_or(USERS_ROOM, |highest| highest.clamp(1.0, MOST_USERS) as u32)
}

fn load(args: &LimitArgs, promise: &str) -> LoadShape {
    let search = &args.search;
    let sought = Sought {
        promise: promise.to_owned(),
        lowest: search.lowest.map(Value::Float),
        highest: search.highest.map(Value::Float),
        width: search.width.map(Share::percent),
        grow_clients: search.clients == ClientsArg::Auto && !args.made.users.is_asked(),
        confirm: search.confirm.clone(),
    };
    LoadShape { search: Some(sought), ..LoadShape::default() }
}

fn measure(search: &Search) -> Measure {
    Measure {
        warmup: Some(BoundedDuration::seconds(search.warmup)),
        duration: Some(LengthOrBounds::Fixed(BoundedDuration::seconds(search.time as f64))),
        threads: (search.jobs != 1).then(|| Whole::new(search.jobs)),
        ..Measure::default()
    }
}
