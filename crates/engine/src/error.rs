//! Why a run of the engine could not start or go on.

use std::io;
use std::path::PathBuf;

use spec::{Class, Error, advice_on_sqlstate};

use crate::client::{Abort, Time};

/// A run that could not start or continue; failures of single transactions are counted instead.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("cannot run this plan: {0}")]
    Plan(String),
    #[error(
        "client {client}: socket path {path:?} is longer than the {limit} bytes a Unix-domain socket may have; use a shorter folder"
    )]
    SocketPath {
        client: usize,
        path: PathBuf,
        /// Longest path allowed here, bytes.
        limit: usize,
    },
    #[error(
        "load threads cannot be kept on CPU {cpu}: this process may use {}; see taskset, or the container's cpuset",
        numbers(allowed)
    )]
    Cpu { cpu: usize, allowed: Vec<usize> },
    #[error(
        "{needed} open files are needed and the hard limit is {allowed}; raise it (ulimit -Hn) or use fewer clients"
    )]
    OpenFiles { needed: u64, allowed: u64 },
    #[error("client {}: {_0}", .0.client)]
    Setup(Abort),
    /// A client was not ready within the time given for connecting.
    #[error("client {client} was not ready after {:.1} s: {doing}; check the address and the server's load, or allow more time", *waited as f64 / 1e9)]
    SetupTimeout {
        client: usize,
        /// How long the run waited for it, ns.
        waited: Time,
        /// What the client's links were doing.
        doing: String,
    },
    #[error("the requested driver io_uring is not available: {why}; use the portable one")]
    Driver { why: String },
    /// The system refused something the engine needs to move bytes.
    #[error("cannot {what}: {source}")]
    System { what: &'static str, source: io::Error },
}

fn numbers(cpus: &[usize]) -> String {
    cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl EngineError {
    /// The exit class of the error.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Plan(_) | Self::Cpu { .. } | Self::SocketPath { .. } => Class::Usage,
            Self::OpenFiles { .. } | Self::Driver { .. } | Self::System { .. } => Class::Missing,
            Self::Setup(_) => Class::Refused,
            Self::SetupTimeout { .. } => Class::Unreachable,
        }
    }

    /// Adds to a system error what was attempted.
    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what, source }
    }
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        let hint = match &error {
            EngineError::Setup(abort) => abort.code.as_deref().map_or("", advice_on_sqlstate),
            _ => "",
        };
        Self::new(error.class(), error.to_string()).with_hint(hint).because(error)
    }
}
