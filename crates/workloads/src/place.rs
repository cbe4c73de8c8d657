//! Where a workload's clients and checks go.

use std::sync::Arc;

use protocol::Address;
use protocol::postgres::conninfo::TargetSession;
use protocol::postgres::sql::Sql;
use protocol::postgres::{HostName, Place, Server};
use protocol::redis::{self, ControlError};

use crate::error::WorkloadError;

/// Where clients connect.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// The PostgreSQL server measured.
    pub postgres: Option<Place>,
    /// Where a client that lost this server looks for it, in this order, the server itself first; only there when empty.
    pub postgres_again: Vec<Place>,
    /// Which of these will do, as far as a server tells it by itself.
    pub session: TargetSession,
    /// All PostgreSQL servers, where clients are spread over several; else empty.
    pub postgres_all: Vec<Server>,
    /// The Redis server measured.
    pub redis: Option<Address>,
}

impl Places {
    /// The names that were looked up, which may lead elsewhere one day; a name may be there more than once.
    #[must_use]
    pub fn names(&self) -> Vec<Arc<HostName>> {
        let several = self.postgres_all.iter().map(|server| &server.place);
        let places = self.postgres.iter().chain(&self.postgres_again).chain(several);
        places.filter_map(|place| Some(Arc::clone(place.named.as_ref()?.name()))).collect()
    }

    /// The PostgreSQL server.
    ///
    /// # Errors
    /// [`WorkloadError::NoServer`].
    pub fn postgres(&self) -> Result<&Place, WorkloadError> {
        self.postgres.as_ref().ok_or(WorkloadError::NoServer { kind: "PostgreSQL" })
    }

    /// The Redis server.
    ///
    /// # Errors
    /// [`WorkloadError::NoServer`].
    pub fn redis(&self) -> Result<&Address, WorkloadError> {
        self.redis.as_ref().ok_or(WorkloadError::NoServer { kind: "Redis" })
    }
}

/// What a workload is lent outside the timed part of a run.
#[derive(Default)]
pub struct Site<'a> {
    /// A control connection to the PostgreSQL server.
    pub sql: Option<&'a mut dyn Sql>,
    /// The Redis server.
    pub redis: Option<&'a dyn RedisServer>,
}

/// Lends control connections to a Redis server.
pub trait RedisServer {
    /// Opens one.
    ///
    /// # Errors
    /// When nobody answers there.
    fn control(&self) -> Result<Box<dyn redis::Control + '_>, ControlError>;
}

impl<'a> Site<'a> {
    /// A site with PostgreSQL only.
    pub fn postgres(sql: &'a mut dyn Sql) -> Self {
        Self { sql: Some(sql), redis: None }
    }

    /// The control connection.
    ///
    /// # Errors
    /// [`WorkloadError::NoServer`].
    pub fn sql(&mut self) -> Result<&mut (dyn Sql + 'a), WorkloadError> {
        match self.sql.as_mut() {
            Some(sql) => Ok(&mut **sql),
            None => Err(WorkloadError::NoServer { kind: "PostgreSQL" }),
        }
    }

    /// A control connection to the Redis server.
    ///
    /// # Errors
    /// [`WorkloadError::NoServer`], or when nobody answers there.
    pub fn redis(&self) -> Result<Box<dyn redis::Control + 'a>, WorkloadError> {
        let server = self.redis.ok_or(WorkloadError::NoServer { kind: "Redis" })?;
        Ok(server.control()?)
    }
}

impl std::fmt::Debug for Site<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Site")
            .field("sql", &self.sql.is_some())
            .field("redis", &self.redis.is_some())
            .finish()
    }
}
