//! Detects a pooler that shares server connections among clients.

use std::time::{Duration, Instant};

use protocol::postgres::frontend;
use protocol::postgres::sql::{Sql, SqlError, quote_literal};

use super::stall_watch::QueryLength;
use super::{Control, Timeouts};

/// How long a second connection may wait for a server connection.
const WAIT: Duration = Duration::from_secs(2);
/// Which of two connections asks next. With this order no pooler's assignment of server connections keeps two
/// clients apart.
const TURNS: [usize; 7] = [1, 0, 0, 1, 1, 0, 1];

/// How server connections are shared among clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pooling {
    /// Not shared, as far as known: each client has a separate server process.
    #[default]
    None,
    /// A client keeps its server connection until it disconnects.
    Session,
    /// A client has a server connection for a transaction. The next client gets it with the session's
    /// settings, prepared statements and locks.
    Transaction,
    /// A client has a server connection for a statement, and may not begin a transaction.
    Statement,
}

impl Pooling {
    /// Whether a client gets a server connection from another one while both are connected.
    #[must_use]
    pub fn is_shared(self) -> bool {
        matches!(self, Self::Transaction | Self::Statement)
    }

    /// Whether an error says that the pooler closes connections that begin a transaction.
    #[must_use]
    pub fn refuses_transactions(error: &SqlError) -> bool {
        // PgBouncer's text; it has no code.
        error.text.contains("statement pooling mode")
    }

    /// The kind of pooler in words; `None` without one.
    #[must_use]
    pub fn words(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Session => Some("a session pooler: each client keeps a server connection until it leaves"),
            Self::Transaction => Some(
                "a transaction pooler: clients share server connections, and have one for a transaction at a time",
            ),
            Self::Statement => Some(
                "a statement pooler: clients share server connections, have one for a statement at a time, and may not begin a \
                 transaction",
            ),
        }
    }
}

impl Control {
    /// Whether the server process announced at login serves this connection. A pooler announces another one.
    pub fn is_direct(&mut self) -> Result<bool, SqlError> {
        Ok(self.own_process()?.is_some())
    }

    /// How server connections are shared where this one leads. Opens a second connection, unless this one is
    /// direct.
    pub fn pooling(&mut self) -> Result<Pooling, SqlError> {
        if self.server_process().is_none() || self.is_direct()? {
            return Ok(Pooling::None);
        }
        let Some(first) = self.serving()? else { return Ok(Pooling::None) };
        let timeouts = Timeouts { answer: Some(WAIT), look_after: None, ..self.timeouts.clone() };
        let Ok(mut other) = Self::open_with(&self.connect, Some(WAIT), timeouts) else {
            // Unknown: assume the mode in which the least works.
            return Ok(Pooling::Transaction);
        };
        let mut seen = [Some(first), None];
        for turn in TURNS {
            let serving = match turn {
                0 => self.serving()?,
                _ => match other.serving() {
                    Ok(serving) => serving,
                    Err(_) => return self.is_served_before(&other),
                },
            };
            if seen[turn].is_some_and(|before| Some(before) != serving) || serving == seen[1 - turn] {
                return Ok(Pooling::Transaction);
            }
            seen[turn] = serving;
        }
        Ok(Pooling::Session)
    }

    /// Whether this connection is served while the other one still waits: it then keeps its server
    /// connection.
    fn is_served_before(&mut self, _waiting: &Self) -> Result<Pooling, SqlError> {
        let begun = Instant::now();
        self.serving()?;
        Ok(if begun.elapsed() < WAIT / 2 { Pooling::Session } else { Pooling::Transaction })
    }

    /// The server process that serves this statement.
    fn serving(&mut self) -> Result<Option<u32>, SqlError> {
        let pid = self.scalar("SELECT pg_catalog.pg_backend_pid()")?;
        Ok(pid.and_then(|pid| pid.parse().ok()))
    }

    /// Whether a pooler stores a client's named prepared statements under its own names. Otherwise the
    /// server gets the client's name, and the next client of the server connection finds it there. Leaves
    /// nothing behind.
    pub fn keeps_statements(&mut self) -> Result<bool, SqlError> {
        let name = format!("pgdyno_{}", uuid::Uuid::new_v4().simple());
        // One transaction, so that it is one server connection.
        self.execute("BEGIN")?;
        let prepared = self.ask_with(QueryLength::Short, "", |out| {
            frontend::parse(out, &name, "SELECT 1", &[]);
            frontend::sync(out);
        });
        let known = prepared.and_then(|_| {
            let query = format!(
                "SELECT 1 FROM pg_catalog.pg_prepared_statements WHERE name = {}",
                quote_literal(&name)
            );
            Ok(self.scalar(&query)?.is_some())
        });
        // Also where the transaction failed.
        let closed = self.ask_with(QueryLength::Short, "", |out| {
            frontend::close_statement(out, &name);
            frontend::sync(out);
        });
        self.execute("ROLLBACK")?;
        match closed.and(known) {
            Ok(known) => Ok(!known),
            Err(error) if error.sqlstate.is_some() => Ok(false),
            Err(error) => Err(error),
        }
    }
}
