//! Which kind of error each part's errors are. Their texts already say what happened, where, and what to try.

use std::io;

use engine::EngineError;
use protocol::postgres::sql::SqlError;
use results::StoreError;
use workloads::WorkloadError;

use crate::error::{Class, LabError};
use crate::measure::NotStarted;
use target::TargetError;
use target::change::ChangeError;
use target::child::{AccountError, ChildError};
use target::control::ConnectError;
use target::home::PlaceError;
use target::managed::{FindError, ManagedError};
use target::page_cache::PageCacheError;
use target::placement::PlacementError;
use target::pooler::PoolerError;
use target::redis::RedisError;
use target::settings::SettingsError;
use target::settings::journal::{LeftBy, RecoverError};
use target::sink::SinkError;
use target::storage::StorageError;
use target::tile_server::TileServerError;

/// Errors that have a class.
trait Classified: std::error::Error {
    fn class(&self) -> Class;

    /// What the server said against a statement, where that is what it is about.
    fn sqlstate(&self) -> Option<&str> {
        None
    }
}

/// What to try about an error of the server, by its SQLSTATE; empty where its own words must do.
pub(crate) fn advice(sqlstate: &str) -> &'static str {
    match sqlstate {
        "42501" => {
            "connect as a role that may do it: the owner of the object, or one that the owner lets (GRANT)"
        }
        "42P01" | "3F000" => "make it, or see who dropped it; the search_path may also be another one",
        "42703" | "42883" | "42704" => "see whether the script and the database belong together",
        "25006" => "the server or session is read-only: connect to the primary",
        "53100" => "make room on the server's disk",
        "53300" => {
            "use fewer clients, or raise what lets in so few: max_connections, or CONNECTION LIMIT of the role or database"
        }
        "57014" => "the server cancelled it: look at statement_timeout and who else is there",
        "57P01" | "57P02" | "57P03" | "57P05" => "see in the server's log why it ended sessions",
        _ => "",
    }
}

/// Which kind of error one of settings or changes is.
pub(crate) fn class_of(error: &SettingsError) -> Class {
    error.class()
}

macro_rules! lab_error_from {
    ($($error:ty),*) => {
        $(impl From<$error> for LabError {
            fn from(error: $error) -> Self {
                let hint = error.sqlstate().map_or("", advice);
                Self::caused(error.class(), hint, error)
            }
        })*
    };
}

lab_error_from!(
    AccountError,
    ChangeError,
    ChildError,
    ConnectError,
    EngineError,
    FindError,
    ManagedError,
    PageCacheError,
    PlaceError,
    PlacementError,
    PoolerError,
    RecoverError,
    RedisError,
    SinkError,
    SettingsError,
    SqlError,
    StoreError,
    TargetError,
    TileServerError,
    WorkloadError
);

fn of_io(error: &io::Error) -> Class {
    match error.kind() {
        io::ErrorKind::NotFound => Class::Missing,
        _ => Class::Io,
    }
}

impl Classified for SqlError {
    fn class(&self) -> Class {
        // Classes of SQLSTATE, PostgreSQL's appendix A.
        match self.sqlstate.as_deref() {
            None => Class::Unreachable,
            Some("53100") => Class::Io,
            Some("53300") => Class::Refused,
            Some("57P01" | "57P02" | "57P03" | "57P05") => Class::Unreachable,
            Some("42501" | "42P01" | "42883" | "42704" | "3F000" | "3D000" | "58P01" | "0A000") => {
                Class::Missing
            }
            Some(state) if state.starts_with("28") => Class::Refused,
            Some(state) if state.starts_with("08") => Class::Unreachable,
            Some(state) if state.starts_with("58") => Class::Io,
            Some(_) => Class::BadInput,
        }
    }

    fn sqlstate(&self) -> Option<&str> {
        self.sqlstate.as_deref()
    }
}

impl Classified for ConnectError {
    fn class(&self) -> Class {
        match self {
            Self::UnknownHost { .. }
            | Self::Refused { .. }
            | Self::TimedOut { .. }
            | Self::NotReady { .. }
            | Self::NoSuitableServer { .. }
            | Self::Io { .. } => Class::Unreachable,
            Self::Description(_) => Class::Usage,
            Self::StartupParameter { .. } => Class::Missing,
            Self::Stopped => Class::Interrupted,
            _ => Class::Refused,
        }
    }
}

impl Classified for AccountError {
    fn class(&self) -> Class {
        Class::Missing
    }
}

impl Classified for FindError {
    fn class(&self) -> Class {
        Class::Missing
    }
}

impl Classified for ChildError {
    fn class(&self) -> Class {
        match self {
            Self::Start { .. } => Class::Missing,
            _ => Class::Child,
        }
    }
}

impl Classified for PlaceError {
    fn class(&self) -> Class {
        Class::Io
    }
}

impl Classified for ManagedError {
    fn class(&self) -> Class {
        match self {
            Self::Place(error) => error.class(),
            Self::Account(error) => error.class(),
            Self::Find(error) => error.class(),
            Self::Child(error) => error.class(),
            Self::Connect(error) => error.class(),
            Self::Sql { error, .. } => error.class(),
            Self::Name(_)
            | Self::NotFound(_)
            | Self::NotOurs(_)
            | Self::OtherVersion { .. }
            | Self::Elsewhere { .. }
            | Self::DetachedOnMade => Class::Usage,
            Self::StandGone { .. } => Class::Missing,
            Self::Storage(error) => error.class(),
            Self::InUse { .. } => Class::Refused,
            Self::DiskFull { .. } | Self::StorageFull { .. } | Self::StandLost { .. } => Class::Io,
            Self::Init { .. } | Self::Start { .. } | Self::WouldNotStop(_) | Self::NotClean(_) => {
                Class::Child
            }
            Self::Died { .. } => Class::Unreachable,
            Self::MissingExtension { .. } | Self::NoTls(_) => Class::Missing,
            Self::File { source, .. } => of_io(source),
            Self::Stopped => Class::Interrupted,
        }
    }

    fn sqlstate(&self) -> Option<&str> {
        match self {
            Self::Sql { error, .. } => error.sqlstate(),
            _ => None,
        }
    }
}

impl Classified for StorageError {
    fn class(&self) -> Class {
        match self {
            Self::Unavailable(_) => Class::Missing,
            Self::Place(error) => error.class(),
            Self::Tool { .. } | Self::Slow { .. } | Self::Kept(_) | Self::Keeper { .. } => Class::Child,
            Self::File { source, .. } => of_io(source),
            Self::NotRemoved { .. } => Class::Io,
            Self::Stopped => Class::Interrupted,
        }
    }
}

impl Classified for SinkError {
    fn class(&self) -> Class {
        Class::Child
    }
}

impl Classified for RedisError {
    fn class(&self) -> Class {
        match self {
            Self::NotInstalled => Class::Missing,
            Self::Place(error) => error.class(),
            Self::Account(error) => error.class(),
            Self::Child(error) => error.class(),
            Self::Start(_) => Class::Child,
            Self::Died { .. } => Class::Unreachable,
            Self::File { source, .. } => of_io(source),
            Self::Stopped => Class::Interrupted,
        }
    }
}

impl Classified for TileServerError {
    fn class(&self) -> Class {
        match self {
            Self::NotInstalled { .. } | Self::Unfit { .. } | Self::NotServed { .. } => Class::Missing,
            Self::Option(_) => Class::BadInput,
            Self::Upstream { .. } => Class::Missing,
            Self::Place(error) => error.class(),
            Self::Account(error) => error.class(),
            Self::Child(error) => error.class(),
            Self::Start { .. } | Self::NoPort(_) => Class::Child,
            Self::Failing { .. } | Self::Died { .. } => Class::Unreachable,
            Self::File { source, .. } => of_io(source),
            Self::Stopped => Class::Interrupted,
        }
    }
}

impl Classified for SettingsError {
    fn class(&self) -> Class {
        match self {
            Self::Value { .. }
            | Self::Unknown { .. }
            | Self::Fixed { .. }
            | Self::Reserved { .. }
            | Self::Impossible { .. }
            | Self::Contradiction { .. } => Class::BadInput,
            Self::Refused { .. } | Self::NotApplied(_) => Class::Guard,
            Self::NeedsServerChange(_)
            | Self::Pooled(_)
            | Self::NeedsRestart(_)
            | Self::FormerUnknown(_)
            | Self::NoRight { .. } => Class::Missing,
            Self::Journal { .. } => Class::Io,
            Self::NoGuard(_) => Class::Child,
            Self::AlreadyChanged(left) => match left.by {
                LeftBy::Living(_) => Class::Refused,
                LeftBy::Killed | LeftBy::Unknown(_) => Class::Guard,
            },
            Self::NotPutBack(_) => Class::Guard,
            Self::Place(error) => error.class(),
            Self::Change(error) => error.class(),
            Self::Sql { error, .. } => error.class(),
            Self::Managed(error) => error.class(),
            Self::Connect(error) => error.class(),
        }
    }

    fn sqlstate(&self) -> Option<&str> {
        match self {
            Self::Sql { error, .. } | Self::FormerUnknown(error) => error.sqlstate(),
            Self::Managed(error) => error.sqlstate(),
            Self::Change(error) => error.sqlstate(),
            _ => None,
        }
    }
}

impl Classified for ChangeError {
    fn class(&self) -> Class {
        match self {
            Self::NoUndo { .. }
            | Self::NoDo
            | Self::Empty(_)
            | Self::ManyChecks
            | Self::OpenTransaction { .. } => Class::BadInput,
            Self::NotAllowed { .. } => Class::Missing,
            Self::Sql { error, .. } => error.class(),
            Self::NotTrue { .. } | Self::Busy { .. } | Self::Alive { .. } => Class::Guard,
            Self::Failed { .. } | Self::TooLong { .. } => Class::Child,
            Self::Stopped { .. } => Class::Interrupted,
            Self::Connect(error) => error.class(),
            Self::Child(error) => error.class(),
            Self::Account(error) => error.class(),
            Self::Folder { .. } => Class::Io,
            Self::NotUndone { error, .. } => error.class(),
        }
    }

    fn sqlstate(&self) -> Option<&str> {
        match self {
            Self::Sql { error, .. } => error.sqlstate(),
            Self::NotUndone { error, .. } => error.sqlstate(),
            _ => None,
        }
    }
}

impl Classified for PoolerError {
    fn class(&self) -> Class {
        match self {
            Self::NotInstalled => Class::Missing,
            Self::Option(_) => Class::BadInput,
            Self::NotCarried(_) | Self::Upstream(_) => Class::Missing,
            Self::Place(error) => error.class(),
            Self::Account(error) => error.class(),
            Self::Child(error) => error.class(),
            Self::Start(_) => Class::Child,
            Self::Connect { .. } | Self::Died { .. } => Class::Unreachable,
            Self::Settings(_) | Self::NotApplied(_) => Class::Guard,
            Self::File { source, .. } => of_io(source),
            Self::Stopped => Class::Interrupted,
        }
    }
}

impl Classified for PlacementError {
    fn class(&self) -> Class {
        match self {
            Self::Text(_) | Self::NotAllowed { .. } => Class::Usage,
            Self::NotHere
            | Self::Unknown(_)
            | Self::Refused { .. }
            | Self::Moved { .. }
            | Self::Asleep(_) => Class::Missing,
            Self::Gone(_) => Class::Unreachable,
            Self::Keeper(_) => Class::Child,
        }
    }
}

impl Classified for PageCacheError {
    fn class(&self) -> Class {
        match self {
            Self::Kept(_) => Class::Missing,
            Self::File { source, .. } => of_io(source),
            Self::Stopped => Class::Interrupted,
        }
    }
}

impl Classified for RecoverError {
    fn class(&self) -> Class {
        match self {
            Self::Connect(error) => error.class(),
            Self::ConnInfo(_) => Class::Usage,
            Self::OtherServer { .. } => Class::Unreachable,
            Self::Identity(error) => error.class(),
            Self::Settings(error) => error.class(),
            Self::Change { error, .. } => match error.class() {
                class @ (Class::Unreachable | Class::Refused | Class::Interrupted) => class,
                // Whatever the server said against it, it is not undone.
                _ => Class::Guard,
            },
            Self::Unreadable { .. } => Class::BadInput,
            Self::Close(_) => Class::Io,
        }
    }
}

impl Classified for TargetError {
    fn class(&self) -> Class {
        match self {
            Self::Managed(error) => error.class(),
            Self::Connect(error) | Self::AwayAndChanged { error, .. } => error.class(),
            Self::ConnInfo(_) => Class::Usage,
            Self::Settings(error) => error.class(),
            Self::Place(error) => error.class(),
            Self::Account(error) => error.class(),
            Self::Sql { error, .. } => error.class(),
            Self::NoExtension { .. } | Self::NotAvailable(_) | Self::NotPooled(_) => Class::Missing,
        }
    }

    fn sqlstate(&self) -> Option<&str> {
        match self {
            Self::Sql { error, .. } => error.sqlstate(),
            Self::Managed(error) => error.sqlstate(),
            Self::Settings(error) => error.sqlstate(),
            _ => None,
        }
    }
}

impl Classified for WorkloadError {
    fn class(&self) -> Class {
        match self {
            Self::Sql { error, .. } => error.class(),
            Self::Missing { .. } | Self::NoServer { .. } => Class::Missing,
            Self::WrongSrid { .. } | Self::RedisFull { .. } | Self::HttpAnswer { .. } => Class::Guard,
            Self::Program { .. } => Class::Child,
            Self::Redis { .. } | Self::Http { .. } => Class::Unreachable,
            _ => Class::BadInput,
        }
    }

    fn sqlstate(&self) -> Option<&str> {
        match self {
            Self::Sql { error, .. } => error.sqlstate(),
            Self::FirstExecution { sqlstate, .. } => sqlstate.as_deref(),
            _ => None,
        }
    }
}

impl Classified for EngineError {
    fn class(&self) -> Class {
        match self {
            Self::Plan(_) | Self::Cpu { .. } | Self::SocketPath { .. } => Class::Usage,
            Self::OpenFiles { .. } | Self::Driver { .. } | Self::System { .. } => Class::Missing,
            Self::Setup(_) => Class::Refused,
            Self::SetupTimeout { .. } => Class::Unreachable,
        }
    }

    fn sqlstate(&self) -> Option<&str> {
        match self {
            Self::Setup(abort) => abort.code.as_deref(),
            _ => None,
        }
    }
}

impl Classified for StoreError {
    fn class(&self) -> Class {
        match self {
            Self::Absent { .. }
            | Self::NotResults { .. }
            | Self::Newer { .. }
            | Self::Earlier { .. }
            | Self::TooOld { .. }
            | Self::Addition { .. }
            | Self::Damaged { .. } => Class::BadInput,
            Self::Query { .. } | Self::TooMuch { .. } | Self::NoExperiment { .. } => Class::Usage,
            Self::InUse { .. } => Class::Refused,
            Self::Full { .. } | Self::Locked { .. } | Self::Unusable { .. } => Class::Io,
        }
    }
}

impl From<NotStarted> for LabError {
    fn from(error: NotStarted) -> Self {
        match error {
            NotStarted::Workload(error) => error.into(),
            NotStarted::Results(error) => error.into(),
            NotStarted::Engine(error) => error.into(),
            NotStarted::TooShort(error) => Self::failed(
                Class::BadInput,
                error.to_string(),
                "a longer `slices`, or none: then pgdyno chooses",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// They were flattened to texts.
    #[test]
    fn errors_keep_their_sources() {
        let said = SqlError { sqlstate: Some("42P01".to_owned()), text: "ERROR:  any words".into() };
        let settings = SettingsError::Sql { doing: "looking", error: said.clone() };
        let error = LabError::from(TargetError::Settings(settings)).told_as("in other words".to_owned());
        let chain = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
        let first = chain.last().and_then(|first| first.downcast_ref::<SqlError>());
        assert_eq!(first, Some(&said));
        assert_eq!((error.to_string().as_str(), error.class()), ("in other words", Class::Missing));
    }

    /// "permission denied" came with the advice to make pgbench's tables.
    #[test]
    fn advice_goes_by_what_the_server_said() {
        let refused = |state: &str| {
            let error = SqlError { sqlstate: Some(state.to_owned()), text: "ERROR:  any words".into() };
            LabError::from(WorkloadError::Sql { doing: "looking".into(), error }).hint().unwrap_or_default()
        };
        assert!(refused("42501").contains("GRANT"), "{}", refused("42501"));
        assert!(refused("42P01").contains("dropped"));
        assert!(!refused("42501").contains("bench -i"));
        assert_eq!(refused("XX000"), "");
    }
}
