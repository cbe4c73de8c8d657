//! Links that are lost, and made again: at once, or after pauses that grow while the peer does not take them.

use std::io;

use crate::client::{Event, Link};
use crate::client_loop::{Command, Core};
use crate::driver::{Clock, Conn};
use crate::outbox::Said;
use crate::phases::Phase;
use crate::seat::{Attempt, RECONNECT_PATIENCE, Reconnection, State};

impl<C: Clock> Core<C> {
    /// Tells a client that a link is gone.
    pub(crate) fn lost(&mut self, conn: Conn, error: Option<&io::Error>) {
        let link = &mut self.links[conn];
        link.end();
        let (client, link) = (link.client, link.link);
        self.outs[link].clear();
        self.count_loss(conn);
        if self.seats[client].state != State::Over {
            let step = self.call(client, Event::Closed { link, error });
            self.follow(client, step);
        }
    }

    /// A connection was lost, or an attempt to make it again failed.
    pub(crate) fn count_loss(&mut self, conn: Conn) {
        let link = &mut self.links[conn];
        link.losses = link.losses.saturating_add(1);
        self.seats[link.client].disturbed = true;
        if link.reconnection.is_none() && self.recorder.measures(self.now) {
            self.recorder.figures.connections_lost += 1;
        }
    }

    /// A link's timer has come: its pause is over, or its peer said nothing.
    pub(crate) fn attempt(&mut self, conn: Conn) {
        let key = 2 * self.seats.len() + conn;
        let link = &mut self.links[conn];
        match std::mem::replace(&mut link.attempt, Attempt::Free) {
            Attempt::Free => {}
            Attempt::Pausing => {
                link.attempt = Attempt::Waiting;
                self.timers.set(key, self.now.saturating_add(RECONNECT_PATIENCE));
                self.commands.push(Command::Connect(conn));
            }
            Attempt::Waiting => {
                self.shut(conn);
                self.lost(conn, Some(&io::Error::new(io::ErrorKind::TimedOut, "timeout expired")));
            }
        }
    }

    pub(crate) fn free_timer(&mut self, conn: Conn) {
        if std::mem::replace(&mut self.links[conn].attempt, Attempt::Free) != Attempt::Free {
            self.timers.cancel(2 * self.seats.len() + conn);
        }
    }

    pub(crate) fn reconnect(&mut self, client: usize, link: Link) {
        let Some(conn) = self.conn_of(client, link) else { return };
        // It may have been stopped by the end of the transaction that it told of.
        if self.seats[client].state == State::Over {
            return;
        }
        self.shut(conn);
        if self.links[conn].losses > 0 {
            self.go_away(client);
        }
        let seat = &mut self.seats[client];
        seat.disturbed = true;
        if seat.state == State::Idle {
            seat.state = State::Setup;
        }
        let key = 2 * self.seats.len() + conn;
        let link = &mut self.links[conn];
        link.reconnection.get_or_insert(Reconnection { since: self.now, opened: None });
        match link.pause() {
            0 => self.commands.push(Command::Connect(conn)),
            pause => {
                link.attempt = Attempt::Pausing;
                self.timers.set(key, self.now.saturating_add(pause));
            }
        }
    }

    /// A client is without a link it wants back. Before the load nobody misses it.
    fn go_away(&mut self, client: usize) {
        let seat = &mut self.seats[client];
        if !matches!(self.phase, Phase::Setup { .. }) && !std::mem::replace(&mut seat.away, true) {
            self.recorder.outbox.say(Said::Left { client: seat.number, at: self.now });
        }
    }

    /// A client is there again, or nobody waits for it any more.
    pub(crate) fn come_back(&mut self, client: usize) {
        let seat = &mut self.seats[client];
        if std::mem::replace(&mut seat.away, false) {
            self.recorder.outbox.say(Said::Back { client: seat.number, at: self.now });
        }
    }

    /// A client works again: its reconnections are over, its losses forgiven.
    pub(crate) fn settle_links(&mut self, client: usize) {
        let seat = &mut self.seats[client];
        if !std::mem::replace(&mut seat.disturbed, false) {
            return;
        }
        let (ended, conns) = (seat.state == State::Idle, seat.conns());
        self.come_back(client);
        for conn in conns {
            if self.links[conn].open {
                self.free_timer(conn);
            }
            let link = &mut self.links[conn];
            link.losses = 0;
            let Some(Reconnection { since, opened }) = link.reconnection.take() else { continue };
            // Until the client says it works; where a transaction ended without that, until it was connected.
            let until = opened.filter(|_| ended).unwrap_or(self.now);
            if self.window.measures(self.now) {
                self.recorder.figures.reconnections += 1;
                self.recorder.figures.reconnecting += until.saturating_sub(since);
            }
        }
    }
}
