//! Lost links, and reconnecting them.

use std::io;

use super::Serving;
use crate::client::{Event, Link};
use crate::client_loop::link::{Attempt, Reconnection};
use crate::client_loop::seat::SeatState;
use crate::control::Notice;
use crate::driver::Clock;
use crate::recorder::Doing;

impl<C: Clock> Serving<'_, C> {
    pub(super) fn lost(&mut self, link: Link, error: Option<&io::Error>) {
        self.seat.links[link].end();
        self.thread.lent.outs[link].clear();
        self.count_loss(link);
        if self.seat.state != SeatState::Over {
            self.send(Event::Closed { link, error });
        }
    }

    /// A connection was lost, or a reconnection failed.
    pub(super) fn count_loss(&mut self, link: Link) {
        let link = &mut self.seat.links[link];
        link.losses = link.losses.saturating_add(1);
        self.seat.disturbed = true;
        let recorder = &mut self.thread.recorder;
        if link.reconnection.is_none() && recorder.measures(self.thread.turn.now) {
            recorder.figures.connections_lost += 1;
        }
    }

    /// A link's timer fired: its pause is over, or its peer was silent too long.
    pub(super) fn attempt(&mut self, link: Link) {
        let now = self.thread.turn.now;
        if self.seat.links[link].attempt(now, &mut self.thread.timers) == Attempt::Waiting {
            self.fail(link, &io::Error::new(io::ErrorKind::TimedOut, "timeout expired"));
        }
    }

    pub(super) fn reconnect(&mut self, link: Link) {
        // The end of the transaction it reported may have stopped it.
        if self.link(link).is_none() || self.seat.state == SeatState::Over {
            return;
        }
        self.shut(link);
        if self.seat.links[link].losses > 0 {
            self.go_away();
        }
        self.seat.disturbed = true;
        let was_idle = self.seat.state == SeatState::Idle;
        if was_idle {
            self.seat.state = SeatState::Setup;
        }
        if !self.thread.progress.is_setup() {
            self.rise();
            if was_idle {
                self.turn_to(Doing::Connecting, self.thread.turn.now);
            }
        }
        self.seat.links[link].reconnect(self.thread.turn.now, &mut self.thread.timers);
    }

    /// The client lost a link it wants back. Not recorded before the load.
    fn go_away(&mut self) {
        let Self { seat, thread } = self;
        if !thread.progress.is_setup() && !std::mem::replace(&mut seat.away, true) {
            thread.recorder.outbox.say(Notice::Left { client: seat.number, at: thread.turn.now });
        }
    }

    /// The client has its link again, or has stopped.
    pub(super) fn come_back(&mut self) {
        let Self { seat, thread } = self;
        if std::mem::replace(&mut seat.away, false) {
            thread.recorder.outbox.say(Notice::Back { client: seat.number, at: thread.turn.now });
        }
    }

    /// The client works again: its reconnections are over, and its losses reset.
    pub(super) fn settle_links(&mut self) {
        if !std::mem::replace(&mut self.seat.disturbed, false) {
            return;
        }
        self.come_back();
        let Self { seat, thread } = self;
        let now = thread.turn.now;
        for link in &mut seat.links {
            if link.open {
                link.answered(&mut thread.timers);
            }
            link.losses = 0;
            let Some(Reconnection { since, opened }) = link.reconnection.take() else { continue };
            // Until the client is ready; where a transaction ended without that, until it was connected.
            let until = opened.filter(|_| seat.state == SeatState::Idle).unwrap_or(now);
            if thread.progress.window.measures(now) {
                thread.recorder.figures.reconnections += 1;
                thread.recorder.figures.reconnecting += until.saturating_sub(since);
            }
        }
    }
}
