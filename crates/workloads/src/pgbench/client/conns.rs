//! A client's connections: which is in use, what is prepared on each, how each came and went.

use std::ops::{Index, IndexMut};

use engine::{Endpoint, Io, Link, Step};
use protocol::postgres::{ServerError, frontend};
use smallvec::SmallVec;

use super::hosts::Route;
use crate::link::{PgLink, endpoint};
use crate::pgbench::options::Mode;
use crate::pgbench::prepare::Program;
use crate::statement_names::StatementNames;

/// The link to the server that takes writes, and that to a standby.
const PRIMARY: Link = 0;
const STANDBY: Link = 1;

/// One of a client's connections.
#[derive(Debug)]
pub(super) struct Conn {
    pub(super) link: PgLink,
    /// By number of the command over all scripts: what is prepared (or was tried) on this connection.
    prepared: Vec<bool>,
    /// What its prepared statements are called.
    pub(super) names: StatementNames,
    /// What the server said as it ended the connection while nothing was asked of it; told when something is.
    pub(super) last_words: Option<Box<ServerError>>,
    route: Route,
    /// It was lost, and has to be made again before the next transaction.
    pub(super) lost: bool,
    /// The startup script was not run on it yet.
    pub(super) fresh: bool,
}

impl Conn {
    pub(super) fn new(program: &Program, route: Route, link: Link) -> Self {
        let prepares = program.options.mode == Mode::Prepared;
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
            last_words: None,
            lost: false,
            fresh: false,
        }
    }

    /// It takes queries, and holds nothing yet.
    pub(super) fn came_up(&mut self, io: &mut Io<'_>) {
        self.prepared.fill(false);
        self.names.renew();
        self.last_words = None;
        for notice in self.link.connection.take_notices() {
            io.message(notice.to_string());
        }
    }

    /// Whether its server is of the kind that is wanted.
    pub(super) fn suits(&self) -> bool {
        self.link.suits(self.route.wanted())
    }

    /// Whether the statement of this command was prepared on it, or that was tried.
    pub(super) fn is_prepared(&self, command: usize) -> bool {
        self.prepared[command]
    }

    /// The statement of this command is to be prepared; true when that was so before.
    pub(super) fn prepare(&mut self, command: usize) -> bool {
        std::mem::replace(&mut self.prepared[command], true)
    }

    /// The statement of this command could not be prepared.
    pub(super) fn not_prepared(&mut self, command: usize) {
        self.prepared[command] = false;
    }

    /// How it went, as libpq says it: the server's last words and the system's.
    pub(super) fn lost_words(&self, reason: &str) -> String {
        match &self.last_words {
            Some(error) => format!("{error}\n{reason}"),
            None => reason.to_owned(),
        }
    }
}

/// One connection, or the primary's and a standby's.
#[derive(Debug)]
pub(super) struct Conns {
    all: SmallVec<[Conn; 1]>,
    /// The one in use.
    pub(super) at: Link,
}

impl Index<Link> for Conns {
    type Output = Conn;

    #[inline]
    fn index(&self, link: Link) -> &Conn {
        &self.all[link]
    }
}

impl IndexMut<Link> for Conns {
    #[inline]
    fn index_mut(&mut self, link: Link) -> &mut Conn {
        &mut self.all[link]
    }
}

impl Conns {
    pub(super) fn new(all: impl Iterator<Item = Conn>) -> Self {
        Self { all: all.collect(), at: PRIMARY }
    }

    pub(super) fn endpoints(&self) -> Vec<Endpoint> {
        self.all.iter().map(|conn| endpoint(conn.link.connect())).collect()
    }

    /// That in use.
    #[inline]
    pub(super) fn current(&self) -> &Conn {
        &self.all[self.at]
    }

    #[inline]
    pub(super) fn current_mut(&mut self) -> &mut Conn {
        &mut self.all[self.at]
    }

    /// Takes the one for a script into use; `reads`: it goes to a standby, where there is one.
    pub(super) fn choose(&mut self, reads: bool) {
        self.at = if self.all.len() > 1 && reads { STANDBY } else { PRIMARY };
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

    /// Makes one again.
    pub(super) fn reopen(&mut self, link: Link, io: &mut Io<'_>) -> Step {
        let conn = &mut self.all[link];
        (conn.lost, conn.fresh, conn.last_words) = (false, false, None);
        conn.link.again(io)
    }

    /// The next try goes to another server, where there is one.
    pub(super) fn next_server(&mut self, link: Link, io: &mut Io<'_>) {
        let conn = &mut self.all[link];
        if let Some(connect) = conn.route.next() {
            conn.link.redirect(connect);
            io.redirect(link, endpoint(connect));
        }
    }

    /// Closes the one in use well.
    pub(super) fn close(&mut self, io: &mut Io<'_>) {
        frontend::terminate(io.out(self.at));
        io.close(self.at);
        self.all[self.at].link.close();
    }

    /// Says goodbye to all servers.
    pub(super) fn terminate(&self, io: &mut Io<'_>) {
        for (link, conn) in self.all.iter().enumerate() {
            if conn.link.is_up() {
                frontend::terminate(io.out(link));
            }
        }
    }
}
