//! A blocking connection to a web server, outside the timed part of a run.

use std::io::{self, Read};
use std::net::SocketAddr;

use flate2::read::MultiGzDecoder;
use protocol::Address;
use protocol::http::{ControlError, Encoding, Get, Got, HttpConnection, Response, Responses, Url, Want};
use protocol::limits;
use protocol::postgres::Tls;
use protocol::postgres::conninfo::TcpOptions;

use crate::control::socket::Socket;
use crate::control::socket::{short_wait_error, short_watch};
use crate::control::stream::Stream;

/// A blocking connection to a web server; every wait ends once `given_up` returns true.
pub struct HttpControl<'a> {
    url: Url,
    addresses: Vec<SocketAddr>,
    tls: Option<Tls>,
    given_up: &'a (dyn Fn() -> bool + Sync),
    /// `None` where the server closed it, or announced that.
    stream: Option<Stream>,
    /// Whether it has given a response.
    served: bool,
    /// Whether packets are acknowledged at once.
    at_once: bool,
    responses: Responses,
    input: Vec<u8>,
    at: usize,
}

enum RequestFailure {
    /// The connection ended before the first byte: if it had served before, the server may have closed it
    /// meanwhile.
    Closed(io::Error),
    Told(ControlError),
}

impl<'a> HttpControl<'a> {
    /// Connects to the first of these addresses that accepts a connection.
    ///
    /// # Errors
    /// When none does: the last one's error.
    pub fn connect(
        url: &Url,
        addresses: Vec<SocketAddr>,
        tls: Option<Tls>,
        given_up: &'a (dyn Fn() -> bool + Sync),
    ) -> Result<Self, ControlError> {
        let mut control = Self {
            url: url.clone(),
            addresses,
            tls,
            given_up,
            stream: None,
            served: false,
            at_once: false,
            responses: Responses::new(Want::Read),
            input: Vec::new(),
            at: 0,
        };
        control.stream = Some(control.open()?);
        Ok(control)
    }

    fn open(&self) -> Result<Stream, ControlError> {
        let mut last: io::Error = io::ErrorKind::AddrNotAvailable.into();
        let mut socket = None;
        for address in &self.addresses {
            let address = Address::Tcp(*address);
            match Socket::connect(&address, &TcpOptions::default(), &mut short_watch(self.given_up)) {
                Ok(connected) => {
                    socket = Some(connected);
                    break;
                }
                Err(error) => last = error,
            }
        }
        let Some(socket) = socket else {
            let problem = format!("{}; is a web server running there?", short_wait_error(&last));
            return Err(self.failed("connecting to", problem));
        };
        let Some(tls) = &self.tls else { return Ok(Stream::Plain(socket)) };
        Stream::secure(socket, tls, &mut short_watch(self.given_up)).map_err(|error| {
            let words = short_wait_error(&error);
            let advice = match words.contains("certificate") {
                true => "; if its certificate need not be checked, write insecure = true",
                false => "; does it speak TLS there? else write http://",
            };
            self.failed("starting TLS with", words + advice)
        })
    }

    fn failed(&self, doing: &str, problem: String) -> ControlError {
        ControlError { doing: format!("{doing} {}", self.url.authority()), problem }
    }

    /// Sends a request and reads its response.
    fn exchange(&mut self, request: &[u8], path: &str) -> Result<Got, RequestFailure> {
        let Some(mut stream) = self.stream.take() else { unreachable!("it was opened") };
        let mut watch = short_watch(self.given_up);
        self.input.clear();
        self.at = 0;
        self.responses.restart();
        stream.send(&mut request.to_vec(), &mut watch).map_err(RequestFailure::Closed)?;
        let failed = |problem: String| {
            let doing = format!("asking {} for {path}", self.url.authority());
            RequestFailure::Told(ControlError { doing, problem })
        };
        loop {
            let next = self.responses.next(&self.input, &mut self.at);
            if let Some(response) = next.map_err(|broken| failed(broken.to_string()))? {
                let got = got(&response).map_err(failed)?;
                self.stream = Some(stream).filter(|_| response.stays);
                self.served = true;
                return Ok(got);
            }
            self.input.drain(..self.at);
            self.at = 0;
            if self.at_once {
                // It lasts for the next packets only. Where the system refuses it, the wait stays.
                let _ = stream.socket().acknowledge_at_once();
            }
            match stream.receive(&mut self.input, &mut watch) {
                Ok(0) => {
                    let last = self.responses.closed().map_err(|broken| failed(broken.to_string()))?;
                    let Some(response) = last else {
                        return Err(RequestFailure::Closed(io::ErrorKind::UnexpectedEof.into()));
                    };
                    return got(&response).map_err(failed);
                }
                Ok(_) => {}
                Err(error) => {
                    let ended =
                        matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe);
                    return Err(if ended {
                        RequestFailure::Closed(error)
                    } else {
                        failed(short_wait_error(&error))
                    });
                }
            }
        }
    }
}

impl HttpConnection for HttpControl<'_> {
    fn acknowledge_at_once(&mut self, at_once: bool) {
        self.at_once = at_once;
    }

    fn get(&mut self, get: &Get, path: &str) -> Result<Got, ControlError> {
        let mut request = Vec::new();
        get.write(path, &mut request);
        loop {
            if self.stream.is_none() {
                self.stream = Some(self.open()?);
                self.served = false;
            }
            match self.exchange(&request, path) {
                Ok(got) => return Ok(got),
                Err(RequestFailure::Told(error)) => return Err(error),
                Err(RequestFailure::Closed(error)) if !self.served => {
                    let doing = format!("asking {} for {path}", self.url.authority());
                    return Err(ControlError { doing, problem: short_wait_error(&error) });
                }
                // It was closed while idle: connect again.
                Err(RequestFailure::Closed(_)) => {}
            }
        }
    }
}

fn got(response: &Response<'_>) -> Result<Got, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let body = match response.encoding {
        Encoding::Gzip if !response.body.is_empty() => unpacked(response.body)?,
        _ => response.body.to_vec(),
    };
    Ok(Got {
        status: response.status,
        content_type: text(response.content_type),
        location: text(response.location),
        encoding: response.encoding,
        bytes: response.bytes,
        body,
    })
}

fn unpacked(packed: &[u8]) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    let limit = limits::max_answer();
    let read = MultiGzDecoder::new(packed).take(limit as u64 + 1).read_to_end(&mut body);
    read.map_err(|error| format!("the server says that the body is gzip, and it is not: {error}"))?;
    match body.len() > limit {
        true => Err(format!("the decompressed body is {}", limits::too_long(limit))),
        false => Ok(body),
    }
}
