//! HTTP requests. Each answer is read by a separate thread and passed on in pieces, so that every wait, even
//! for a name or a connection, ends at its timeout or when the user stops. An abandoned thread ends with its
//! connection.

use std::io::Read;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use spec::Error;
use ureq::ResponseExt;
use ureq::http::{HeaderMap, Response, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use super::error::{self, Passing};
use super::site::{origin, shown};
use super::tries::{FetchTimeouts, TICK, Tries};
use super::watch::{FetchEvent, FetchObserver};

const PIECE: usize = 64 * 1024;
/// Pieces that may wait to be taken.
const QUEUE: usize = 16;

#[derive(Debug)]
pub(super) struct DownloadClient {
    agent: ureq::Agent,
    pub(super) timeouts: FetchTimeouts,
    pub(super) allow_http: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    /// Where the answer came from, after redirects.
    pub(super) url: String,
    /// A redirect went from `https://` to this address.
    pub(super) downgrade: Option<String>,
    pub(super) etag: Option<String>,
    pub(super) last_modified: Option<String>,
    pub(super) content_range: Option<String>,
    /// Bytes that follow, if known.
    pub(super) length: Option<u64>,
    pub(super) content_type: Option<String>,
}

pub(super) struct FetchAnswer<'a> {
    pub(super) head: Head,
    waiting: Waiting<'a>,
}

struct Waiting<'a> {
    url: &'a str,
    pieces: Receiver<BodyPiece>,
    silence: Duration,
}

enum BodyPiece {
    Head(Head),
    Bytes(Vec<u8>),
    End,
    Failed(FetchFailure),
}

enum FetchFailure {
    Unreachable(String),
    Untrusted(String),
    Cut(String),
    Silent,
    Address,
}

impl DownloadClient {
    /// A client that uses the proxy of the environment, if `by_proxy`.
    pub(super) fn new(timeouts: FetchTimeouts, by_proxy: bool) -> Self {
        let agent = ureq::Agent::config_builder()
            .proxy(if by_proxy { ureq::Proxy::try_from_env() } else { None })
            .http_status_as_error(false)
            .timeout_resolve(Some(timeouts.connect))
            .timeout_connect(Some(timeouts.connect))
            .user_agent(concat!("pgdyno/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity")
            .save_redirect_history(true)
            .tls_config(TlsConfig::builder().root_certs(trusted()).build())
            .build()
            .new_agent();
        Self { agent, timeouts, allow_http: false }
    }

    pub(super) fn get<'a>(
        &self,
        url: &'a str,
        headers: Vec<(&'static str, String)>,
        watch: &mut dyn FetchObserver,
    ) -> Result<FetchAnswer<'a>, Error> {
        let (send, pieces) = sync_channel(QUEUE);
        let (agent, asked) = (self.agent.clone(), url.to_owned());
        std::thread::spawn(move || read(&agent, &asked, headers, &send));
        let waiting = Waiting { url, pieces, silence: self.timeouts.silence };
        // Names, connections and TLS are part of this wait.
        let bound = self.timeouts.connect.saturating_add(self.timeouts.silence);
        match waiting.next(bound, watch)? {
            BodyPiece::Head(head) => {
                if let Some(to) = head.downgrade.as_deref().filter(|_| !self.allow_http) {
                    let what = format!("the server redirects to {}, which is not encrypted", shown(to));
                    return Err(error::bad(&shown(url), what).with_hint(
                        "name the http:// address with --mirror if you trust the network; --allow-http follows such a redirect",
                    ));
                }
                let (from, to) = (origin(url), origin(&head.url));
                if from != to {
                    watch.event(FetchEvent::Redirected { from: &from, to: &to });
                }
                Ok(FetchAnswer { head, waiting })
            }
            _ => Err(waiting.failed(FetchFailure::Cut("the server sent no answer".to_owned()))),
        }
    }

    /// Fetches a small file, with retries where they may help.
    pub(super) fn small(
        &self,
        url: &str,
        wanted: &'static str,
        most: usize,
        watch: &mut dyn FetchObserver,
    ) -> Result<Vec<u8>, Error> {
        let mut tries = Tries::new(&self.timeouts, 0);
        loop {
            match self.whole_body(url, wanted, most, watch) {
                // An unreachable address is not a busy server.
                Err(error) if error.attached() == Some(&Passing::Unreachable) => return Err(error),
                Err(error) => tries.again(error, 0, watch)?,
                done => return done,
            }
        }
    }

    fn whole_body(
        &self,
        url: &str,
        wanted: &'static str,
        most: usize,
        watch: &mut dyn FetchObserver,
    ) -> Result<Vec<u8>, Error> {
        let answer = self.get(url, Vec::new(), watch)?;
        answer.is_file(wanted)?;
        let mut bytes = Vec::new();
        while let Some(piece) = answer.next(watch)? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > most {
                return Err(error::bad(
                    &shown(url),
                    format_args!("more than {most} bytes, too many for {wanted}"),
                ));
            }
        }
        Ok(bytes)
    }
}

impl FetchAnswer<'_> {
    /// Checks that a file, or a part of one, follows.
    ///
    /// # Errors
    /// What follows instead.
    pub(super) fn is_file(&self, wanted: &'static str) -> Result<(), Error> {
        let url = || shown(&self.head.url);
        if !matches!(self.head.status, 200 | 206) {
            return Err(error::status(&url(), self.head.status));
        }
        let kind = self.head.content_type.as_deref().unwrap_or_default().to_ascii_lowercase();
        match kind.starts_with("text/html") {
            true => Err(error::page(&url(), wanted)),
            false => Ok(()),
        }
    }

    /// Where it came from, without a password.
    pub(super) fn url(&self) -> String {
        shown(&self.head.url)
    }

    /// The next bytes; `None` at the end of the answer.
    pub(super) fn next(&self, watch: &dyn FetchObserver) -> Result<Option<Vec<u8>>, Error> {
        match self.waiting.next(self.waiting.silence, watch)? {
            BodyPiece::Bytes(bytes) => Ok(Some(bytes)),
            _ => Ok(None),
        }
    }
}

impl Waiting<'_> {
    /// The next report within the timeout.
    fn next(&self, bound: Duration, watch: &dyn FetchObserver) -> Result<BodyPiece, Error> {
        let start = Instant::now();
        loop {
            if watch.stops() {
                return Err(Error::stopped());
            }
            let left = bound.saturating_sub(start.elapsed());
            match self.pieces.recv_timeout(left.min(TICK)) {
                Ok(BodyPiece::Failed(failure)) => return Err(self.failed(failure)),
                Ok(piece) => return Ok(piece),
                Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                    return Err(self.failed(FetchFailure::Silent));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.failed(FetchFailure::Cut("it was not read to its end".to_owned())));
                }
            }
        }
    }

    fn failed(&self, failure: FetchFailure) -> Error {
        let url = shown(self.url);
        match failure {
            FetchFailure::Unreachable(why) => error::unreachable(&url, &why),
            FetchFailure::Untrusted(why) => error::untrusted(&url, &why),
            FetchFailure::Cut(why) => error::cut(&url, &why),
            FetchFailure::Silent => {
                let waited_s = self.silence.as_secs_f64();
                error::broken(&url, format_args!("the server was silent for {waited_s} s"))
            }
            FetchFailure::Address => error::address(&url),
        }
    }
}

/// The system's trusted roots, otherwise Mozilla's.
fn trusted() -> RootCerts {
    let own = rustls_native_certs::load_native_certs().certs;
    match own.is_empty() {
        true => RootCerts::WebPki,
        false => {
            let own = own.iter().map(|certificate| Certificate::from_der(certificate).to_owned());
            RootCerts::Specific(Arc::new(own.collect()))
        }
    }
}

/// Reads an answer to its end, or until nobody wants it any more.
fn read(agent: &ureq::Agent, url: &str, headers: Vec<(&'static str, String)>, to: &SyncSender<BodyPiece>) {
    let mut request = agent.get(url);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let response = match request.call() {
        Ok(response) => response,
        Err(error) => {
            let _ = to.send(BodyPiece::Failed(of_error(&error)));
            return;
        }
    };
    let head = head(&response);
    let length = head.length;
    if to.send(BodyPiece::Head(head)).is_err() {
        return;
    }
    let mut body = response.into_body().into_reader();
    let mut got = 0;
    loop {
        let mut bytes = vec![0; PIECE];
        let piece = match body.read(&mut bytes) {
            Ok(0) if length.is_some_and(|length| got < length) => {
                BodyPiece::Failed(FetchFailure::Cut(format!("it ended after {got} bytes")))
            }
            Ok(0) => BodyPiece::End,
            Ok(count) => {
                bytes.truncate(count);
                got += count as u64;
                BodyPiece::Bytes(bytes)
            }
            Err(error) => BodyPiece::Failed(FetchFailure::Cut(error.to_string())),
        };
        let more = matches!(piece, BodyPiece::Bytes(_));
        if to.send(piece).is_err() || !more {
            return;
        }
    }
}

fn head(response: &Response<ureq::Body>) -> Head {
    let headers = response.headers();
    Head {
        status: response.status().as_u16(),
        url: response.get_uri().to_string(),
        downgrade: downgrade(response.get_redirect_history().unwrap_or_default()),
        etag: text(headers, "etag"),
        last_modified: text(headers, "last-modified"),
        content_range: text(headers, "content-range"),
        length: text(headers, "content-length").and_then(|length| length.parse().ok()),
        content_type: text(headers, "content-type"),
    }
}

/// The first unencrypted address of a redirect that began encrypted.
fn downgrade(history: &[Uri]) -> Option<String> {
    let is = |uri: &Uri, scheme| uri.scheme_str() == Some(scheme);
    let pair = history.windows(2).find(|pair| is(&pair[0], "https") && is(&pair[1], "http"));
    pair.map(|pair| pair[1].to_string())
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.trim().to_owned())
}

fn of_error(error: &ureq::Error) -> FetchFailure {
    use std::io::ErrorKind as Kind;
    use ureq::{Error, Timeout};
    let why = error.to_string();
    match error {
        Error::BadUri(_) | Error::Http(_) => FetchFailure::Address,
        Error::Timeout(Timeout::Resolve | Timeout::Connect) => FetchFailure::Unreachable(why),
        Error::Timeout(_) => FetchFailure::Silent,
        Error::Io(error) => match error.kind() {
            Kind::ConnectionRefused
            | Kind::HostUnreachable
            | Kind::NetworkUnreachable
            | Kind::NetworkDown
            | Kind::AddrNotAvailable => FetchFailure::Unreachable(error.to_string()),
            // rustls' errors are wrapped like this.
            Kind::InvalidData if why.contains("certificate") => FetchFailure::Untrusted(error.to_string()),
            _ => FetchFailure::Cut(error.to_string()),
        },
        Error::Tls(_) | Error::Rustls(_) => FetchFailure::Untrusted(why),
        Error::Protocol(_) => FetchFailure::Cut(why),
        _ => FetchFailure::Unreachable(why),
    }
}

/// The time of a header such as `Last-Modified: Fri, 20 Nov 2026 21:21:18 GMT`.
pub(super) fn time(text: &str) -> Option<Timestamp> {
    static PARSER: DateTimeParser = DateTimeParser::new();
    PARSER.parse_timestamp(text.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        let read = time("Fri, 20 Nov 2026 21:21:18 GMT").unwrap();
        assert_eq!(read.to_string(), "2026-11-20T21:21:18Z");
        assert_eq!(time("yesterday"), None);
    }

    #[test]
    fn a_redirect_that_gives_up_encryption_is_found_anywhere_on_the_way() {
        let found =
            |urls: &[&str]| downgrade(&urls.iter().map(|url| url.parse().unwrap()).collect::<Vec<Uri>>());
        assert_eq!(found(&["http://a/", "http://b/"]), None);
        assert_eq!(found(&["http://a/", "https://b/"]), None);
        assert_eq!(found(&["https://a/", "https://b/"]), None);
        assert_eq!(found(&["https://a/", "http://b/x", "https://c/"]).as_deref(), Some("http://b/x"));
    }
}
