//! From links to sessions, and the loss of links.

use engine::{Io, Link, Step};

use protocol::postgres::frontend;

use super::run::SEND_FAILED;
use super::{PgbenchClient, State, Trouble};
use crate::link::Progress;

/// SQLSTATE of a connection that cannot be made.
const NO_CONNECTION: &str = "08001";
/// SQLSTATE of a connection that was lost.
const LOST: &str = "08006";

impl PgbenchClient {
    /// SQLSTATE of the loss of the session in use, if that is lost: the server's own, where it said one.
    pub(super) fn loss(&self) -> Option<String> {
        let conn = &self.conns[self.at];
        let words = conn.last_words.as_ref();
        (!conn.link.is_up()).then(|| words.map_or_else(|| LOST.to_owned(), |error| error.code.clone()))
    }

    /// Goes on with connecting.
    pub(super) fn connected(
        &mut self,
        link: Link,
        progress: Result<Progress, String>,
        io: &mut Io<'_>,
    ) -> Step {
        match progress {
            Ok(Progress::Step(step)) => step,
            Ok(Progress::Up) => self.up(link, io),
            Err(reason) if self.comes_back() && self.conns[link].link.may_succeed() => {
                self.turned_away(link, &reason, io)
            }
            Err(reason) => self.cannot_connect(reason, io),
        }
    }

    /// A session takes queries.
    fn up(&mut self, link: Link, io: &mut Io<'_>) -> Step {
        let comes_back = self.comes_back();
        let conn = &mut self.conns[link];
        conn.prepared.fill(false);
        conn.last_words = None;
        for notice in conn.link.session.take_notices() {
            io.message(notice.to_string());
        }
        if comes_back && !conn.link.suits(conn.route.wanted()) {
            frontend::terminate(io.out(link));
            return self.turned_away(link, "the server is not of the kind that is wanted", io);
        }
        conn.fresh = true;
        self.syncs = 0;
        self.get_ready(io)
    }

    /// Goes on with what is needed before the next script: all connections, then the startup script on each that is new.
    pub(super) fn get_ready(&mut self, io: &mut Io<'_>) -> Step {
        if self.program.reconnect {
            return if self.conns[self.at].fresh {
                self.start_up(self.at, io)
            } else {
                self.session_ready(io)
            };
        }
        self.state = State::Connecting;
        if let Some(link) = self.conns.iter().position(|conn| conn.lost) {
            return self.connect_again(link, io);
        }
        if !self.conns.iter().all(|conn| conn.link.is_up()) {
            return Step::Wait;
        }
        match self.conns.iter().position(|conn| conn.fresh) {
            Some(link) => self.start_up(link, io),
            None => self.session_ready(io),
        }
    }

    /// Before the run its caller adds that there is no connection for this client.
    fn cannot_connect(&mut self, reason: String, io: &mut Io<'_>) -> Step {
        io.abort_code(NO_CONNECTION.to_owned());
        if !self.program.reconnect && !self.served {
            return self.give_up(Vec::new(), reason, io);
        }
        let message = format!("client {} aborted while establishing connection", self.number);
        self.give_up(vec![reason], message, io)
    }

    /// A link was lost.
    pub(super) fn closed(&mut self, link: Link, error: Option<&std::io::Error>, io: &mut Io<'_>) -> Step {
        let was_up = self.conns[link].link.is_up();
        let reason = match self.conns[link].link.closed(error) {
            Ok(progress) => return self.connected(link, Ok(progress), io),
            Err(reason) => reason,
        };
        if self.comes_back() && self.state != State::Over {
            return self.lost(link, was_up, &reason, io);
        }
        // pgbench does not say why; where nobody expects its words it helps.
        let causes = if self.program.drop_in { Vec::new() } else { vec![reason.clone()] };
        match self.state {
            State::Over => Step::Done,
            State::Connecting => self.cannot_connect(reason, io),
            // Told when something is asked of it, if that happens.
            _ if link != self.at => Step::Wait,
            State::Idle | State::Sleeping | State::Shell => Step::Wait,
            State::Preparing => {
                let message = self.command_failed("SQL", SEND_FAILED);
                self.give_up(vec![self.lost_words(&reason)], message, io)
            }
            State::Waiting => match self.trouble.take() {
                Some(trouble) => self.fatal(trouble, io),
                None => {
                    let message = self.command_failed("SQL", "perhaps the backend died while processing");
                    self.give_up(causes, message, io)
                }
            },
            State::RollingBack => {
                let reason = match self.trouble.take() {
                    Some(Trouble::Server { text, .. }) => text,
                    _ => "perhaps the backend died while processing".to_owned(),
                };
                let message = self.rolling_back_failed(&reason);
                self.give_up(causes, message, io)
            }
        }
    }
}
