//! Serves one client: events in, steps out, and their consequences.

mod activity;
mod bytes;
mod reconnect;
mod slots;
mod users;

use super::link::LinkState;
use super::seat::{Seat, SeatState};
use super::thread::Thread;
use super::timers::Timer;
use crate::client::Abort;
use crate::client::{Event, Failure, Io, Link, Returned, Step, Time, TransactionOutcome};
use crate::control::Notice;
use crate::driver::{Clock, Driver, Happened};
use crate::error;
use crate::observer::ClientMessage;
use crate::plan::{Pace, Until};
use crate::recorder::SessionEnd;
use crate::recorder::{Activity, Doing};

/// A client while it is served, and what it shares with the others of its thread.
pub(super) struct Serving<'a, C: Clock> {
    pub(super) seat: &'a mut Seat,
    pub(super) thread: &'a mut Thread<C>,
}

impl<C: Clock> Serving<'_, C> {
    /// Serves what the driver reports of a link.
    #[inline]
    pub(super) fn happened(&mut self, link: Link, happened: Happened<'_>) {
        self.thread.turn.stamp();
        let state = &mut self.seat.links[link];
        if !matches!(happened, Happened::Opened) {
            state.answered(&mut self.thread.timers);
        }
        match happened {
            Happened::Bytes(bytes) if state.tls.is_some() => self.decrypt(link, bytes),
            Happened::Bytes(bytes) => self.offer(link, bytes),
            Happened::Opened => self.opened(link),
            Happened::Closed(error) => self.lost(link, error.as_ref()),
        }
        if self.seat.links.len() > 1 {
            self.offer_unread(Some(link));
        }
    }

    pub(super) fn woken(&mut self) {
        self.thread.turn.stamp();
        if self.seat.state != SeatState::Over {
            self.send(Event::Woken);
            self.offer_unread(None);
        }
    }

    /// A timer set for `at` has fired.
    pub(super) fn timer(&mut self, timer: Timer, link: Option<Link>, at: Time) {
        self.thread.turn.stamp();
        let now = self.thread.turn.now;
        self.thread.recorder.timer_lateness(now, now.saturating_sub(at));
        match timer {
            Timer::Client(_) => self.send(Event::Timer),
            Timer::Visit(_) if self.seat.state == SeatState::Idle && self.thread.progress.starts(at) => {
                self.start(at, true);
            }
            Timer::Visit(_) => return,
            Timer::Link(_) => return link.into_iter().for_each(|link| self.attempt(link)),
        }
        self.offer_unread(None);
    }

    /// Continues a client of the list, and offers again what it left unread.
    pub(super) fn resume(&mut self) {
        self.seat.runnable = false;
        self.thread.turn.stamp();
        if let Some(due) = self.next_slot(false) {
            self.start(due, false);
        }
        self.offer_unread(None);
    }

    pub(super) fn resume_later(&mut self) {
        if !std::mem::replace(&mut self.seat.runnable, true) {
            self.thread.runnable.push_back(self.seat.index);
        }
    }

    /// Sends what the client wrote, then closes and connects as it asked.
    #[inline]
    pub(super) fn flush(&mut self, driver: &mut impl Driver) {
        let outs = &mut self.thread.lent.outs;
        for (link, out) in self.seat.links.iter_mut().zip(outs.iter_mut()) {
            link.flush(out, driver);
        }
        debug_assert!(outs.iter().all(Vec::is_empty), "bytes of one client would go out as another's");
    }

    fn send(&mut self, event: Event<'_>) {
        let step = self.call(event);
        self.follow(step);
    }

    #[inline]
    fn call(&mut self, event: Event<'_>) -> Step {
        let Self { seat, thread } = self;
        let mut io = Io {
            now: thread.turn.now,
            stopping: thread.progress.is_draining(),
            out: &mut thread.lent.outs[..seat.links.len()],
            notes: &mut thread.lent.notes,
            wakes: &thread.lent.wakes,
            client: seat.index,
        };
        let step = seat.client.handle(event, &mut io);
        if thread.lent.notes.any() {
            self.take_notes();
        }
        step
    }

    /// Carries out the client's step, and further steps while the client can continue at once.
    fn follow(&mut self, mut step: Step) {
        loop {
            match step {
                Step::Wait => return,
                Step::Until(at) => return self.thread.timers.set(Timer::Client(self.seat.index), at),
                Step::StartTls(link) => return self.start_tls(link),
                Step::Reconnect(link) => return self.reconnect(link),
                Step::Done => return self.stop(),
                Step::Ready => self.ready(),
                Step::Ended(outcome) => {
                    self.ended(outcome);
                    if self.thread.lent.notes.abort.is_some() {
                        return self.stop();
                    }
                }
            }
            let Some(due) = self.next_slot(false) else { return };
            let found_free = self.thread.pace.open().is_some_and(|open| !open.free.is_empty());
            step = self.begin(due, found_free);
        }
    }

    fn ready(&mut self) {
        self.settle_links();
        match self.seat.state {
            SeatState::Setup => {
                self.seat.state = SeatState::Idle;
                self.turn_to(self.between(), self.thread.turn.now);
                self.settle();
            }
            SeatState::Busy => {
                let (script, failure) = (self.seat.client.script(), Some(Failure::Other));
                self.ended(TransactionOutcome { script, failure, tries: 1, returned: Returned::default() });
            }
            SeatState::Idle | SeatState::Over => {}
        }
    }

    fn ended(&mut self, outcome: TransactionOutcome) {
        let disturbed = self.seat.disturbed;
        if self.end(outcome, SeatState::Idle) && disturbed {
            self.settle_links();
        }
    }

    /// Counts the end of the client's transaction; false when there was none.
    fn end(&mut self, outcome: TransactionOutcome, next: SeatState) -> bool {
        let Self { seat, thread } = self;
        if seat.state != SeatState::Busy {
            self.misbehaved("ended a transaction that was not started");
            return false;
        }
        if usize::from(outcome.script) >= thread.progress.plan.scripts {
            self.misbehaved("reported a script that is not in the plan");
            return false;
        }
        seat.state = next;
        thread.tally.busy -= 1;
        let now = thread.turn.now;
        let is_measured = thread.recorder.ended(seat.number, &seat.transaction, now, &outcome);
        let counts = is_measured || outcome.failure.is_none();
        thread.recorder.in_transaction(seat.activity.since, seat.transaction.due, now, counts);
        thread.recorder.in_flight = thread.tally.busy as u32;
        self.user_ended(outcome.failure.is_some(), now);
        self.seat.activity = Activity { doing: self.between(), since: now };
        if is_measured {
            self.count_ended();
        }
        true
    }

    /// Counts one of the client's own number of transactions.
    fn count_ended(&mut self) {
        self.seat.ended += 1;
        if self.thread.progress.plan.until == Until::PerClient(self.seat.ended) {
            self.stop();
        }
    }

    /// The start of the load does not wait for this client any more.
    fn settle(&mut self) {
        if !std::mem::replace(&mut self.seat.settled, true) {
            self.thread.tally.unsettled -= 1;
        }
    }

    fn misbehaved(&mut self, what: &str) {
        let message = format!("stopped, because its workload {what}");
        self.thread.lent.notes.abort = Some(Abort { message, ..Abort::default() });
        self.stop();
    }

    /// The client's link; stops a client that names a link it does not have.
    fn link(&mut self, link: Link) -> Option<&mut LinkState> {
        if link >= self.seat.links.len() {
            self.misbehaved(&format!("has no link {link}"));
        }
        self.seat.links.get_mut(link)
    }

    pub(super) fn stop(&mut self) {
        let abort = self.take_abort();
        let never_began = abort.as_ref().is_some_and(|abort| abort.before_start);
        let failed = abort.is_some() && !never_began;
        let Self { seat, thread } = self;
        let now = thread.turn.now;
        match std::mem::replace(&mut seat.state, SeatState::Over) {
            SeatState::Over => return,
            SeatState::Busy => {
                thread.tally.busy -= 1;
                let script = seat.client.script();
                if failed {
                    thread.recorder.given_up(seat.number, &seat.transaction, now, script);
                } else if !never_began || matches!(thread.pace, Pace::Open(_)) {
                    // Without a schedule, a transaction is due when it begins.
                    thread.recorder.unfinished(seat.transaction.due, now, script);
                }
                thread.recorder.in_transaction(seat.activity.since, seat.transaction.due, now, failed);
                seat.activity = Activity { doing: Doing::Idle, since: now };
            }
            SeatState::Setup | SeatState::Idle => self.turn_to(Doing::Idle, now),
        }
        self.user_leaves(if failed { SessionEnd::Failed } else { SessionEnd::Cut }, now);
        let Self { seat, thread } = self;
        thread.recorder.in_flight = thread.tally.busy as u32;
        thread.tally.over += 1;
        thread.tally.over_since = thread.turn.now;
        thread.timers.cancel(Timer::Client(seat.index));
        thread.timers.cancel(Timer::Visit(seat.index));
        self.settle();
        self.rest();
        self.come_back();
        for link in 0..self.seat.links.len() {
            self.shut(link);
        }
    }

    /// Reports why the client gives up, if it does. Before the load this ends the run.
    fn take_abort(&mut self) -> Option<Abort> {
        let Self { seat, thread } = self;
        let mut abort = thread.lent.notes.abort.take()?;
        abort.client = seat.number;
        if thread.progress.is_setup() {
            thread.failure.get_or_insert(error::refused(abort.clone()));
        } else {
            thread.recorder.outbox.say(Notice::Abort(abort.clone()));
            thread.recorder.figures.aborts.push((thread.turn.now, abort.clone()));
        }
        Some(abort)
    }

    fn take_notes(&mut self) {
        let Self { seat, thread } = self;
        if let Some(at) = thread.lent.notes.restarted.take() {
            // The time before was connecting.
            thread.recorder.spent(Activity { doing: Doing::Connecting, ..seat.activity }, at);
            seat.activity.since = at;
            seat.transaction.started = at;
            if matches!(thread.pace, Pace::Closed) {
                seat.transaction.due = at;
            }
            self.settle_links();
        }
        let Self { seat, thread } = self;
        let notes = &mut thread.lent.notes;
        for note in notes.statements.drain(..) {
            thread.recorder.statement(note, seat.transaction.due, thread.turn.now);
        }
        for note in notes.items.drain(..) {
            thread.recorder.item(note, seat.transaction.due, thread.turn.now);
        }
        for (level, text) in notes.messages.drain(..) {
            thread.recorder.outbox.say(Notice::Message(ClientMessage { client: seat.number, level, text }));
        }
        self.take_link_notes();
        if let Some(outcome) = self.thread.lent.notes.ended.take() {
            self.end(outcome, SeatState::Setup);
        }
    }

    fn take_link_notes(&mut self) {
        let notes = &mut self.thread.lent.notes;
        let (redirected, lost, close) = (notes.redirected.take(), notes.lost.take(), notes.close.take());
        if let Some((link, endpoint)) = redirected
            && let Some(link) = self.link(link)
        {
            link.endpoint = *endpoint;
        }
        if let Some(link) = lost
            && self.link(link).is_some()
        {
            self.count_loss(link);
        }
        if let Some(link) = close
            && self.link(link).is_some()
        {
            self.shut(link);
        }
    }
}
