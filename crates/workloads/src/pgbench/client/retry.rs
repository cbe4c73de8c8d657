//! What becomes of a failed transaction: retried, counted as failed, or the client's end.

use engine::{Failure, Io, Step};
use protocol::postgres::{ServerError, TxStatus, frontend};
use script::Cursor;

use super::{LINK, PgbenchClient, State};

impl PgbenchClient {
    /// A statement failed, and the server is ready again.
    pub(super) fn statement_failed(&mut self, error: ServerError, io: &mut Io<'_>) -> Step {
        let failure = kind(&error.code);
        if failure == Failure::Other && !self.program.continue_on_error {
            let query = self.query_text();
            let text = error.libpq_text(query.as_deref());
            return self.abort_command(&text, io);
        }
        self.report(io, true);
        self.in_pipeline = false;
        self.failure = failure;
        if self.link.session.status() == TxStatus::Idle {
            return self.rolled_back(io);
        }
        frontend::query(io.out(LINK), "ROLLBACK");
        self.syncs += 1;
        self.state = State::RollingBack;
        Step::Wait
    }

    /// No transaction is open any more: try again, or count a failure.
    pub(super) fn rolled_back(&mut self, io: &mut Io<'_>) -> Step {
        if let Some(error) = self.error.take() {
            let reason = format!("client {} aborted: ROLLBACK failed: {error}", self.number);
            return self.give_up(reason, io);
        }
        if !self.may_retry(io) {
            return Step::Ended(self.outcome(Some(self.failure)));
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
fn kind(sqlstate: &str) -> Failure {
    match sqlstate {
        "40001" => Failure::Serialization,
        "40P01" => Failure::Deadlock,
        _ => Failure::Other,
    }
}
