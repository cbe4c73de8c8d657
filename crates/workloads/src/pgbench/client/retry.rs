//! What becomes of a failed transaction: retried, counted as failed, or the client's end.

use engine::{Failure, Io, StatementEnd, Step};
use protocol::postgres::{TxStatus, frontend};
use script::Cursor;

use super::pipeline::Pipeline;
use super::{PgbenchClient, State, Trouble};

impl PgbenchClient {
    /// The command under way failed, and the server is ready again.
    pub(super) fn command_in_trouble(&mut self, trouble: Trouble, io: &mut Io<'_>) -> Step {
        let failure = match trouble {
            Trouble::Server { failure, .. } if self.goes_on_after(failure) => failure,
            trouble => return self.fatal(trouble, io),
        };
        self.pipeline = Pipeline::Off;
        self.failure = failure;
        if self.conns[self.at].link.session.status() == TxStatus::Idle {
            return self.rolled_back(io);
        }
        frontend::query(io.out(self.at), "ROLLBACK");
        self.syncs += 1;
        self.results = 0;
        self.state = State::RollingBack;
        self.tell_receiving(io);
        Step::Wait
    }

    /// The command under way failed for good, or its session with it.
    pub(super) fn fatal(&mut self, trouble: Trouble, io: &mut Io<'_>) -> Step {
        match trouble {
            Trouble::Capture { causes, message } => self.give_up(causes, message, io),
            Trouble::Server { failure, .. } if self.goes_on_after(failure) => {
                // It would have been rolled back, but nobody is there for that.
                let causes = vec!["perhaps the backend died while processing".to_owned()];
                let message =
                    format!("client {} aborted while receiving the transaction status", self.number);
                self.give_up(causes, message, io)
            }
            Trouble::Server { code, text, query, .. } => {
                io.abort_code(code);
                let message = self.query_failed(query, &text);
                self.give_up(Vec::new(), message, io)
            }
        }
    }

    /// Whether the client goes on after such an error.
    pub(super) fn goes_on_after(&self, failure: Failure) -> bool {
        !self.startup.is_running() && (failure != Failure::Other || self.program.continue_on_error)
    }

    /// No transaction is open any more: try again, or count a failure.
    pub(super) fn rolled_back(&mut self, io: &mut Io<'_>) -> Step {
        if let Some(Trouble::Server { code, text, .. }) = self.trouble.take() {
            io.abort_code(code);
            let message = self.rolling_back_failed(&text);
            return self.give_up(Vec::new(), message, io);
        }
        if io.stopping && self.program.drop_in {
            // pgbench counts no failure once the time is over.
            self.state = State::Over;
            return Step::Done;
        }
        let again = self.may_retry(io);
        self.tell_try(again, io);
        self.report(if again { StatementEnd::Retried } else { StatementEnd::Failed }, io);
        if !again {
            return self.end_transaction(Some(self.failure), io);
        }
        self.tries = self.tries.saturating_add(1);
        // The same numbers again; variables stay as they are, as in pgbench.
        self.random = self.random_at_start.clone();
        self.cursor = Cursor::start();
        self.advance(io)
    }

    /// pgbench's rule: a try is left, the latency limit has not passed, and the run is not over.
    fn may_retry(&self, io: &Io<'_>) -> bool {
        let tries_left = self.program.max_tries == 0 || self.tries < self.program.max_tries;
        let in_time = self.program.latency_limit.is_none_or(|limit| io.now.saturating_sub(self.due) <= limit);
        self.failure != Failure::Other && tries_left && in_time && !io.stopping
    }
}

/// The kind of failure an SQLSTATE stands for.
pub(super) fn kind(sqlstate: &str) -> Failure {
    match sqlstate {
        "40001" => Failure::Serialization,
        "40P01" => Failure::Deadlock,
        _ => Failure::Other,
    }
}
