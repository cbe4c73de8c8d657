//! A client's links: bytes in and out, TLS.

use std::io;

use super::Serving;
use crate::client::{Event, Link, Step};
use crate::client_loop::tls::TlsLink;
use crate::driver::Clock;

/// How often the rest of one read is offered before other clients are served.
const OFFERS_PER_READ: u32 = 1024;

impl<C: Clock> Serving<'_, C> {
    pub(super) fn opened(&mut self, link: Link) {
        let state = &mut self.seat.links[link];
        state.open = true;
        if let Some(reconnection) = &mut state.reconnection {
            reconnection.opened = Some(self.thread.turn.now);
        }
        self.send(Event::Opened(link));
        self.offer_unread(None);
    }

    /// Offers new bytes, after those the client left before.
    pub(super) fn offer(&mut self, link: Link, fresh: &[u8]) {
        let state = &mut self.seat.links[link];
        if !state.input.is_empty() {
            state.input.extend_from_slice(fresh);
            return self.offer_input(link);
        }
        let generation = state.generation;
        let used = self.feed(link, fresh);
        let state = &mut self.seat.links[link];
        if state.generation == generation {
            state.input.extend_from_slice(&fresh[used..]);
        }
    }

    /// Offers again what the client left unread on its links other than `except`.
    pub(super) fn offer_unread(&mut self, except: Option<Link>) {
        for link in 0..self.seat.links.len() {
            if Some(link) != except && !self.seat.links[link].input.is_empty() {
                self.offer_input(link);
            }
        }
    }

    fn offer_input(&mut self, link: Link) {
        let state = &mut self.seat.links[link];
        let generation = state.generation;
        let mut input = std::mem::take(&mut state.input);
        let used = self.feed(link, &input);
        let state = &mut self.seat.links[link];
        if state.generation == generation {
            input.drain(..used);
            state.input = input;
        }
    }

    /// Offers `data` while the client uses some of it; returns how much was used. All of it when the
    /// connection ended.
    fn feed(&mut self, link: Link, data: &[u8]) -> usize {
        let generation = self.seat.links[link].generation;
        let mut at = 0;
        for _ in 0..OFFERS_PER_READ {
            let mut used = 0;
            let step = self.call(Event::Bytes { link, data: &data[at..], used: &mut used });
            let used = used.min(data.len() - at);
            at += used;
            if step == Step::StartTls(link) && at < data.len() {
                self.fail(link, &invalid(io::ErrorKind::InvalidData, "clear text after TLS was agreed on"));
                return data.len();
            }
            let stuck = used == 0 && matches!(step, Step::Wait | Step::Until(_));
            if step != Step::Wait {
                self.follow(step);
            }
            if self.seat.links[link].generation != generation {
                return data.len();
            }
            if stuck || at == data.len() {
                return at;
            }
        }
        self.resume_later();
        at
    }

    pub(super) fn start_tls(&mut self, link: Link) {
        if self.link(link).is_none() {
            return;
        }
        let state = &mut self.seat.links[link];
        state.pending_output(&mut self.thread.lent.outs[link]);
        let started = match &state.endpoint.tls {
            Some(tls) => TlsLink::start(tls),
            None => {
                Err(invalid(io::ErrorKind::InvalidInput, "TLS was asked for, but not set up for this link"))
            }
        };
        match started {
            Ok(tls) => state.tls = Some(tls),
            Err(error) => self.fail(link, &error),
        }
    }

    pub(super) fn decrypt(&mut self, link: Link, wire: &[u8]) {
        let state = &mut self.seat.links[link];
        let generation = state.generation;
        let Some(mut tls) = state.tls.take() else { return };
        let mut plain = std::mem::take(&mut self.thread.lent.plain);
        plain.clear();
        let outcome = tls.open(wire, &mut plain);
        let secured = tls.newly_secured();
        let step = secured.then(|| self.call(Event::Secured { link, certificate: tls.certificate() }));
        self.seat.links[link].tls = Some(tls);
        if let Some(step) = step {
            self.follow(step);
        }
        if self.seat.links[link].generation == generation && !plain.is_empty() {
            self.offer(link, &plain);
        }
        self.thread.lent.plain = plain;
        if let Err(error) = outcome
            && self.seat.links[link].generation == generation
        {
            self.fail(link, &error);
        }
    }

    /// Closes a link after its pending output; no event follows.
    pub(super) fn shut(&mut self, link: Link) {
        self.seat.links[link].shut(&mut self.thread.lent.outs[link], &mut self.thread.timers);
    }

    /// Closes a link that failed, and sends the client [`Event::Closed`].
    pub(super) fn fail(&mut self, link: Link, error: &io::Error) {
        self.shut(link);
        self.lost(link, Some(error));
    }
}

fn invalid(kind: io::ErrorKind, what: &'static str) -> io::Error {
    io::Error::new(kind, what)
}
