//! Clients whose lost connections are made again: what was open has failed, and the client goes on.

use engine::{Failure, Io, Level, Link, Outcome, StatementEnd, Step};

use super::pipeline::Pipeline;
use super::shell::Shells;
use super::{PgbenchClient, State};
use crate::link::{endpoint, returned};

impl PgbenchClient {
    /// Whether a lost connection is made again. What is refused at the start is not.
    pub(super) fn comes_back(&self) -> bool {
        self.program.reconnect_lost && self.served
    }

    /// Whether a connection has to be made again before the next transaction.
    pub(super) fn lacks_connection(&self) -> bool {
        !self.program.reconnect && self.conns.iter().any(|conn| conn.lost)
    }

    /// A link was closed; `was_up` where it was a session.
    pub(super) fn lost(&mut self, link: Link, was_up: bool, reason: &str, io: &mut Io<'_>) -> Step {
        if !was_up {
            self.next_server(link, io);
            return self.leave(link, reason, io);
        }
        match self.state {
            // It is made when it is needed.
            State::Idle if self.program.reconnect => Step::Wait,
            State::Idle | State::Connecting => self.leave(link, reason, io),
            _ if link == self.at => {
                let reason = self.lost_words(reason);
                self.leave(link, &reason, io)
            }
            // What is under way does not need it.
            _ => {
                self.tell_loss(reason, io);
                self.conns[link].lost = true;
                Step::Wait
            }
        }
    }

    /// The session in use was ended by the server, though its connection may still be open.
    pub(super) fn found_lost(&mut self, reason: &str, io: &mut Io<'_>) -> Step {
        let link = self.at;
        io.lost(link);
        self.leave(link, reason, io)
    }

    /// A server does not take the connection; perhaps the next one does.
    pub(super) fn turned_away(&mut self, link: Link, reason: &str, io: &mut Io<'_>) -> Step {
        io.lost(link);
        self.next_server(link, io);
        self.leave(link, reason, io)
    }

    fn next_server(&mut self, link: Link, io: &mut Io<'_>) {
        let conn = &mut self.conns[link];
        if let Some(connect) = conn.route.next() {
            conn.link.redirect(connect);
            io.redirect(link, endpoint(connect));
        }
    }

    /// Counts what is open as failed, and sets out to connect again.
    fn leave(&mut self, link: Link, reason: &str, io: &mut Io<'_>) -> Step {
        self.tell_loss(reason, io);
        self.abandon(io);
        if io.stopping {
            self.state = State::Over;
            return Step::Done;
        }
        self.state = State::Connecting;
        self.connect_again(link, io)
    }

    pub(super) fn connect_again(&mut self, link: Link, io: &mut Io<'_>) -> Step {
        let conn = &mut self.conns[link];
        (conn.lost, conn.fresh, conn.last_words) = (false, false, None);
        conn.link.again(io)
    }

    /// Forgets what is under way.
    fn abandon(&mut self, io: &mut Io<'_>) {
        if self.startup.is_running() {
            // It is run from its beginning, wherever it was.
            self.conns[self.at].fresh = true;
            self.leave_startup();
        } else if self.open && self.state != State::Connecting {
            self.report(StatementEnd::Failed, io);
        }
        if std::mem::take(&mut self.open) {
            let returned = returned(self.conns[self.at].link.session.take_counts());
            let (script, failure) = (self.drawn as u16, Some(Failure::Other));
            io.ended(Outcome { script, failure, tries: self.tries, returned });
            self.stale = true;
        }
        self.pipeline = Pipeline::Off;
        self.scratch.begin_pipeline();
        self.preparing.clear();
        self.captured.clear();
        (self.syncs, self.results, self.trouble) = (0, 0, None);
        // A command that still runs has nobody to tell.
        self.shells = Shells::default();
    }

    fn tell_loss(&self, reason: &str, io: &mut Io<'_>) {
        if self.program.manner.verbose_errors {
            let what = if self.state == State::Connecting {
                "could not connect again"
            } else {
                "lost its connection"
            };
            io.say(Level::Info, format!("client {} {what}; {reason}", self.number));
        }
    }
}
