//! Advice that is for a file elsewhere, and for options here.

use std::error::Error as _;

use lab::LabError;
use spec::Error;

/// What is to be written into a file elsewhere is an option here.
pub(in crate::commands) fn of_options(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<LabError>() {
        Ok(LabError::Failed(error)) => LabError::from(reworded(error)).into(),
        Ok(LabError::OwnChange(error)) => {
            anyhow::Error::from(LabError::OwnChange(error)).context("--against 'sql: …'")
        }
        Ok(other) => other.into(),
        Err(other) => other,
    }
}

/// The same error in words of options. A cause that speaks of a file becomes part of the text.
fn reworded(error: Error) -> Error {
    let (what, hint) = (error.to_string(), error.hint().map(own).unwrap_or_default());
    let cause = error.source().map(ToString::to_string).filter(|_| own(&what) == what);
    let what = match cause {
        Some(cause) if own(&cause) == cause => return error.with_hint(hint),
        Some(cause) => format!("{what}: {}", own(&cause)),
        None => own(&what),
    };
    Error::new(error.class(), what).with_hint(hint)
}

/// What advice for a file says, and what it is here.
const ADVICE: [(&str, &str); 8] = [
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
];

pub(super) fn own(text: &str) -> String {
    ADVICE.iter().fold(text.to_owned(), |text, (there, here)| text.replace(there, here))
}
