//! A client of a web server: one request at a time, over a connection that is kept, or one for each; or all requests of a view
//! at once over several connections, as browsers do.

use std::io;
use std::sync::Arc;

use engine::{Abort, Client, Endpoint, Event, Failure, Io, Link, Outcome, Returned, Step};
use protocol::http::Get;
use protocol::wording;
use script::Random;

use super::accept::Accept;
use super::courier::{Courier, Ended};
use super::requests::{Request, Requests};
use crate::views::Visit;

/// Failures told in words; the rest is only counted.
const TOLD: u32 = 3;

/// What all clients of a run have in common.
#[derive(Debug)]
pub(super) struct Manner {
    /// Where the server is; the first that takes connections is enough.
    pub(super) endpoints: Vec<Endpoint>,
    /// Its host and port, for messages.
    pub(super) server: String,
    pub(super) secure: bool,
    pub(super) keepalive: bool,
    /// Connections of each client, at least 1.
    pub(super) links: usize,
    pub(super) accept: Accept,
}

#[derive(Debug)]
pub(super) struct HttpClient {
    manner: Arc<Manner>,
    requests: Arc<Requests>,
    number: usize,
    random: Random,
    visit: Visit,
    couriers: Vec<Courier>,
    /// Requests of the transaction, the last one first; those that no connection has taken over yet.
    waiting: Vec<Request>,
    /// Requests that have no answer yet, of those that were taken over; 0 when no transaction is open.
    busy: usize,
    /// What the transaction gave so far.
    outcome: Outcome,
    /// The server answered once: what comes to nothing later fails, and is no reason to give up.
    answered: bool,
    told: u32,
}

impl HttpClient {
    pub(super) fn new(manner: Arc<Manner>, requests: Arc<Requests>, number: usize, random: Random) -> Self {
        let couriers = (0..manner.links.max(1)).map(|_| Courier::new()).collect();
        let outcome = Outcome { script: 0, failure: None, tries: 1, returned: Returned::default() };
        let (visit, waiting) = Default::default();
        Self {
            manner,
            requests,
            number,
            random,
            visit,
            couriers,
            waiting,
            busy: 0,
            outcome,
            answered: false,
            told: 0,
        }
    }

    /// The next transaction: all connections take requests over at once.
    fn begin(&mut self, io: &mut Io<'_>) -> Step {
        let requests = self.requests.next(&mut self.random, &mut self.visit);
        self.waiting.clear();
        self.waiting.extend(requests.iter().rev().cloned());
        let Some(first) = requests.first() else {
            return self.give_up("there is nothing to ask for", false, io);
        };
        let returned = Returned::default();
        self.outcome = Outcome { script: first.script, failure: None, tries: 1, returned };
        let mut step = Step::Wait;
        for link in 0..self.couriers.len() {
            let Some(request) = self.waiting.pop() else { break };
            // Only that of a client that has no other may be closed here.
            if let connects @ Step::Reconnect(_) = self.ask(link, request, io) {
                step = connects;
            }
        }
        step
    }

    /// Asks over this connection, once it is there.
    #[inline]
    fn ask(&mut self, link: Link, request: Request, io: &mut Io<'_>) -> Step {
        let courier = &mut self.couriers[link];
        courier.take(request, io.now);
        self.busy += 1;
        if !courier.open {
            return Step::Reconnect(link);
        }
        self.send(link, io)
    }

    #[inline]
    fn send(&self, link: Link, io: &mut Io<'_>) -> Step {
        if let Some(request) = &self.couriers[link].request {
            io.out(link).extend_from_slice(self.requests.bytes(request));
        }
        Step::Wait
    }

    /// The connection takes requests.
    fn up(&mut self, link: Link, io: &mut Io<'_>) -> Step {
        self.couriers[link].up();
        if self.couriers[link].asking {
            return self.send(link, io);
        }
        // The client is free when all its connections are there.
        match self.busy == 0 && self.all_open() {
            true => Step::Ready,
            false => Step::Wait,
        }
    }

    fn all_open(&self) -> bool {
        self.couriers.iter().all(|courier| courier.open)
    }

    fn bytes(&mut self, link: Link, data: &[u8], used: &mut usize, io: &mut Io<'_>) -> Step {
        let courier = &mut self.couriers[link];
        if !courier.asking {
            // Some servers say why they are about to close a connection that nobody uses.
            *used = data.len();
            self.close(link, io);
            return Step::Reconnect(link);
        }
        match courier.next(data, used, &self.manner.accept) {
            Ok(None) => Step::Wait,
            // It would be taken for the answer to the next request.
            Ok(Some(_)) if *used < data.len() => {
                *used = data.len();
                self.fail(link, "more came than one response", io)
            }
            Ok(Some(ended)) => self.end(link, &ended, io),
            Err(broken) => self.fail(link, &broken.to_string(), io),
        }
    }

    #[inline]
    fn end(&mut self, link: Link, ended: &Ended, io: &mut Io<'_>) -> Step {
        let Ended { bytes, stays, fault } = *ended;
        (self.couriers[link].served, self.answered) = (true, true);
        if !stays || !self.manner.keepalive {
            self.close(link, io);
        }
        self.outcome.returned.bytes += bytes;
        let courier = &self.couriers[link];
        if let Some(fault) = fault {
            let words = (self.told < TOLD).then(|| courier.seen(self.path(link)).in_words(fault));
            self.failed(words, io);
        } else {
            self.outcome.returned.rows += u64::from(bytes > 0);
            if let Some(item) = courier.request.as_ref().and_then(|request| request.item) {
                io.item(item, io.now.saturating_sub(courier.asked), bytes);
            }
        }
        self.came(link, io)
    }

    /// The response is none; the connection is of no use any more.
    fn fail(&mut self, link: Link, reason: &str, io: &mut Io<'_>) -> Step {
        self.close(link, io);
        let words = format!("GET {}: {reason}", self.path(link));
        self.failed(Some(words), io);
        self.came(link, io)
    }

    /// The transaction fails; what else it asks for is asked for nevertheless.
    fn failed(&mut self, words: Option<String>, io: &mut Io<'_>) {
        self.outcome.failure = Some(Failure::Other);
        if let Some(words) = words.filter(|_| self.told < TOLD) {
            self.told += 1;
            io.message(format!("client {}: {words}", self.number));
        }
    }

    /// A request is over: the next one goes out, or the last one ends the transaction.
    #[inline]
    fn came(&mut self, link: Link, io: &mut Io<'_>) -> Step {
        let courier = &mut self.couriers[link];
        courier.asking = false;
        self.busy -= 1;
        self.outcome.tries = self.outcome.tries.max(courier.tries);
        self.outcome.returned.queries += 1;
        // A client of one connection makes it again when it needs it; one of several at once.
        let again = !courier.open && self.couriers.len() > 1;
        if let Some(next) = self.waiting.pop() {
            return self.ask(link, next, io);
        }
        if self.busy == 0 {
            if self.couriers.len() == 1 || self.all_open() {
                return Step::Ended(self.outcome);
            }
            io.ended(self.outcome);
        }
        if again { Step::Reconnect(link) } else { Step::Wait }
    }

    fn path(&self, link: Link) -> &str {
        let request = self.couriers[link].request.as_ref();
        request.map_or("", |request| Get::path_of(self.requests.bytes(request)))
    }

    fn close(&mut self, link: Link, io: &mut Io<'_>) {
        if std::mem::take(&mut self.couriers[link].open) {
            io.close(link);
        }
    }

    /// The connection is gone, or could not be made.
    fn closed(&mut self, link: Link, error: Option<&io::Error>, io: &mut Io<'_>) -> Step {
        let courier = &mut self.couriers[link];
        if !std::mem::take(&mut courier.open) {
            return self.not_connected(link, error, io);
        }
        if !courier.asking {
            return Step::Reconnect(link);
        }
        match courier.last(&self.manner.accept) {
            Ok(Some(ended)) => self.end(link, &ended, io),
            Err(broken) => self.fail(link, &broken.to_string(), io),
            // It had answered before, and was perhaps about to close the connection when the request came.
            Ok(None) if courier.served && courier.tries == 1 => {
                courier.tries = 2;
                Step::Reconnect(link)
            }
            Ok(None) if self.answered => self.fail(link, &reason(error), io),
            Ok(None) => self.give_up(&reason(error), true, io),
        }
    }

    /// Goes to the next place, as long as there is one that was not tried.
    fn not_connected(&mut self, link: Link, error: Option<&io::Error>, io: &mut Io<'_>) -> Step {
        let places = &self.manner.endpoints;
        if let Some(place) = self.couriers[link].elsewhere(places.len()) {
            io.redirect(link, places[place].clone());
            return Step::Reconnect(link);
        }
        let advice = match error.map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionRefused) => "; is a web server running there?",
            Some(io::ErrorKind::InvalidData)
                if self.manner.secure && reason(error).contains("certificate") =>
            {
                "; if its certificate need not be checked, write insecure = true"
            }
            _ => "",
        };
        self.give_up(&(reason(error) + advice), true, io)
    }

    fn give_up(&mut self, reason: &str, lost: bool, io: &mut Io<'_>) -> Step {
        let message = format!("client {} of {} aborted: {reason}", self.number, self.manner.server);
        io.abort_because(Abort { message, lost, ..Abort::default() });
        Step::Done
    }
}

fn reason(error: Option<&io::Error>) -> String {
    error.map_or_else(|| "the server closed the connection".to_owned(), wording::system)
}

impl Client for HttpClient {
    fn endpoints(&self) -> Vec<Endpoint> {
        let first = self.manner.endpoints.first();
        first.into_iter().flat_map(|first| self.couriers.iter().map(|_| first.clone())).collect()
    }

    fn handle(&mut self, event: Event<'_>, io: &mut Io<'_>) -> Step {
        match event {
            Event::Bytes { link, data, used } => self.bytes(link, data, used, io),
            Event::Slot { .. } => self.begin(io),
            Event::Opened(link) if self.manner.secure => Step::StartTls(link),
            Event::Opened(link) | Event::Secured { link, .. } => self.up(link, io),
            Event::Closed { link, error } => self.closed(link, error, io),
            Event::Timer | Event::Woken => Step::Wait,
        }
    }

    fn script(&mut self) -> u16 {
        self.outcome.script
    }

    /// One of several connections has them before its first request.
    fn on_demand(&self) -> bool {
        !self.manner.keepalive && self.couriers.len() == 1
    }
}
