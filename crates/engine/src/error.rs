//! Why a run of the engine could not start or go on; failures of single transactions are counted instead.

use std::io;

use spec::{Class, Error};

use crate::client::Abort;

/// Attached to the error of a run whose clients could not all connect: fewer may.
#[derive(Debug)]
pub enum NotConnected {
    Refused(Abort),
    /// A client was not ready within the time given for connecting.
    TooSlow,
    /// The hard limit of open files is too low.
    OpenFiles,
}

/// A plan that cannot be run.
pub(crate) fn plan(why: impl AsRef<str>) -> Error {
    Error::new(Class::Usage, format!("cannot run this plan: {}", why.as_ref()))
}

/// The system refused something that the engine needs.
pub(crate) fn system<E: Into<io::Error>>(what: &str) -> impl FnOnce(E) -> Error {
    move |error| {
        let error = error.into();
        Error::new(Class::Missing, format!("cannot {what}: {error}")).because(error)
    }
}

/// A client gave up before the load.
pub(crate) fn refused(abort: Abort) -> Error {
    Error::of_server(abort.code.as_deref(), format!("client {}: {abort}", abort.client))
        .with_class(Class::Refused)
        .attach(NotConnected::Refused(abort))
}
