//! Where a workload's clients and checks go: resolved places, no names to look up any more.

use std::sync::Arc;

use engine::Endpoint;
use protocol::postgres::Login;
use protocol::postgres::conninfo::TargetSession;

use crate::error::WorkloadError;
use crate::sql::Sql;

/// One PostgreSQL server, resolved and ready to connect to; cheap to clone.
#[derive(Debug, Clone)]
pub struct Connect {
    /// Address, and what TLS needs.
    pub endpoint: Endpoint,
    /// The name the address was looked up by, for messages; `None` when it was given as an address.
    pub host: Option<Arc<str>>,
    /// User, database, password, TLS policy and parameters sent at startup (session settings among them).
    pub login: Arc<Login>,
}

/// What one of several PostgreSQL servers is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It takes writes.
    Primary,
    /// It follows a primary and takes reads only.
    Standby,
}

/// One of several PostgreSQL servers.
#[derive(Debug, Clone)]
pub struct Server {
    /// How to connect to it.
    pub connect: Connect,
    /// What it is for.
    pub role: Role,
}

/// One Redis server.
#[derive(Debug, Clone)]
pub struct RedisPlace {
    /// Its address.
    pub endpoint: Endpoint,
}

/// Where clients connect.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// The PostgreSQL server measured.
    pub postgres: Option<Connect>,
    /// Where a client that lost this server looks for it, in this order, the server itself first; only there when empty.
    pub postgres_again: Vec<Connect>,
    /// Which of these will do, as far as a server tells it by itself.
    pub session: TargetSession,
    /// All PostgreSQL servers, where clients are spread over several; else empty.
    pub postgres_all: Vec<Server>,
    /// The Redis server measured.
    pub redis: Option<RedisPlace>,
}

impl Places {
    /// The PostgreSQL server.
    ///
    /// # Errors
    /// [`WorkloadError::NoServer`].
    pub fn postgres(&self) -> Result<&Connect, WorkloadError> {
        self.postgres.as_ref().ok_or(WorkloadError::NoServer { kind: "PostgreSQL" })
    }

    /// The Redis server.
    ///
    /// # Errors
    /// [`WorkloadError::NoServer`].
    pub fn redis(&self) -> Result<&RedisPlace, WorkloadError> {
        self.redis.as_ref().ok_or(WorkloadError::NoServer { kind: "Redis" })
    }
}

/// What a workload is lent outside the timed part of a run.
#[derive(Default)]
pub struct Site<'a> {
    /// A control connection to the PostgreSQL server.
    pub sql: Option<&'a mut dyn Sql>,
    /// The Redis server.
    pub redis: Option<RedisSite<'a>>,
}

/// A Redis server, and when it is no longer waited for.
#[derive(Clone, Copy)]
pub struct RedisSite<'a> {
    /// The server.
    pub place: &'a RedisPlace,
    /// Asked while it is waited for: whether nobody wants the answer any more.
    pub given_up: &'a dyn Fn() -> bool,
}

impl std::fmt::Debug for RedisSite<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.place.fmt(formatter)
    }
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

    /// The Redis server.
    ///
    /// # Errors
    /// [`WorkloadError::NoServer`].
    pub fn redis(&self) -> Result<RedisSite<'a>, WorkloadError> {
        self.redis.ok_or(WorkloadError::NoServer { kind: "Redis" })
    }
}

impl std::fmt::Debug for Site<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Site").field("sql", &self.sql.is_some()).field("redis", &self.redis).finish()
    }
}
