//! A web server: its address, how requests are written, and the expected responses.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use engine::{Client, Endpoint};
use protocol::http::{Encoding, Get, Got, HttpConnection, HttpConnector, Url, tls};
use protocol::postgres::Tls;
use script::Streams;
use spec::Error;

use super::accept::{Accept, Judged};
use super::client::{HttpClient, Shared};
use crate::error;

use super::options::HttpOptions;
use super::requests::Requests;
use super::words::ShownResponse;
use crate::place::Site;
use crate::workload::Clients;

/// A web server, and how requests are sent to it.
#[derive(Debug, Clone)]
pub struct Web {
    url: Url,
    get: Get,
    accept: Accept,
    keepalive: bool,
    tls: Option<Tls>,
    /// After the look-up; empty before, unless the URL has the address itself.
    addresses: Vec<SocketAddr>,
}

impl Web {
    /// From these options, without their list of tiles.
    ///
    /// # Errors
    /// When options are out of range, or the system's certificates cannot be read.
    pub fn new(options: &HttpOptions) -> Result<Self, Error> {
        let url = options.parsed()?;
        let tls =
            tls(&url, options.insecure).map_err(|error| error::option("http.url", error.to_string()))?;
        Ok(Self {
            get: Get::new(&url, &options.accept, options.gzip, options.keepalive),
            accept: Accept { types: options.accept.clone(), empty: options.empty_status.clone() },
            keepalive: options.keepalive,
            tls,
            addresses: url
                .host()
                .parse()
                .map(|host: IpAddr| vec![(host, url.port()).into()])
                .unwrap_or_default(),
            url,
        })
    }

    /// The requested URL.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Appends the request for a path.
    pub fn write(&self, path: &str, out: &mut Vec<u8>) {
        self.get.write(path, out);
    }

    /// Looks its host up for all runs, and checks that something accepts connections there.
    pub fn check(&mut self, site: &Site<'_>) -> Result<(), Error> {
        self.addresses = site.http()?.look_up(&self.url).map_err(error::http)?;
        self.control(site).map(drop)
    }

    /// A connection outside the timed part.
    pub fn control<'s>(&self, site: &Site<'s>) -> Result<Box<dyn HttpConnection + 's>, Error> {
        Ok(self.control_by(site.http()?)?)
    }

    /// The same by this connector.
    pub fn control_by<'s>(
        &self,
        http: &'s dyn HttpConnector,
    ) -> Result<Box<dyn HttpConnection + Send + 's>, Error> {
        http.control(&self.url, self.tls.as_ref()).map_err(error::http)
    }

    /// Requests a path.
    ///
    /// # Errors
    /// When the answer would be a failure of a run, or none comes.
    pub fn ask(&self, path: &str, control: &mut dyn HttpConnection) -> Result<Got, Error> {
        ask((&self.url, &self.get, &self.accept), path, control)
    }

    /// Whether connections are reused for the next request.
    #[must_use]
    pub(crate) fn keeps_connections(&self) -> bool {
        self.keepalive
    }

    /// The clients of a run, which send these requests, each over `links` connections (at least 1).
    ///
    /// # Errors
    /// When the host was not looked up.
    pub fn clients(
        &self,
        requests: &Arc<Requests>,
        links: usize,
        wanted: Clients,
    ) -> Result<Vec<Box<dyn Client>>, Error> {
        let shared = Arc::new(Shared {
            endpoints: self.endpoints()?,
            server: self.url.authority(),
            secure: self.url.is_secure(),
            keepalive: self.keepalive,
            links,
            accept: self.accept.clone(),
        });
        let streams = Streams::new(wanted.seed, wanted.count.max(1), 1, true);
        let members = streams.clients.into_iter().enumerate();
        Ok(members
            .map(|(number, random)| {
                let client = HttpClient::new(Arc::clone(&shared), Arc::clone(requests), number, random);
                Box::new(client) as Box<dyn Client>
            })
            .collect())
    }

    /// Where clients may connect, in the order to try; at least one address.
    fn endpoints(&self) -> Result<Vec<Endpoint>, Error> {
        if self.addresses.is_empty() {
            // Nothing could end the wait for a silent name server here.
            return Err(error::missing_error(
                format!("the host of {} was not looked up", self.url),
                "check the workload first",
            ));
        }
        let tls = self
            .tls
            .as_ref()
            .map(|tls| engine::Tls { config: Arc::clone(&tls.config), name: tls.name.clone() });
        let endpoint =
            |address| Endpoint { tls: tls.clone(), ..Endpoint::plain(engine::Address::Tcp(address)) };
        Ok(self.addresses.iter().copied().map(endpoint).collect())
    }
}

/// Requests a path outside the timed part; the answer must count as a success.
///
/// # Errors
/// When the answer would be a failure of a run, or none comes.
fn ask(
    (url, get, accept): (&Url, &Get, &Accept),
    path: &str,
    control: &mut dyn HttpConnection,
) -> Result<Got, Error> {
    let mut got = control.get(get, path).map_err(error::http)?;
    if accept.is_empty(got.status) {
        (got.bytes, got.body) = (0, Vec::new());
    }
    let judged = Judged {
        status: got.status,
        content_type: got.content_type.as_bytes(),
        bytes: got.bytes,
        first: if got.encoding == Encoding::Other { &[] } else { &got.body },
    };
    let Some(fault) = accept.fault(judged) else { return Ok(got) };
    let seen = ShownResponse {
        path,
        status: got.status,
        content_type: got.content_type.as_bytes(),
        location: got.location.as_bytes(),
        // The control connection has decompressed what it could.
        encoding: if got.encoding == Encoding::Other { Encoding::Other } else { Encoding::Identity },
        body: &got.body,
    };
    let what = format!("{}: {}", url, seen.in_words(fault));
    Err(error::http_answer(what, seen.hint(fault)))
}
