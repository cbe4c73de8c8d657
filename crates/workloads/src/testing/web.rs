//! A web server with canned answers.

use std::net::SocketAddr;
use std::sync::Mutex;

use protocol::http::{ControlError, Encoding, Get, Got, HttpConnection, HttpConnector, Url};
use protocol::postgres::Tls;

/// What a control connection gives, request by request, the last one again and again.
#[derive(Default)]
pub(crate) struct FakeServer {
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) answers: Mutex<Vec<Got>>,
}

impl HttpConnector for FakeServer {
    fn look_up(&self, _url: &Url) -> Result<Vec<SocketAddr>, ControlError> {
        Ok(self.addresses.clone())
    }

    fn control(
        &self,
        _url: &Url,
        _tls: Option<&Tls>,
    ) -> Result<Box<dyn HttpConnection + Send + '_>, ControlError> {
        Ok(Box::new(self))
    }
}

impl HttpConnection for &FakeServer {
    fn get(&mut self, _get: &Get, _path: &str) -> Result<Got, ControlError> {
        let mut answers = self.answers.lock().unwrap();
        Ok(if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() })
    }
}

pub(crate) fn got(status: u16, content_type: &str, body: &str) -> Got {
    Got {
        status,
        content_type: content_type.to_owned(),
        location: String::new(),
        encoding: Encoding::Identity,
        bytes: body.len() as u64,
        body: body.as_bytes().to_vec(),
    }
}
