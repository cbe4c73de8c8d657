//! Serving clients: events in, steps out. Their slots are in [`crate::slots`].

use crate::client::{Event, Failure, Io, Outcome, Returned, Step};
use crate::client_loop::Core;
use crate::driver::Clock;
use crate::error::EngineError;
use crate::measured::Abort;
use crate::outbox::{Message, Said};
use crate::pace::Pace;
use crate::phases::Phase;
use crate::plan::{Load, Until};
use crate::seat::State;

/// Transactions a client may start in one turn before others get theirs.
const SLOTS_PER_TURN: u32 = 32;

impl<C: Clock> Core<C> {
    /// Takes the time of a new event, and gives its client a full allowance.
    pub(crate) fn stamp(&mut self) {
        if !std::mem::take(&mut self.is_fresh) {
            self.now = self.clock.now();
        }
        self.slots_left = SLOTS_PER_TURN;
    }

    /// Hands one event to a client.
    #[inline]
    pub(crate) fn call(&mut self, client: usize, event: Event<'_>) -> Step {
        let seat = &mut self.seats[client];
        let mut io = Io {
            now: self.now,
            stopping: matches!(self.phase, Phase::Draining { .. }),
            out: &mut self.outs[..seat.links],
            notes: &mut self.notes,
            wakes: &self.wakes,
            client,
        };
        let step = seat.client.handle(event, &mut io);
        if self.notes.any() {
            self.take_notes(client);
        }
        step
    }

    /// Carries out a client's step, and what follows from it while the client can go on at once.
    pub(crate) fn follow(&mut self, client: usize, mut step: Step) {
        loop {
            match step {
                Step::Wait => return,
                Step::Until(at) => return self.timers.set(client, at),
                Step::StartTls(link) => return self.start_tls(client, link),
                Step::Reconnect(link) => return self.reconnect(client, link),
                Step::Done => return self.stop_client(client),
                Step::Ready => self.ready(client),
                Step::Ended(outcome) => {
                    self.ended(client, outcome);
                    if self.notes.abort.is_some() {
                        return self.stop_client(client);
                    }
                }
            }
            let Some(due) = self.next_slot(client, false) else { return };
            let found_free = matches!(&self.pace, Pace::Open(open) if !open.free.is_empty());
            step = self.begin(client, due, found_free);
        }
    }

    /// Goes on with a client that is free, and shows it again what it left unread.
    pub(crate) fn resume(&mut self, client: usize) {
        if let Some(due) = self.next_slot(client, false) {
            let step = self.begin(client, due, false);
            self.follow(client, step);
        }
        self.offer_unread(client, None);
    }

    /// Puts a client on the list for the next turn.
    pub(crate) fn resume_later(&mut self, client: usize) {
        let seat = &mut self.seats[client];
        if !std::mem::replace(&mut seat.runnable, true) {
            self.runnable.push_back(client);
        }
    }

    /// Serves the next client that someone woke.
    pub(crate) fn next_woken(&mut self) -> Option<usize> {
        let client = self.woken.pop()?;
        self.stamp();
        if self.seats[client].state != State::Over {
            let step = self.call(client, Event::Woken);
            self.follow(client, step);
            self.offer_unread(client, None);
        }
        Some(client)
    }

    /// Serves the next client on the list for this turn.
    pub(crate) fn next_runnable(&mut self) -> Option<usize> {
        let client = self.runnable.pop_front()?;
        self.seats[client].runnable = false;
        self.stamp();
        self.resume(client);
        Some(client)
    }

    /// Serves the next timer that is due.
    pub(crate) fn next_timer(&mut self) -> Option<usize> {
        let (key, at) = self.timers.take_due(self.now)?;
        self.stamp();
        self.recorder.timer_lateness(self.now, self.now.saturating_sub(at));
        let clients = self.seats.len();
        if key < clients {
            let step = self.call(key, Event::Timer);
            self.follow(key, step);
            self.offer_unread(key, None);
            Some(key)
        } else if key < 2 * clients {
            let client = key - clients;
            if self.seats[client].state == State::Idle && self.starts(at) {
                let step = self.begin(client, at, false);
                self.follow(client, step);
                self.offer_unread(client, None);
            }
            Some(client)
        } else {
            let conn = key - 2 * clients;
            self.attempt(conn);
            Some(self.links[conn].client)
        }
    }

    fn ready(&mut self, client: usize) {
        self.settle_links(client);
        match self.seats[client].state {
            State::Setup => {
                self.seats[client].state = State::Idle;
                self.settle(client);
            }
            State::Busy => {
                let script = self.seats[client].client.script();
                let lost = Outcome {
                    script,
                    failure: Some(Failure::Other),
                    tries: 1,
                    returned: Returned::default(),
                };
                self.ended(client, lost);
            }
            State::Idle | State::Over => {}
        }
    }

    /// A transaction ended, and its client is free.
    fn ended(&mut self, client: usize, outcome: Outcome) {
        let disturbed = self.seats[client].disturbed;
        if self.end(client, outcome, State::Idle) && disturbed {
            self.settle_links(client);
        }
    }

    /// Counts the end of a client's transaction; false when there was none.
    fn end(&mut self, client: usize, outcome: Outcome, next: State) -> bool {
        let seat = &mut self.seats[client];
        if seat.state != State::Busy {
            self.misbehaved(client, "ended a transaction that was not started");
            return false;
        }
        if usize::from(outcome.script) >= self.plan.scripts {
            self.misbehaved(client, "reported a script that is not in the plan");
            return false;
        }
        seat.state = next;
        self.busy -= 1;
        let (number, transaction) = (seat.number, seat.transaction);
        if self.recorder.ended(number, &transaction, self.now, &outcome) {
            self.count_ended(client);
        }
        true
    }

    /// A client did one more of the transactions it has to do.
    pub(crate) fn count_ended(&mut self, client: usize) {
        let seat = &mut self.seats[client];
        seat.ended += 1;
        if self.plan.until == Until::PerClient(seat.ended) {
            self.stop_client(client);
        }
    }

    /// The start of the load need not wait for this client any more.
    fn settle(&mut self, client: usize) {
        if !std::mem::replace(&mut self.seats[client].settled, true) {
            self.unsettled -= 1;
        }
    }

    fn misbehaved(&mut self, client: usize, what: &str) {
        self.notes.abort = Some((Vec::new(), format!("stopped, because its workload {what}")));
        self.stop_client(client);
    }

    /// A client stops for good.
    pub(crate) fn stop_client(&mut self, client: usize) {
        let seat = &mut self.seats[client];
        if let Some((causes, message)) = self.notes.abort.take() {
            let code = self.notes.abort_code.take();
            let abort = Abort { client: seat.number, code, causes, message };
            if matches!(self.phase, Phase::Setup { .. }) {
                let message = abort.to_string();
                self.failure.get_or_insert(EngineError::Setup { client: abort.client, message });
            } else {
                self.recorder.outbox.say(Said::Abort(abort.clone()));
                self.recorder.figures.aborts.push((self.now, abort));
            }
        }
        match std::mem::replace(&mut seat.state, State::Over) {
            State::Over => return,
            State::Busy => {
                self.busy -= 1;
                self.recorder.unfinished(seat.transaction.due, self.now, seat.client.script());
            }
            State::Setup | State::Idle => {}
        }
        self.settle(client);
        self.come_back(client);
        self.over = (self.over.0 + 1, self.now);
        let clients = self.seats.len();
        self.timers.cancel(client);
        self.timers.cancel(clients + client);
        for conn in self.seats[client].conns() {
            self.shut(conn);
            self.timers.cancel(2 * clients + conn);
        }
    }

    fn take_notes(&mut self, client: usize) {
        if let Some(at) = self.notes.restarted.take() {
            let seat = &mut self.seats[client];
            seat.transaction.started = at;
            if self.plan.load == Load::Closed {
                seat.transaction.due = at;
            }
            self.settle_links(client);
        }
        for note in self.notes.statements.drain(..) {
            self.recorder.statement(note, self.now);
        }
        let client_number = self.seats[client].number;
        for (level, text) in self.notes.messages.drain(..) {
            self.recorder.outbox.say(Said::Message(Message { client: client_number, level, text }));
        }
        self.take_link_notes(client);
        if let Some(outcome) = self.notes.ended.take() {
            self.end(client, outcome, State::Setup);
        }
    }

    fn take_link_notes(&mut self, client: usize) {
        if let Some((link, endpoint)) = self.notes.redirected.take()
            && let Some(conn) = self.conn_of(client, link)
        {
            self.links[conn].endpoint = *endpoint;
        }
        if let Some(link) = self.notes.lost.take()
            && let Some(conn) = self.conn_of(client, link)
        {
            self.count_loss(conn);
        }
        if let Some(link) = self.notes.close.take()
            && let Some(conn) = self.conn_of(client, link)
        {
            self.shut(conn);
        }
    }
}
