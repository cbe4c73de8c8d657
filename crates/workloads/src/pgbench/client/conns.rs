//! A client's connections: which one is in use, their prepared statements, and their state.

use std::ops::{Index, IndexMut};

use engine::{Endpoint, Io, Link, Step};
use protocol::postgres::{ServerError, frontend};
use smallvec::SmallVec;

use super::hosts::Route;
use crate::link::{PgLink, endpoint};
use crate::pgbench::options::QueryProtocol;
use crate::pgbench::prepare::PreparedScripts;
use crate::statement_names::StatementNames;

/// The first link, which a client has in any case.
const FIRST: Link = 0;

/// One of a client's connections.
#[derive(Debug)]
pub(super) struct ClientConn {
    pub(super) link: PgLink,
    /// By number of the command over all scripts: prepared (or tried) on this connection.
    prepared: Vec<bool>,
    pub(super) names: StatementNames,
    /// The server's message when it closed the idle connection; reported at its next use.
    pub(super) last_message: Option<Box<ServerError>>,
    route: Route,
    /// Lost, and must be reopened before the next transaction.
    pub(super) lost: bool,
    /// The startup script has not run on it yet.
    pub(super) fresh: bool,
}

impl ClientConn {
    pub(super) fn new(program: &PreparedScripts, route: Route, link: Link) -> Self {
        let prepares = program.options.mode == QueryProtocol::Prepared;
        let (commands, statements) =
            if prepares { (program.commands(), program.texts.len()) } else { (0, 0) };
        Self {
            link: PgLink::new(route.connect(), link),
            route,
            prepared: vec![false; commands],
            names: match program.drop_in {
                true => StatementNames::as_pgbench(statements),
                false => StatementNames::random(statements),
            },
            last_message: None,
            lost: false,
            fresh: false,
        }
    }

    /// It is ready for queries, and has no prepared statements.
    pub(super) fn came_up(&mut self, io: &mut Io<'_>) {
        self.prepared.fill(false);
        self.names.renew();
        self.last_message = None;
        for notice in self.link.connection.take_notices() {
            io.message(notice.to_string());
        }
    }

    /// Whether its server is of the wanted kind.
    pub(super) fn suits(&self) -> bool {
        self.link.suits(self.route.wanted())
    }

    /// Whether this command's statement was prepared on it, or that was tried.
    pub(super) fn is_prepared(&self, command: usize) -> bool {
        self.prepared[command]
    }

    /// Marks this command's statement as prepared; true when it was already.
    pub(super) fn prepare(&mut self, command: usize) -> bool {
        std::mem::replace(&mut self.prepared[command], true)
    }

    /// This command's statement could not be prepared.
    pub(super) fn not_prepared(&mut self, command: usize) {
        self.prepared[command] = false;
    }

    /// libpq's text for its loss: the server's last message and the system's.
    pub(super) fn lost_text(&self, reason: &str) -> String {
        match &self.last_message {
            Some(error) => format!("{error}\n{reason}"),
            None => reason.to_owned(),
        }
    }
}

/// One connection, or one to each server that its scripts go to.
#[derive(Debug)]
pub(super) struct Conns {
    all: SmallVec<[ClientConn; 1]>,
    pub(super) at: Link,
}

impl Index<Link> for Conns {
    type Output = ClientConn;

    #[inline]
    fn index(&self, link: Link) -> &ClientConn {
        &self.all[link]
    }
}

impl IndexMut<Link> for Conns {
    #[inline]
    fn index_mut(&mut self, link: Link) -> &mut ClientConn {
        &mut self.all[link]
    }
}

impl Conns {
    pub(super) fn new(all: impl Iterator<Item = ClientConn>) -> Self {
        Self { all: all.collect(), at: FIRST }
    }

    pub(super) fn endpoints(&self) -> Vec<Endpoint> {
        self.all.iter().map(|conn| endpoint(conn.link.connect())).collect()
    }

    #[inline]
    pub(super) fn current(&self) -> &ClientConn {
        &self.all[self.at]
    }

    #[inline]
    pub(super) fn current_mut(&mut self) -> &mut ClientConn {
        &mut self.all[self.at]
    }

    /// Selects the connection for a script: this one, or the first where a client has only one.
    pub(super) fn choose(&mut self, link: Link) {
        self.at = if link < self.all.len() { link } else { FIRST };
    }

    pub(super) fn choose_first(&mut self) {
        self.at = FIRST;
    }

    pub(super) fn first_lost(&self) -> Option<Link> {
        self.all.iter().position(|conn| conn.lost)
    }

    pub(super) fn first_fresh(&self) -> Option<Link> {
        self.all.iter().position(|conn| conn.fresh)
    }

    pub(super) fn are_up(&self) -> bool {
        self.all.iter().all(|conn| conn.link.is_up())
    }

    pub(super) fn reopen(&mut self, link: Link, io: &mut Io<'_>) -> Step {
        let conn = &mut self.all[link];
        (conn.lost, conn.fresh, conn.last_message) = (false, false, None);
        conn.link.again(io)
    }

    /// Uses another server for the next try, if there is one.
    pub(super) fn next_server(&mut self, link: Link, io: &mut Io<'_>) {
        let conn = &mut self.all[link];
        if let Some(connect) = conn.route.next() {
            conn.link.redirect(connect);
            io.redirect(link, endpoint(connect));
        }
    }

    /// Closes the current connection orderly.
    pub(super) fn close(&mut self, io: &mut Io<'_>) {
        frontend::terminate(io.out(self.at));
        io.close(self.at);
        self.all[self.at].link.close();
    }

    /// Sends Terminate to all servers.
    pub(super) fn terminate(&self, io: &mut Io<'_>) {
        for (link, conn) in self.all.iter().enumerate() {
            if conn.link.is_up() {
                frontend::terminate(io.out(link));
            }
        }
    }
}
