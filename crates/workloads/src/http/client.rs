//! A client of a web server: one request at a time, over a persistent connection or one per request; or all
//! requests of a view at once over several connections, as in browsers.

use std::io;
use std::sync::Arc;

use engine::{Abort, Client, Endpoint, Event, Failure, Io, Link, Returned, Step, TransactionOutcome};
use protocol::http::Get;
use protocol::wording;
use script::Random;

use super::accept::Accept;
use super::connection::{ClientConnection, ResponseEnd};
use super::requests::{Request, Requests};
use crate::link::MOST_MESSAGES;
use crate::views::Visit;

/// Common to all clients of a run.
#[derive(Debug)]
pub(super) struct Shared {
    /// Addresses of the server; one must accept connections.
    pub(super) endpoints: Vec<Endpoint>,
    /// Host and port, for messages.
    pub(super) server: String,
    pub(super) secure: bool,
    pub(super) keepalive: bool,
    /// Connections per client, at least 1.
    pub(super) links: usize,
    pub(super) accept: Accept,
}

#[derive(Debug)]
pub(super) struct HttpClient {
    shared: Arc<Shared>,
    requests: Arc<Requests>,
    number: usize,
    random: Random,
    visit: Visit,
    connections: Vec<ClientConnection>,
    /// Requests of the transaction that no connection has taken yet, the last one first.
    waiting: Vec<Request>,
    /// Requests taken by a connection and not answered yet; 0 when no transaction is open.
    busy: usize,
    /// The outcome of the transaction so far.
    outcome: TransactionOutcome,
    /// The server has answered once: later failures count, and the client continues.
    answered: bool,
    reported: u32,
}

impl HttpClient {
    pub(super) fn new(shared: Arc<Shared>, requests: Arc<Requests>, number: usize, random: Random) -> Self {
        let connections = (0..shared.links.max(1)).map(|_| ClientConnection::new()).collect();
        let outcome =
            TransactionOutcome { script: 0, failure: None, tries: 1, returned: Returned::default() };
        let (visit, waiting) = Default::default();
        Self {
            shared,
            requests,
            number,
            random,
            visit,
            connections,
            waiting,
            busy: 0,
            outcome,
            answered: false,
            reported: 0,
        }
    }

    /// Starts the next transaction: all connections take requests at once.
    fn begin(&mut self, io: &mut Io<'_>) -> Step {
        let requests = self.requests.next(&mut self.random, &mut self.visit);
        self.waiting.clear();
        self.waiting.extend(requests.iter().rev().cloned());
        let Some(first) = requests.first() else {
            return self.give_up("there is nothing to ask for", false, io);
        };
        let returned = Returned::default();
        self.outcome = TransactionOutcome { script: first.script, failure: None, tries: 1, returned };
        let mut step = Step::Wait;
        for link in 0..self.connections.len() {
            let Some(request) = self.waiting.pop() else { break };
            // Only a client's single connection may be closed here.
            if let connects @ Step::Reconnect(_) = self.ask(link, request, io) {
                step = connects;
            }
        }
        step
    }

    /// Sends a request over this connection, once it is open.
    #[inline]
    fn ask(&mut self, link: Link, request: Request, io: &mut Io<'_>) -> Step {
        let connection = &mut self.connections[link];
        connection.take(request, io.now);
        self.busy += 1;
        if !connection.open {
            return Step::Reconnect(link);
        }
        self.send(link, io)
    }

    #[inline]
    fn send(&self, link: Link, io: &mut Io<'_>) -> Step {
        if let Some(request) = &self.connections[link].request {
            io.out(link).extend_from_slice(self.requests.bytes(request));
        }
        Step::Wait
    }

    /// The connection takes requests.
    fn up(&mut self, link: Link, io: &mut Io<'_>) -> Step {
        self.connections[link].up();
        if self.connections[link].asking {
            return self.send(link, io);
        }
        // The client is free when all its connections are open.
        match self.busy == 0 && self.all_open() {
            true => Step::Ready,
            false => Step::Wait,
        }
    }

    fn all_open(&self) -> bool {
        self.connections.iter().all(|connection| connection.open)
    }

    fn bytes(&mut self, link: Link, data: &[u8], used: &mut usize, io: &mut Io<'_>) -> Step {
        let connection = &mut self.connections[link];
        if !connection.asking {
            // Some servers explain why they close an idle connection.
            *used = data.len();
            self.close(link, io);
            return Step::Reconnect(link);
        }
        match connection.next(data, used, &self.shared.accept) {
            Ok(None) => Step::Wait,
            // It would be mistaken for the answer to the next request.
            Ok(Some(_)) if *used < data.len() => {
                *used = data.len();
                self.fail(link, "more came than one response", io)
            }
            Ok(Some(ended)) => self.end(link, &ended, io),
            Err(broken) => self.fail(link, &broken.to_string(), io),
        }
    }

    #[inline]
    fn end(&mut self, link: Link, ended: &ResponseEnd, io: &mut Io<'_>) -> Step {
        let ResponseEnd { bytes, stays, fault } = *ended;
        (self.connections[link].served, self.answered) = (true, true);
        if !stays || !self.shared.keepalive {
            self.close(link, io);
        }
        self.outcome.returned.bytes += bytes;
        let connection = &self.connections[link];
        if let Some(fault) = fault {
            let words =
                (self.reported < MOST_MESSAGES).then(|| connection.seen(self.path(link)).in_words(fault));
            self.failed(words, io);
        } else {
            self.outcome.returned.rows += u64::from(bytes > 0);
            if let Some(item) = connection.request.as_ref().and_then(|request| request.item) {
                io.item(item, io.now.saturating_sub(connection.asked), bytes);
            }
        }
        self.came(link, io)
    }

    /// The response is invalid; the connection cannot be used any more.
    fn fail(&mut self, link: Link, reason: &str, io: &mut Io<'_>) -> Step {
        self.close(link, io);
        let words = format!("GET {}: {reason}", self.path(link));
        self.failed(Some(words), io);
        self.came(link, io)
    }

    /// The transaction fails; its other requests are still sent.
    fn failed(&mut self, words: Option<String>, io: &mut Io<'_>) {
        self.outcome.failure = Some(Failure::Other);
        if let Some(words) = words.filter(|_| self.reported < MOST_MESSAGES) {
            self.reported += 1;
            io.message(format!("client {}: {words}", self.number));
        }
    }

    /// A request is over: sends the next one, or ends the transaction after the last one.
    #[inline]
    fn came(&mut self, link: Link, io: &mut Io<'_>) -> Step {
        let connection = &mut self.connections[link];
        connection.asking = false;
        self.busy -= 1;
        self.outcome.tries = self.outcome.tries.max(connection.tries);
        self.outcome.returned.queries += 1;
        // A client with one connection reopens it on demand; with several at once.
        let again = !connection.open && self.connections.len() > 1;
        if let Some(next) = self.waiting.pop() {
            return self.ask(link, next, io);
        }
        if self.busy == 0 {
            if self.connections.len() == 1 || self.all_open() {
                return Step::Ended(self.outcome);
            }
            io.ended(self.outcome);
        }
        if again { Step::Reconnect(link) } else { Step::Wait }
    }

    fn path(&self, link: Link) -> &str {
        let request = self.connections[link].request.as_ref();
        request.map_or("", |request| Get::path_of(self.requests.bytes(request)))
    }

    fn close(&mut self, link: Link, io: &mut Io<'_>) {
        if std::mem::take(&mut self.connections[link].open) {
            io.close(link);
        }
    }

    /// The connection is gone, or could not be made.
    fn closed(&mut self, link: Link, error: Option<&io::Error>, io: &mut Io<'_>) -> Step {
        let connection = &mut self.connections[link];
        if !std::mem::take(&mut connection.open) {
            return self.not_connected(link, error, io);
        }
        if !connection.asking {
            return Step::Reconnect(link);
        }
        match connection.last(&self.shared.accept) {
            Ok(Some(ended)) => self.end(link, &ended, io),
            Err(broken) => self.fail(link, &broken.to_string(), io),
            // It had answered before, and was perhaps about to close the connection when the request came.
            Ok(None) if connection.served && connection.tries == 1 => {
                connection.tries = 2;
                Step::Reconnect(link)
            }
            Ok(None) if self.answered => self.fail(link, &reason(error), io),
            Ok(None) => self.give_up(&reason(error), true, io),
        }
    }

    /// Tries the next address that was not tried yet.
    fn not_connected(&mut self, link: Link, error: Option<&io::Error>, io: &mut Io<'_>) -> Step {
        let places = &self.shared.endpoints;
        if let Some(place) = self.connections[link].elsewhere(places.len()) {
            io.redirect(link, places[place].clone());
            return Step::Reconnect(link);
        }
        let advice = match error.map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionRefused) => "; is a web server running there?",
            Some(io::ErrorKind::InvalidData)
                if self.shared.secure && reason(error).contains("certificate") =>
            {
                "; if its certificate need not be checked, write insecure = true"
            }
            _ => "",
        };
        self.give_up(&(reason(error) + advice), true, io)
    }

    fn give_up(&mut self, reason: &str, lost: bool, io: &mut Io<'_>) -> Step {
        let message = format!("client {} of {} aborted: {reason}", self.number, self.shared.server);
        io.abort_because(Abort { message, lost, ..Abort::default() });
        Step::Done
    }
}

fn reason(error: Option<&io::Error>) -> String {
    error.map_or_else(|| "the server closed the connection".to_owned(), wording::system)
}

impl Client for HttpClient {
    fn endpoints(&self) -> Vec<Endpoint> {
        let first = self.shared.endpoints.first();
        first.into_iter().flat_map(|first| self.connections.iter().map(|_| first.clone())).collect()
    }

    fn handle(&mut self, event: Event<'_>, io: &mut Io<'_>) -> Step {
        match event {
            Event::Bytes { link, data, used } => self.bytes(link, data, used, io),
            Event::Slot { .. } => self.begin(io),
            Event::Opened(link) if self.shared.secure => Step::StartTls(link),
            Event::Opened(link) | Event::Secured { link, .. } => self.up(link, io),
            Event::Closed { link, error } => self.closed(link, error, io),
            Event::Timer | Event::Woken => Step::Wait,
        }
    }

    fn script(&mut self) -> u16 {
        self.outcome.script
    }

    /// One of several connections is opened before the first request.
    fn on_demand(&self) -> bool {
        !self.shared.keepalive && self.connections.len() == 1
    }
}
