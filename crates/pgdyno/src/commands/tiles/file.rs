//! From the command line to the experiment file that does it.

use toml::Value;

use super::against::{Against, listed};
use super::args::{Load, TilesArgs, Where, Which};
use super::layers::Layers;
use super::ways::{self, Ways};
use crate::commands::bench::against::base::{Folder, Server, plain};
use crate::commands::bench::against::file::{can_be_changed, of_change, other_server, targets};
use crate::commands::bench::against::kind::Change;
use crate::commands::bench::against::made::Made;
use crate::commands::bench::against::parts::{ROOM, seed_of};
use crate::commands::bench::against::toml_text::{TomlText, inline, scalar, seconds};
use crate::commands::bench::against::usage;

/// Rounds where nothing is compared: enough for a spread.
const ROUNDS: u32 = 3;
const ROUNDS_COMPARED: u32 = 12;
/// Connections of each user of sessions, as the workload has it.
const LINKS: u32 = 6;

/// The file of it.
///
/// # Errors
/// What cannot be meant, with what to write.
pub(super) fn written(args: &TilesArgs, against: &Against, folder: &Folder) -> anyhow::Result<Made> {
    let compare = args.arms.compare();
    let (others, change, ways) = match against {
        Against::Layers(others) => (&others[..], None, &[][..]),
        Against::Change(change) => (&[][..], Some(change), &[][..]),
        Against::Ways(ways) => (&[][..], None, &ways[..]),
    };
    let ways = Ways::new(args.tiles.via.as_ref(), ways)?;
    let server = ways.beside(server(&args.server)?)?;
    let base = args.layers.iter().map(|layers| listed(layers)).collect::<anyhow::Result<Vec<_>>>()?.concat();
    let layers = Layers::read(&base, others, args.tiles.together, folder)?;
    let name = if ways.is_compared() { "tiles".to_owned() } else { layers.name() };
    let (mut other, mut sides, mut tables) = (None, None, TomlText::default());
    if let Some(change) = change {
        other = other_server(change, &server)?;
        can_be_changed(&compare, change, &server, false)?;
        sides =
            Some(of_change(change, &compare, (&(layers.in_words() + &ways.in_words()), None), &mut tables)?);
    } else if compare.undo.is_some() || compare.change_server {
        let what = "--undo and --change-server are for settings and SQL, and something else is compared";
        return Err(usage(what, "leave them out"));
    }
    let mut text = TomlText::default();
    text.comment(super::SAVED_BY);
    let asked =
        sides.as_ref().map(|sides| sides.question(&|base, other| format!("Are {other} faster than {base}?")));
    let asked = asked.or_else(|| ways.question(&layers).filter(|_| others.is_empty()));
    text.entry("question", asked.unwrap_or_else(|| layers.question()));
    if let Some(seed) = &args.load.random_seed {
        text.entry("seed", seed_of(seed)?);
    }
    targets(&mut text, &server, other.as_ref(), compare.change_server, &ways.tile_servers());
    prepare(&args.server, folder, &mut text);
    text.table(&["workload", &name]);
    text.entry("tiles", inline([layers.entry()].into_iter().chain(chosen(&args.tiles, folder))));
    text.table(&["factors"]);
    text.entry("clients", Value::Integer(args.load.clients.into()));
    let compared = match (&sides, layers.levels()) {
        (Some(sides), _) => Some((sides.factor.to_owned(), sides.base.clone(), sides.levels.clone())),
        (None, Some(levels)) => Some((format!("{name}.{}", levels.key), levels.base, levels.all)),
        (None, None) => ways.levels().map(|(base, all)| (format!("{name}.via"), base, all)),
    };
    let arms =
        compared.map_or(1, |(factor, base, levels)| arms(&factor, base, levels, compare.margin, &mut text));
    let mut text = text.into_text() + &tables.into_text();
    text.push_str(&measured(args, arms, ways.is_explained())?);
    text.push_str(&room(args, &server, &ways, change));
    let servers = [Some(&server), other.as_ref()];
    let short = layers.short() + &ways.short();
    let short = sides.map_or_else(|| short.clone(), |sides| format!("{short} {}", sides.short));
    Ok(Made {
        name: plain(&short).replace(' ', "-"),
        text,
        logins: servers.iter().flatten().filter_map(|server| server.url().cloned()).collect(),
        left_out: servers.iter().flatten().any(|server| server.has_secret()),
    })
}

/// What is compared; how many arms there are.
fn arms(factor: &str, base: Value, levels: Vec<Value>, margin: Option<f64>, text: &mut TomlText) -> usize {
    // Settings, servers and changes have a table for each of the two.
    let arms = levels.len().max(2);
    if !levels.is_empty() {
        text.entry(factor, levels);
    }
    text.table(&["compare"]);
    text.entry("factor", factor);
    text.entry("base", base);
    if let Some(margin) = margin {
        text.entry("margin", format!("{margin}%"));
    }
    arms
}

/// A private one with PostGIS, unless another is named.
fn server(args: &Where) -> anyhow::Result<Server> {
    let given = args.given();
    let is_given = given.iter().any(Option::is_some);
    let managed = args.managed.as_deref().or((!is_given).then_some("default"));
    let server = match Server::given(given, managed)? {
        Server::Managed { name, redis, .. } => Server::Managed { name, extensions: &["postgis"], redis },
        server => server,
    };
    let puts = [(args.osm.is_some(), "--osm"), (!args.sql.is_empty(), "--sql")];
    match puts.iter().find(|(given, _)| *given && !server.is_managed()) {
        Some((_, option)) => {
            let what = format!("{option} puts data on a private server, and a database is given");
            Err(usage(&what, "leave -d out; or pgdyno osm load, or psql -f, and this without it"))
        }
        None => Ok(server),
    }
}

fn prepare(args: &Where, folder: &Folder, text: &mut TomlText) {
    if args.osm.is_none() && args.sql.is_empty() {
        return;
    }
    let path =
        |path: &std::path::PathBuf| Value::from(folder.path(&path.to_string_lossy()).replace('$', "$$"));
    text.table(&["prepare"]);
    if let Some(extract) = &args.osm {
        text.entry("osm", inline([("extract", path(extract))]));
    }
    if !args.sql.is_empty() {
        text.entry("sql", Value::Array(args.sql.iter().map(path).collect()));
    }
}

/// Options of the workload that are not as they always are.
fn chosen(args: &Which, folder: &Folder) -> Vec<(&'static str, Value)> {
    let trace = args.trace.as_ref().map(|path| Value::from(folder.path(&path.to_string_lossy())));
    let picker = match trace {
        Some(trace) => Some(inline([("trace", trace)])),
        None => args.picker.as_deref().map(Value::from),
    };
    let flag = |wanted: bool| wanted.then_some(Value::Boolean(true));
    let found = [
        ("zooms", args.zooms.clone()),
        ("picker", picker),
        ("pick_from", args.pick_from.as_deref().map(Value::from)),
        ("bounds", args.bounds.map(|bounds| Value::from(bounds.to_vec()))),
        ("tiles_per_zoom", args.tiles.map(|tiles| Value::Integer(tiles.into()))),
        ("min_pixels", args.min_pixels.map(Value::Float)),
        ("variant", args.variant.as_deref().map(Value::from)),
        ("via", args.via.as_ref().map(ways::value)),
        ("together", flag(args.together)),
        ("may_be_empty", flag(args.may_be_empty)),
    ];
    found.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}

/// `[load]` and `[measure]`; arms share the length of a round.
fn measured(args: &TilesArgs, arms: usize, is_explained: bool) -> anyhow::Result<String> {
    let Load { jobs, duration, warmup, rounds, rate, latency_limit, .. } = &args.load;
    let mut text = TomlText::default();
    if rate.is_some() || latency_limit.is_some() {
        text.table(&["load"]);
    }
    if let Some(rate) = rate {
        // A number is written as one; what it may be is told where the file is read.
        text.entry("rate", rate.parse::<f64>().map_or_else(|_| rate.as_str().into(), Value::from));
    }
    if let Some(limit) = latency_limit {
        text.entry("promise", format!("{limit}ms"));
    }
    text.table(&["measure"]);
    text.entry("warmup", seconds(*warmup));
    text.entry("duration", seconds(*duration as f64 / arms as f64));
    let always = if arms > 1 { ROUNDS_COMPARED } else { ROUNDS };
    text.entry("rounds", Value::Integer(rounds.unwrap_or(always).into()));
    if let Some(slices) = args.arms.slices.as_ref().filter(|slices| slices.text != "auto") {
        text.entry("slices", scalar(&slices.text));
    }
    if arms == 1 && is_explained {
        // Where the time goes is asked where nothing is compared, too.
        text.entry("explain", true);
    }
    if *jobs != 1 {
        text.entry("threads", Value::Integer((*jobs).into()));
    }
    Ok(text.into_text())
}

/// Has a private server let in all connections of many clients. Settings that are compared are left as they are.
fn room(args: &TilesArgs, server: &Server, ways: &Ways, change: Option<&Change>) -> String {
    let of_sessions = args.tiles.picker.as_deref() == Some("sessions");
    let connections = ways.connections(args.load.clients, if of_sessions { LINKS } else { 1 });
    let mut text = TomlText::default();
    if server.is_managed() && connections > ROOM && !matches!(change, Some(Change::Settings(_))) {
        text.table(&["settings", "room"]);
        text.entry("max_connections", Value::Integer(i64::from(connections) + 10));
    }
    text.into_text()
}
