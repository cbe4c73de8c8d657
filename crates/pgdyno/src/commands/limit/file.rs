//! From the command line to the experiment file that does it.

use toml::Value;

use super::Made;
use super::args::{Clients, LimitArgs, Search};
use crate::commands::bench::against::base::Folder;
use crate::commands::bench::against::file::{Compared, written as compared};
use crate::commands::bench::against::kind::Change;
use crate::commands::bench::against::parts::Begun;
use crate::commands::bench::against::toml_text::{TomlText, seconds};

/// Clients that an automatic number begins with.
const FIRST_CLIENTS: u32 = 8;

/// The file of a search; of two, where something is changed on the other side.
///
/// # Errors
/// What cannot be meant, with what to write.
pub(super) fn written(args: &LimitArgs, change: Option<&Change>, folder: &Folder) -> anyhow::Result<Made> {
    let promise = args.search.promise.join(" and ");
    let made = match change {
        Some(change) => {
            let question =
                |base: &str, other: &str| format!("Can {other} take more than {base} at {promise}?");
            let of = Compared {
                asked: args.made.asked(),
                change,
                compare: &args.compare,
                clients: clients(&args.search),
                saved_by: super::SAVED_BY,
                question: &question,
                load: searched(args, &promise).into_text(),
                by_turns: true,
            };
            compared(&of, folder)?
        }
        None => alone(args, &promise, folder)?,
    };
    Ok(Made { name: format!("{}-limit", made.name), ..made })
}

fn alone(args: &LimitArgs, promise: &str, folder: &Folder) -> anyhow::Result<Made> {
    let question = |name: &str| format!("How much {name} can it take at {promise}?");
    let mut begun = Begun::new(&args.made.asked(), super::SAVED_BY, question, folder)?;
    begun.text.table(&["factors"]);
    begun.text.entry("clients", Value::Integer(clients(&args.search).into()));
    begun.make_room(clients(&args.search));
    let made = begun.made();
    Ok(Made { text: made.text + &searched(args, promise).into_text(), ..made })
}

/// How many clients it begins with.
fn clients(search: &Search) -> u32 {
    match search.clients {
        Clients::Auto => FIRST_CLIENTS,
        Clients::Fixed(clients) => clients,
    }
}

/// `[load.search]` and `[measure]`.
fn searched(args: &LimitArgs, promise: &str) -> TomlText {
    let search = &args.search;
    let mut text = TomlText::default();
    text.table(&["load", "search"]);
    text.entry("promise", promise);
    for (key, rate) in [("lowest", search.lowest), ("highest", search.highest)] {
        if let Some(rate) = rate {
            text.entry(key, Value::Float(rate));
        }
    }
    text.entry("width", format!("{}%", search.width));
    if search.clients == Clients::Auto {
        text.entry("grow_clients", true);
    }
    if !search.confirm.is_empty() {
        text.entry("confirm", search.confirm.iter().map(String::as_str).collect::<Vec<_>>());
    }
    text.table(&["measure"]);
    text.entry("warmup", seconds(search.warmup));
    text.entry("duration", seconds(search.time as f64));
    if search.jobs != 1 {
        text.entry("threads", Value::Integer(search.jobs.into()));
    }
    args.made.asked().conduct.write_generator(&mut text);
    text
}
