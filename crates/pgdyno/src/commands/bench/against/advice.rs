//! Rewords the library's advice about files as advice about options.

use std::error::Error as _;

use lab::runner::FailedChange;
use spec::Error;

/// Names the option instead of the key of a file.
pub(in crate::commands) fn of_options(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<Error>() {
        Ok(error) if error.attached::<FailedChange>().is_some() => {
            anyhow::Error::from(error).context("--against 'sql: …'")
        }
        Ok(error) => reworded(error).into(),
        Err(other) => other,
    }
}

/// Rewords an error. A cause that mentions a file becomes part of the text.
fn reworded(error: Error) -> Error {
    let (what, hint) = (error.to_string(), error.hint().map(own).unwrap_or_default());
    let cause = error.source().map(ToString::to_string).filter(|_| own(&what) == what);
    let what = match cause {
        Some(cause) if own(&cause) != cause => format!("{what}: {}", own(&cause)),
        None if own(&what) != what => own(&what),
        _ => return error.with_hint(hint),
    };
    Error::new(error.class(), what).with_hint(hint)
}

/// The library's advice, and the advice for options.
const ADVICE: [(&str, &str); 16] = [
    ("write change_server = true into [target]", "give --change-server"),
    ("use a managed target, or set it there by hand for all arms", "use --managed, or set it there by hand"),
    ("make [measure] duration at least as long", "make -T at least as long"),
    (
        "name a table with pick_from = \"table\", or give a trace, or picker = \"uniform\" with bounds",
        "name a table with --pick-from, or give --trace FILE, or --picker uniform with --bounds",
    ),
    (
        "load an extract with prepare.osm or pgdyno osm load, or correct tiles.table",
        "load an extract with --osm FILE or pgdyno osm load, or correct the name",
    ),
    ("() in tiles.layers", "()"),
    ("make it in prepare.sql, or name its schema", "make it by --sql FILE, or name its schema"),
    ("or try min_pixels = 0, or other bounds", "or try --min-pixels 0, or other --bounds"),
    ("write replicas = 1 in [target], or list replicas = [0, 1] in [factors]", "give --replicas 1"),
    ("write replicas = 1 in [target], or in [factors]", "give --replicas 1"),
    ("add replicas = 1, or leave it out", "give --replicas 1, or leave it out"),
    (
        "must be a list of URLs where the server is given by URL",
        "must be the address of a replica, since the server is given by its address",
    ),
    ("write replicas = [\"postgres://…\"]", "give --replicas postgres://…"),
    ("name them in its table: replicas = [\"postgres://…\"]", "name each: --replicas postgres://…"),
    ("send it to the primary: target = \"primary\"", "send it to the primary: --target primary"),
    ("leave it out, and write a duration", "leave it out, and give -T 60"),
];

pub(in crate::commands) fn own(text: &str) -> String {
    ADVICE.iter().fold(text.to_owned(), |text, (there, here)| text.replace(there, here))
}
