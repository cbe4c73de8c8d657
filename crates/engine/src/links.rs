//! A client's links: bytes in and out, TLS. Their loss and reconnection is in [`crate::reconnect`].

use std::io;

use crate::client::{Event, Link, Step};
use crate::client_loop::{Command, Core};
use crate::driver::{Clock, Conn, Driver, Happened};
use crate::seat::Attempt;
use crate::tls::TlsLink;

/// How often the rest of one read is offered before other clients get their turn.
const OFFERS_PER_READ: u32 = 1024;

impl<C: Clock> Core<C> {
    /// Serves what the driver reports; gives the client it was for.
    #[inline]
    pub(crate) fn happened(&mut self, conn: Conn, happened: Happened<'_>) -> usize {
        self.stamp();
        let client = self.links[conn].client;
        if self.links[conn].attempt != Attempt::Free && !matches!(happened, Happened::Opened) {
            self.free_timer(conn);
        }
        match happened {
            Happened::Bytes(bytes) if self.links[conn].tls.is_some() => self.decrypt(conn, bytes),
            Happened::Bytes(bytes) => self.offer(conn, bytes),
            Happened::Opened => self.opened(conn),
            Happened::Closed(error) => self.lost(conn, error.as_ref()),
        }
        if self.seats[client].links > 1 {
            self.offer_unread(client, Some(conn));
        }
        client
    }

    /// Sends what a client wrote, then closes and connects as it wished.
    #[inline]
    pub(crate) fn flush(&mut self, client: usize, driver: &mut impl Driver) {
        for (conn, out) in self.seats[client].conns().zip(&mut self.outs) {
            let link = &mut self.links[conn];
            if let Some(tls) = &mut link.tls
                && (!out.is_empty() || tls.wants_write())
            {
                tls.seal(out, &mut link.wire);
            }
            if !link.wire.is_empty() {
                driver.send(conn, &mut link.wire);
            }
            if !out.is_empty() {
                if link.open {
                    driver.send(conn, out);
                } else {
                    // Written to a link that is not there.
                    out.clear();
                }
            }
        }
        debug_assert!(self.outs.iter().all(Vec::is_empty), "bytes of one client would go out as another's");
        for command in self.commands.drain(..) {
            match command {
                Command::Close(conn) => driver.close(conn),
                Command::Connect(conn) => driver.connect(conn, &self.links[conn].endpoint.address),
            }
        }
    }

    fn opened(&mut self, conn: Conn) {
        let link = &mut self.links[conn];
        link.open = true;
        if let Some(reconnection) = &mut link.reconnection {
            reconnection.opened = Some(self.now);
        }
        let (client, event) = (link.client, Event::Opened(link.link));
        let step = self.call(client, event);
        self.follow(client, step);
        self.offer_unread(client, None);
    }

    /// Offers new bytes, after those the client left before.
    fn offer(&mut self, conn: Conn, fresh: &[u8]) {
        let link = &mut self.links[conn];
        if !link.input.is_empty() {
            link.input.extend_from_slice(fresh);
            return self.offer_input(conn);
        }
        let generation = link.generation;
        let used = self.feed(conn, fresh);
        let link = &mut self.links[conn];
        if link.generation == generation {
            link.input.extend_from_slice(&fresh[used..]);
        }
    }

    /// Offers what a client left unread on its links, but for `except`, again.
    pub(crate) fn offer_unread(&mut self, client: usize, except: Option<Conn>) {
        for conn in self.seats[client].conns() {
            if Some(conn) != except && !self.links[conn].input.is_empty() {
                self.offer_input(conn);
            }
        }
    }

    fn offer_input(&mut self, conn: Conn) {
        let generation = self.links[conn].generation;
        let mut input = std::mem::take(&mut self.links[conn].input);
        let used = self.feed(conn, &input);
        if self.links[conn].generation == generation {
            input.drain(..used);
            self.links[conn].input = input;
        }
    }

    /// Offers `data` as long as that gets somewhere; gives how much was used. All of it when the connection ended.
    fn feed(&mut self, conn: Conn, data: &[u8]) -> usize {
        let (client, link, generation) = {
            let link = &self.links[conn];
            (link.client, link.link, link.generation)
        };
        let mut at = 0;
        for _ in 0..OFFERS_PER_READ {
            let mut used = 0;
            let step = self.call(client, Event::Bytes { link, data: &data[at..], used: &mut used });
            let used = used.min(data.len() - at);
            at += used;
            if step == Step::StartTls(link) && at < data.len() {
                self.shut(conn);
                self.lost(
                    conn,
                    Some(&io::Error::new(io::ErrorKind::InvalidData, "clear text after TLS was agreed on")),
                );
                return data.len();
            }
            let stuck = used == 0 && matches!(step, Step::Wait | Step::Until(_));
            if step != Step::Wait {
                self.follow(client, step);
            }
            if self.links[conn].generation != generation {
                return data.len();
            }
            if stuck || at == data.len() {
                return at;
            }
        }
        self.resume_later(client);
        at
    }

    pub(crate) fn start_tls(&mut self, client: usize, link: Link) {
        let Some(conn) = self.conn_of(client, link) else { return };
        let (link, out) = (&mut self.links[conn], &mut self.outs[link]);
        link.last_words(out);
        let started = match &link.endpoint.tls {
            Some(tls) => TlsLink::start(tls),
            None => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "TLS was asked for, but not set up for this link",
            )),
        };
        match started {
            Ok(tls) => link.tls = Some(tls),
            Err(error) => {
                self.shut(conn);
                self.lost(conn, Some(&error));
            }
        }
    }

    fn decrypt(&mut self, conn: Conn, wire: &[u8]) {
        let (client, link, generation) = {
            let link = &self.links[conn];
            (link.client, link.link, link.generation)
        };
        let Some(mut tls) = self.links[conn].tls.take() else { return };
        let mut plain = std::mem::take(&mut self.plain);
        plain.clear();
        let outcome = tls.open(wire, &mut plain);
        let secured = tls.newly_secured();
        let step =
            secured.then(|| self.call(client, Event::Secured { link, certificate: tls.certificate() }));
        self.links[conn].tls = Some(tls);
        if let Some(step) = step {
            self.follow(client, step);
        }
        if self.links[conn].generation == generation && !plain.is_empty() {
            self.offer(conn, &plain);
        }
        self.plain = plain;
        if let Err(error) = outcome
            && self.links[conn].generation == generation
        {
            self.shut(conn);
            self.lost(conn, Some(&error));
        }
    }

    /// Closes a link after its last words; no event follows from it.
    pub(crate) fn shut(&mut self, conn: Conn) {
        let link = &mut self.links[conn];
        let out = &mut self.outs[link.link];
        if link.open {
            link.last_words(out);
        }
        out.clear();
        link.end();
        self.free_timer(conn);
        self.commands.push(Command::Close(conn));
    }

    /// The connection behind a client's link; a client that names one it does not have is stopped.
    pub(crate) fn conn_of(&mut self, client: usize, link: Link) -> Option<Conn> {
        let conns = self.seats[client].conns();
        let conn = conns.start + link;
        if conns.contains(&conn) {
            return Some(conn);
        }
        self.notes.abort = Some((Vec::new(), format!("stopped, because its workload has no link {link}")));
        self.stop_client(client);
        None
    }
}
