//! A client of a web server: one request at a time, over a connection that is kept, or one for each.

use std::io;
use std::sync::Arc;

use engine::{Abort, Client, Endpoint, Event, Failure, Io, Outcome, Returned, Step, Time};
use protocol::http::{Get, Response, Responses, Want};
use protocol::wording;
use script::Random;

use super::accept::{Accept, Fault};
use super::requests::{Request, Requests};
use super::words::Seen;

const LINK: usize = 0;
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
    pub(super) accept: Accept,
}

/// One client.
#[derive(Debug)]
pub(super) struct HttpClient {
    manner: Arc<Manner>,
    requests: Arc<Requests>,
    number: usize,
    random: Random,
    responses: Responses,
    /// What it asks for, or asked for last.
    request: Option<Request>,
    /// A transaction is open.
    asking: bool,
    /// The connection takes requests.
    open: bool,
    /// The connection has given a response.
    served: bool,
    /// When the transaction began.
    began: Time,
    /// How often the request was sent.
    tries: u32,
    /// Which of the places it goes to, and how many in a row took no connection.
    endpoint: usize,
    refused: usize,
    told: u32,
}

/// What is kept of a response.
struct Ended {
    bytes: u64,
    stays: bool,
    fault: Option<Fault>,
}

impl Ended {
    #[inline]
    fn of(response: &Response<'_>, accept: &Accept) -> Self {
        let fault = accept.fault_of(response);
        Self { bytes: response.bytes, stays: response.stays, fault }
    }
}

impl HttpClient {
    pub(super) fn new(manner: Arc<Manner>, requests: Arc<Requests>, number: usize, random: Random) -> Self {
        Self {
            manner,
            requests,
            number,
            random,
            responses: Responses::new(Want::Skip),
            request: None,
            asking: false,
            open: false,
            served: false,
            began: 0,
            tries: 0,
            endpoint: 0,
            refused: 0,
            told: 0,
        }
    }

    fn begin(&mut self, io: &mut Io<'_>) -> Step {
        self.request = self.requests.draw(&mut self.random).cloned();
        self.asking = true;
        self.began = io.now;
        self.tries = 1;
        if !self.open {
            return Step::Reconnect(LINK);
        }
        self.send(io)
    }

    #[inline]
    fn send(&mut self, io: &mut Io<'_>) -> Step {
        let Some(request) = &self.request else {
            return self.give_up("there is nothing to ask for", false, io);
        };
        io.out(LINK).extend_from_slice(self.requests.bytes(request));
        Step::Wait
    }

    /// The connection takes requests.
    fn up(&mut self, io: &mut Io<'_>) -> Step {
        self.responses.restart();
        (self.open, self.served, self.refused) = (true, false, 0);
        if self.asking { self.send(io) } else { Step::Ready }
    }

    fn bytes(&mut self, data: &[u8], used: &mut usize, io: &mut Io<'_>) -> Step {
        if !self.asking {
            // Some servers say why they are about to close a connection that nobody uses.
            *used = data.len();
            self.close(io);
            return Step::Reconnect(LINK);
        }
        let next = self.responses.next(data, used);
        match next.map(|response| response.map(|response| Ended::of(&response, &self.manner.accept))) {
            Ok(None) => Step::Wait,
            Ok(Some(ended)) => self.end(ended, io),
            Err(broken) => self.fail(&broken.to_string(), io),
        }
    }

    #[inline]
    fn end(&mut self, ended: Ended, io: &mut Io<'_>) -> Step {
        let Ended { bytes, stays, fault } = ended;
        self.served = true;
        if !stays || !self.manner.keepalive {
            self.close(io);
        }
        if let Some(fault) = fault {
            let response = self.responses.last();
            let words = self.told < TOLD;
            let words = words.then(|| {
                let seen = Seen {
                    path: self.path(),
                    status: response.status,
                    content_type: response.content_type,
                    location: response.location,
                    encoding: response.encoding,
                    body: response.first,
                };
                seen.in_words(fault)
            });
            self.tell(words, io);
        }
        if fault.is_none()
            && let Some(item) = self.request.as_ref().and_then(|request| request.item)
        {
            io.item(item, io.now.saturating_sub(self.began), bytes);
        }
        self.ended(u64::from(bytes > 0 && fault.is_none()), bytes, fault.is_some())
    }

    /// The response is none; the connection is of no use any more.
    fn fail(&mut self, reason: &str, io: &mut Io<'_>) -> Step {
        self.close(io);
        let words = format!("GET {}: {reason}", self.path());
        self.tell(Some(words), io);
        self.ended(0, 0, true)
    }

    fn ended(&mut self, rows: u64, bytes: u64, failed: bool) -> Step {
        self.asking = false;
        let failure = failed.then_some(Failure::Other);
        let returned = Returned { rows, bytes, queries: 1, ..Returned::default() };
        let script = self.request.as_ref().map_or(0, |request| request.script);
        Step::Ended(Outcome { script, failure, tries: self.tries, returned })
    }

    fn tell(&mut self, words: Option<String>, io: &mut Io<'_>) {
        if let Some(words) = words.filter(|_| self.told < TOLD) {
            self.told += 1;
            io.message(format!("client {}: {words}", self.number));
        }
    }

    fn path(&self) -> &str {
        self.request.as_ref().map_or("", |request| Get::path_of(self.requests.bytes(request)))
    }

    fn close(&mut self, io: &mut Io<'_>) {
        if std::mem::take(&mut self.open) {
            io.close(LINK);
        }
    }

    /// The connection is gone, or could not be made.
    fn closed(&mut self, error: Option<&io::Error>, io: &mut Io<'_>) -> Step {
        if !std::mem::take(&mut self.open) {
            return self.not_connected(error, io);
        }
        if !self.asking {
            return Step::Reconnect(LINK);
        }
        let last = self.responses.closed();
        match last.map(|response| response.map(|response| Ended::of(&response, &self.manner.accept))) {
            Ok(Some(ended)) => self.end(ended, io),
            Err(broken) => self.fail(&broken.to_string(), io),
            // It had answered before, and was perhaps about to close the connection when the request came.
            Ok(None) if self.served && self.tries == 1 => {
                self.tries = 2;
                Step::Reconnect(LINK)
            }
            Ok(None) => self.give_up(&reason(error), true, io),
        }
    }

    /// Goes to the next place, as long as there is one that was not tried.
    fn not_connected(&mut self, error: Option<&io::Error>, io: &mut Io<'_>) -> Step {
        self.refused += 1;
        let places = &self.manner.endpoints;
        if self.refused < places.len() {
            self.endpoint = (self.endpoint + 1) % places.len();
            io.redirect(LINK, places[self.endpoint].clone());
            return Step::Reconnect(LINK);
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
        self.manner.endpoints.first().cloned().into_iter().collect()
    }

    fn handle(&mut self, event: Event<'_>, io: &mut Io<'_>) -> Step {
        match event {
            Event::Bytes { data, used, .. } => self.bytes(data, used, io),
            Event::Slot { .. } => self.begin(io),
            Event::Opened(_) if self.manner.secure => Step::StartTls(LINK),
            Event::Opened(_) | Event::Secured { .. } => self.up(io),
            Event::Closed { error, .. } => self.closed(error, io),
            Event::Timer | Event::Woken => Step::Wait,
        }
    }

    fn script(&mut self) -> u16 {
        self.request.as_ref().map_or(0, |request| request.script)
    }

    fn on_demand(&self) -> bool {
        !self.manner.keepalive
    }
}
