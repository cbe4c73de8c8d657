//! A connection of a client, and what it asks for over it.

use engine::Time;
use protocol::http::{Broken, Response, Responses, Want};

use super::accept::{Accept, Fault};
use super::requests::Request;
use super::words::Seen;

/// A connection, and what is asked for over it.
#[derive(Debug)]
pub(super) struct Courier {
    responses: Responses,
    /// What it asks for, or asked for last.
    pub(super) request: Option<Request>,
    /// The request has no answer yet.
    pub(super) asking: bool,
    /// The connection takes requests.
    pub(super) open: bool,
    /// The connection has given a response.
    pub(super) served: bool,
    /// When the request was its own first.
    pub(super) asked: Time,
    /// How often the request was sent.
    pub(super) tries: u32,
    /// Which of the places it goes to, and how many in a row took no connection.
    place: usize,
    refused: usize,
}

/// What is kept of a response.
pub(super) struct Ended {
    pub(super) bytes: u64,
    pub(super) stays: bool,
    pub(super) fault: Option<Fault>,
}

impl Ended {
    #[inline]
    fn of(response: &Response<'_>, accept: &Accept) -> Self {
        let fault = accept.fault_of(response);
        Self { bytes: response.bytes, stays: response.stays, fault }
    }
}

impl Courier {
    /// Before anything is connected.
    pub(super) fn new() -> Self {
        Self {
            responses: Responses::new(Want::Skip),
            request: None,
            asking: false,
            open: false,
            served: false,
            asked: 0,
            tries: 0,
            place: 0,
            refused: 0,
        }
    }

    #[inline]
    pub(super) fn take(&mut self, request: Request, now: Time) {
        (self.request, self.asking) = (Some(request), true);
        (self.asked, self.tries) = (now, 1);
    }

    /// Its connection takes requests from now on.
    pub(super) fn up(&mut self) {
        self.responses.restart();
        (self.open, self.served, self.refused) = (true, false, 0);
    }

    /// The response, once all of it came.
    #[inline]
    pub(super) fn next(
        &mut self,
        data: &[u8],
        used: &mut usize,
        accept: &Accept,
    ) -> Result<Option<Ended>, Broken> {
        Ok(self.responses.next(data, used)?.map(|response| Ended::of(&response, accept)))
    }

    /// The response that the end of the connection ended.
    pub(super) fn last(&mut self, accept: &Accept) -> Result<Option<Ended>, Broken> {
        Ok(self.responses.closed()?.map(|response| Ended::of(&response, accept)))
    }

    /// The next of so many places, as long as there is one that was not tried.
    pub(super) fn elsewhere(&mut self, places: usize) -> Option<usize> {
        self.refused += 1;
        (self.refused < places).then(|| {
            self.place = (self.place + 1) % places;
            self.place
        })
    }

    /// What came last, to be told.
    pub(super) fn seen<'a>(&'a self, path: &'a str) -> Seen<'a> {
        let response = self.responses.last();
        Seen {
            path,
            status: response.status,
            content_type: response.content_type,
            location: response.location,
            encoding: response.encoding,
            body: response.first,
        }
    }
}
