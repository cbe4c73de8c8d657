//! How a client's connections open, close, and reopen.

use engine::{Abort, Failure, Io, Link, StatementEnd, Step};
use protocol::postgres::frontend;

use super::exchange::Trouble;
use super::shell::Shells;
use super::words::{BACKEND_DIED, BLOCK_OPEN, SEND_FAILED, rolling_back_failed};
use super::{ClientState, PgbenchClient};
use crate::link::{LinkProgress, NotConnected};

impl PgbenchClient {
    pub(super) fn connected(
        &mut self,
        link: Link,
        progress: Result<LinkProgress, NotConnected>,
        io: &mut Io<'_>,
    ) -> Step {
        match progress {
            Ok(LinkProgress::Step(step)) => step,
            Ok(LinkProgress::Up) => self.up(link, io),
            Err(why) if self.comes_back() && self.conns[link].link.may_succeed() => {
                self.not_accepted(link, &why.message, io)
            }
            Err(why) => self.cannot_connect(why, io),
        }
    }

    /// A connection takes queries.
    fn up(&mut self, link: Link, io: &mut Io<'_>) -> Step {
        self.conns[link].came_up(io);
        if self.comes_back() && !self.conns[link].suits() {
            frontend::terminate(io.out(link));
            return self.not_accepted(link, "the server is not of the kind that is wanted", io);
        }
        self.conns[link].fresh = true;
        self.exchange.connected();
        self.get_ready(io)
    }

    /// Continues with what is needed before the next script: all connections, then the startup script on each
    /// new one.
    pub(super) fn get_ready(&mut self, io: &mut Io<'_>) -> Step {
        if self.reconnects() {
            let fresh = self.conns.current().fresh;
            return if fresh { self.start_up(self.conns.at, io) } else { self.all_up(io) };
        }
        self.state = ClientState::Connecting;
        if let Some(link) = self.conns.first_lost() {
            return self.conns.reopen(link, io);
        }
        if !self.conns.are_up() {
            return Step::Wait;
        }
        match self.conns.first_fresh() {
            Some(link) => self.start_up(link, io),
            None => self.all_up(io),
        }
    }

    /// A connection is up: runs the startup script, then what waits for the connection.
    fn start_up(&mut self, link: Link, io: &mut Io<'_>) -> Step {
        self.conns.at = link;
        self.conns[link].fresh = false;
        let Some(script) = self.program.startup else { return self.get_ready(io) };
        self.script.enter_startup(script);
        self.advance(io)
    }

    pub(super) fn started_up(&mut self, io: &mut Io<'_>) -> Step {
        if self.in_block() {
            let abort = self.position().aborted(BLOCK_OPEN);
            return self.give_up(abort, io);
        }
        self.script.leave_startup(self.draws.drawn());
        self.get_ready(io)
    }

    /// Nothing is missing: continues with the due transaction, or waits for one.
    fn all_up(&mut self, io: &mut Io<'_>) -> Step {
        if self.transaction.open {
            self.transaction.connected(io.now);
            io.restart();
            return self.start_script(io);
        }
        self.conns.choose_first();
        self.served = true;
        self.state = ClientState::Idle;
        Step::Ready
    }

    /// Before the run the caller adds which client has no connection.
    fn cannot_connect(&mut self, why: NotConnected, io: &mut Io<'_>) -> Step {
        let NotConnected { message, code } = why;
        let abort = if !self.reconnects() && !self.served {
            Abort { message, code, ..Abort::default() }
        } else {
            let client = self.reporter.client;
            Abort {
                causes: vec![message],
                message: format!("client {client} aborted while establishing connection"),
                code,
                lost: true,
                ..Abort::default()
            }
        };
        self.give_up(abort, io)
    }

    pub(super) fn closed(&mut self, link: Link, error: Option<&std::io::Error>, io: &mut Io<'_>) -> Step {
        let was_up = self.conns[link].link.is_up();
        let why = match self.conns[link].link.closed(error) {
            Ok(progress) => return self.connected(link, Ok(progress), io),
            Err(why) => why,
        };
        if self.comes_back() && self.state != ClientState::Over {
            return self.lost(link, was_up, &why.message, io);
        }
        match self.state {
            ClientState::Over => Step::Done,
            ClientState::Connecting => self.cannot_connect(why, io),
            // Reported when the connection is next used, if it is.
            _ if link != self.conns.at => Step::Wait,
            ClientState::Idle | ClientState::Sleeping | ClientState::Shell => Step::Wait,
            ClientState::Preparing => {
                let causes = vec![self.conns.current().lost_text(&why.message)];
                let abort = Abort { causes, lost: true, ..self.position().failed("SQL", SEND_FAILED) };
                self.give_up(abort, io)
            }
            ClientState::Waiting => match self.exchange.trouble.take() {
                Some(trouble) => self.fatal(trouble, io),
                None => {
                    let abort = Abort { causes: self.why_lost(why), ..self.position().died() };
                    self.give_up(abort, io)
                }
            },
            ClientState::RollingBack => {
                let reason = match self.exchange.trouble.take() {
                    Some(Trouble::Server { text, .. }) => text,
                    _ => BACKEND_DIED.to_owned(),
                };
                let abort = rolling_back_failed(self.reporter.client, &reason);
                self.give_up(Abort { causes: self.why_lost(why), lost: true, ..abort }, io)
            }
        }
    }

    /// pgbench does not give the reason; outside the drop-in it helps.
    fn why_lost(&self, why: NotConnected) -> Vec<String> {
        if self.program.drop_in { Vec::new() } else { vec![why.message] }
    }

    /// Whether a lost connection is reopened. A refusal at the start is final.
    pub(super) fn comes_back(&self) -> bool {
        self.program.options.reconnect_lost && self.served
    }

    /// A link was closed, and is reopened; `was_up` if it was ready for queries.
    fn lost(&mut self, link: Link, was_up: bool, reason: &str, io: &mut Io<'_>) -> Step {
        if !was_up {
            self.conns.next_server(link, io);
            return self.leave(link, reason, io);
        }
        match self.state {
            // It is opened on demand.
            ClientState::Idle if self.reconnects() => Step::Wait,
            ClientState::Idle | ClientState::Connecting => self.leave(link, reason, io),
            _ if link == self.conns.at => {
                let reason = self.conns.current().lost_text(reason);
                self.leave(link, &reason, io)
            }
            // The current work does not need it.
            _ => {
                self.reporter.lost(false, reason, io);
                self.conns[link].lost = true;
                Step::Wait
            }
        }
    }

    /// The server ended the current connection, though its socket may still be open.
    pub(super) fn found_lost(&mut self, reason: &str, io: &mut Io<'_>) -> Step {
        let link = self.conns.at;
        io.lost(link);
        self.leave(link, reason, io)
    }

    /// A server does not accept the connection; the next one may.
    fn not_accepted(&mut self, link: Link, reason: &str, io: &mut Io<'_>) -> Step {
        io.lost(link);
        self.conns.next_server(link, io);
        self.leave(link, reason, io)
    }

    /// Counts the open transaction as failed, and reconnects.
    fn leave(&mut self, link: Link, reason: &str, io: &mut Io<'_>) -> Step {
        self.reporter.lost(self.state == ClientState::Connecting, reason, io);
        self.abandon(io);
        if io.stopping {
            self.state = ClientState::Over;
            return Step::Done;
        }
        self.state = ClientState::Connecting;
        self.conns.reopen(link, io)
    }

    /// Forgets the current work.
    fn abandon(&mut self, io: &mut Io<'_>) {
        if self.script.in_startup() {
            // It runs again from its beginning.
            self.conns.current_mut().fresh = true;
            self.script.leave_startup(self.draws.drawn());
        } else if self.transaction.open && self.state != ClientState::Connecting {
            self.script.report(StatementEnd::Failed, &self.program, io);
        }
        if self.transaction.open {
            io.ended(self.outcome(Some(Failure::Other)));
            self.draws.ended();
        }
        self.pipeline.clear();
        self.exchange.forget();
        // The end of a running command is ignored.
        self.shells = Shells::default();
    }
}
