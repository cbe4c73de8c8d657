//! A client's connection to a web server, and its request.

use engine::Time;
use protocol::http::{BadResponse, Response, Responses, Want};

use super::accept::{Accept, Judged, ResponseFault};
use super::requests::Request;
use super::words::ShownResponse;

/// A client's connection, and its request.
#[derive(Debug)]
pub(super) struct ClientConnection {
    responses: Responses,
    /// The current or last request.
    pub(super) request: Option<Request>,
    /// The request has no answer yet.
    pub(super) asking: bool,
    /// The connection accepts requests.
    pub(super) open: bool,
    /// The connection has returned a response.
    pub(super) served: bool,
    pub(super) asked: Time,
    /// How often the request was sent.
    pub(super) tries: u32,
    /// Index of its address, and the number of successive failures to connect.
    place: usize,
    refused: usize,
}

pub(super) struct ResponseEnd {
    pub(super) bytes: u64,
    pub(super) stays: bool,
    pub(super) fault: Option<ResponseFault>,
}

impl ResponseEnd {
    #[inline]
    fn of(response: &Response<'_>, accept: &Accept) -> Self {
        let fault = accept.fault(Judged::of(response));
        // A status for an empty tile may come with a page for people.
        let bytes = if accept.is_empty(response.status) { 0 } else { response.bytes };
        Self { bytes, stays: response.stays, fault }
    }
}

impl ClientConnection {
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
    ) -> Result<Option<ResponseEnd>, BadResponse> {
        Ok(self.responses.next(data, used)?.map(|response| ResponseEnd::of(&response, accept)))
    }

    /// The response that was ended by the end of the connection.
    pub(super) fn last(&mut self, accept: &Accept) -> Result<Option<ResponseEnd>, BadResponse> {
        Ok(self.responses.closed()?.map(|response| ResponseEnd::of(&response, accept)))
    }

    /// The next of `places` addresses, unless all were tried.
    pub(super) fn elsewhere(&mut self, places: usize) -> Option<usize> {
        self.refused += 1;
        (self.refused < places).then(|| {
            self.place = (self.place + 1) % places;
            self.place
        })
    }

    /// The last response, for a message.
    pub(super) fn seen<'a>(&'a self, path: &'a str) -> ShownResponse<'a> {
        let response = self.responses.last();
        ShownResponse {
            path,
            status: response.status,
            content_type: response.content_type,
            location: response.location,
            encoding: response.encoding,
            body: response.first,
        }
    }
}
