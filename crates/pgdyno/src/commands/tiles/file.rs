//! Turns the command line into an experiment.

use spec::experiment::{BoundedDuration, Compare, Experiment, LengthOrBounds, Measure, Share, Whole};
use spec::plan::WorkMetric;
use toml::{Table, Value};

use super::against::{Against, listed};
use super::args::{TilesArgs, TilesLoadArgs, Where, Which};
use super::layers::Layers;
use super::once;
use super::trace;
use super::ways::{self, Ways};
use crate::commands::bench::against::base::{BaseServer, Folder, plain};
use crate::commands::bench::against::file::{can_be_changed, of_change, other_server, targets};
use crate::commands::bench::against::kind::AgainstChange;
use crate::commands::bench::against::made::MadeExperiment;
use crate::commands::bench::against::parts::{make_room, seed};
use crate::commands::bench::against::usage;
use crate::commands::bench::against::values::{flag, rate, toml_table};
use crate::options::WrittenSlices;

/// Rounds without a comparison: enough for a spread.
const ROUNDS: u32 = 3;
const ROUNDS_COMPARED: u32 = 12;
/// Seconds of a round.
const DURATION_S: u64 = 10;
/// Connections per user in sessions, as in the workload.
const LINKS: u32 = 6;

/// The experiment of a `tiles` command.
pub(super) fn made(args: &TilesArgs, against: &Against, folder: &Folder) -> anyhow::Result<MadeExperiment> {
    let compare = args.arms.compare();
    let (others, change, ways) = match against {
        Against::Layers(others) => (&others[..], None, &[][..]),
        Against::Change(change) => (&[][..], Some(change), &[][..]),
        Against::Ways(ways) => (&[][..], None, &ways[..]),
    };
    let ways = Ways::new(args.tiles.via.as_ref(), ways)?;
    if !args.tiles.empty_status.is_empty() && !ways.asks_web() {
        return Err(usage(
            "--empty-status is for web servers, and tiles come from the database",
            "give --via URL",
        ));
    }
    let server = ways.with_redis(server(&args.server)?)?;
    let base = args.layers.iter().map(|layers| listed(layers)).collect::<anyhow::Result<Vec<_>>>()?.concat();
    // A tile is asked for once, with all layers in it.
    let together = args.tiles.together || args.tiles.once && base.len() > 1;
    let layers = Layers::read(&base, others, together, folder)?;
    let name = if ways.is_compared() { "tiles".to_owned() } else { layers.name() };
    let other = change.map(|change| other_server(change, &server)).transpose()?.flatten();
    let servers: Vec<&BaseServer> = [Some(&server), other.as_ref()].into_iter().flatten().collect();
    let mut made = MadeExperiment::new("", super::SAVED_BY, &servers);
    made.origins.add(&["prepare", "sql"], "--sql");
    let mut sides = None;
    if let Some(change) = change {
        can_be_changed(&compare, change, &server, false)?;
        let of = layers.in_words() + &ways.in_words();
        sides = Some(of_change(change, &compare, (&of, None), &mut made)?);
    } else if compare.undo.is_some() || compare.change_server {
        let what = "--undo and --change-server are for settings and SQL, and something else is compared";
        return Err(usage(what, "leave them out"));
    }
    let asked =
        sides.as_ref().map(|sides| sides.question(&|base, other| format!("Are {other} faster than {base}?")));
    let asked = asked.or_else(|| ways.question(&layers).filter(|_| others.is_empty()));
    let short = layers.short() + &ways.short();
    let short = sides.as_ref().map_or_else(|| short.clone(), |sides| format!("{short} {}", sides.short));
    made.name = plain(&short).replace(' ', "-");
    let experiment = &mut made.experiment;
    let alone = || match args.tiles.once {
        true => format!("How long do all {} take, each once?", layers.in_words()),
        false => layers.question(),
    };
    experiment.question =
        Some(asked.filter(|_| !args.tiles.once || !args.arms.against.is_empty()).unwrap_or_else(alone));
    experiment.seed = seed(args.load.random_seed.as_deref())?;
    targets(experiment, &server, other.as_ref(), compare.change_server, &ways.tile_servers());
    experiment.prepare = prepared(&args.server, folder);
    let picker = trace::picker(&args.tiles, folder)?;
    let once = once::options(args, folder)?;
    let options = toml_table(
        [layers.entry()]
            .map(|(key, value)| (key, Some(value)))
            .into_iter()
            .chain(chosen(&args.tiles, picker, together))
            .chain([("once", once)]),
    );
    if args.tiles.trace.is_some() {
        made.origins.add(&["workload", &name, "tiles", "picker"], "--trace");
    }
    experiment.workload.insert(&name, toml_table([("tiles", Some(options.into()))]).into());
    if !args.tiles.once {
        experiment.factors.insert("clients".to_owned(), [i64::from(args.load.clients)].into_iter().collect());
    }
    let of_layers = layers.levels().map(|levels| (levels.key, levels.base, levels.all));
    let of_ways = ways.levels().map(|(base, all)| ("via", base, all));
    let arms = match (sides, of_layers.or(of_ways)) {
        (Some(sides), _) => {
            let arms = sides.levels.len().max(2);
            sides.compare(experiment, compare.margin);
            arms
        }
        (None, Some((option, base, levels))) => {
            let factor = format!("{name}.{option}");
            made.origins.add(&["factors", &factor], "--against");
            compare_levels(experiment, factor, (base, levels), compare.margin)
        }
        (None, None) => 1,
    };
    if let Some(compared) = &mut experiment.compare {
        compared.metric = args.arms.metric.map(WorkMetric::from);
    }
    measured(args, arms, ways.is_explained(), experiment);
    let of_sessions = args.tiles.picker.as_deref() == Some("sessions");
    let connections = ways.connections(args.load.clients, if of_sessions { LINKS } else { 1 });
    // Do not change settings that are compared.
    if !matches!(change, Some(AgainstChange::Settings(_))) {
        make_room(experiment, connections);
    }
    Ok(made)
}

/// Compares the levels of a factor with the first one; returns their number.
fn compare_levels(
    experiment: &mut Experiment,
    factor: String,
    (base, levels): (Value, Vec<Value>),
    margin: Option<f64>,
) -> usize {
    let arms = levels.len();
    experiment.factors.insert(factor.clone(), levels.into_iter().collect());
    let margin = margin.map(Share::percent);
    experiment.compare =
        Some(Compare { factor, base, margin, metric: None, looks: None, take_apart: None, same: false });
    arms
}

/// A private server with PostGIS, unless another is named.
fn server(args: &Where) -> anyhow::Result<BaseServer> {
    let given = args.given();
    let is_given = given.iter().any(Option::is_some);
    let managed = args.managed.as_deref().or((!is_given).then_some("default"));
    let server = match BaseServer::given(given, managed)? {
        BaseServer::Managed { name, redis, .. } => {
            BaseServer::Managed { name, extensions: &["postgis"], redis }
        }
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

fn prepared(args: &Where, folder: &Folder) -> Table {
    let extract =
        args.osm.as_ref().map(|extract| toml_table([("extract", Some(folder.value(extract)))]).into());
    let files: Vec<Value> = args.sql.iter().map(|path| folder.value(path)).collect();
    toml_table([("osm", extract), ("sql", (!files.is_empty()).then_some(Value::Array(files)))])
}

fn chosen(args: &Which, picker: Option<Value>, together: bool) -> [(&'static str, Option<Value>); 12] {
    let columns = args.columns.as_ref().map(|columns| columns.iter().map(|name| Value::from(name.as_str())));
    [
        ("zooms", args.zooms.clone()),
        ("picker", picker),
        ("pick_from", args.pick_from.as_deref().map(Value::from)),
        ("columns", columns.map(|names| Value::Array(names.collect()))),
        ("bounds", args.bounds.map(|bounds| Value::from(bounds.to_vec()))),
        ("tiles_per_zoom", args.tiles.map(|tiles| Value::Integer(tiles.into()))),
        ("min_pixels", args.min_pixels.map(Value::Float)),
        ("variant", args.variant.as_deref().map(Value::from)),
        ("via", args.via.as_ref().map(ways::value)),
        ("empty_status", (!args.empty_status.is_empty()).then(|| statuses(&args.empty_status))),
        ("together", flag(together)),
        ("may_be_empty", flag(args.may_be_empty)),
    ]
}

fn statuses(given: &[u16]) -> Value {
    Value::Array(given.iter().map(|status| Value::Integer((*status).into())).collect())
}

/// Load and length; arms share the length of a round.
fn measured(args: &TilesArgs, arms: usize, is_explained: bool, experiment: &mut Experiment) {
    let TilesLoadArgs { jobs, duration, warmup, rounds, rate: offered, latency_limit, .. } = &args.load;
    let check_time = args.load.check_time.map(|time| BoundedDuration::seconds(time.as_secs_f64()));
    experiment.load.rate = offered.as_deref().map(rate);
    experiment.load.promise = latency_limit.map(|limit_ms| BoundedDuration::seconds(limit_ms / 1e3));
    if args.tiles.once {
        let usual = if arms > 1 { once::ROUNDS_COMPARED } else { 1 };
        experiment.measure = Measure {
            rounds: Some(Whole::new(rounds.unwrap_or(usual))),
            // A second pass would find the file filled.
            repeat_disturbed: args.tiles.mbtiles.is_some().then(|| Whole::new(0_u32)),
            check_time,
            ..Measure::default()
        };
        return;
    }
    let usual = if arms > 1 { ROUNDS_COMPARED } else { ROUNDS };
    experiment.measure = Measure {
        warmup: Some(BoundedDuration::seconds(*warmup)),
        duration: Some(LengthOrBounds::Fixed(BoundedDuration::seconds(
            duration.unwrap_or(DURATION_S) as f64 / arms as f64,
        ))),
        rounds: Some(Whole::new(rounds.unwrap_or(usual))),
        slices: args.arms.slices.as_ref().and_then(WrittenSlices::value),
        // Explain statements even without a comparison.
        explain: (arms == 1 && is_explained).then_some(true),
        check_time,
        threads: (*jobs != 1).then(|| Whole::new(*jobs)),
        ..Measure::default()
    };
}
