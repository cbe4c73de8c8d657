//! Checks that a server returns what is requested: an error page has a high rate, too.

use protocol::http::{Encoding, Get, Got, HttpConnection};
use spec::Error;
use spec::figures::{self, Figures};
use tile::{mvt, picture};

use super::delay::delay_words;
use super::requests::{Request, Requests};
use super::web::Web;
use crate::error;
use crate::pictures::PictureKinds;
use crate::place::Site;
use crate::workload::Guarded;

/// Number of requests to try.
const PROBES: usize = 24;
/// Requests to try when the first ones are all empty, before the workload is called empty.
const MOST_PROBES: usize = 500;

/// Requests a sample; if all of it is empty, continues until something comes.
pub(super) fn probe(web: &Web, requests: &Requests, site: &Site<'_>) -> Result<Guarded, Error> {
    let mut control = web.control(site)?;
    let mut sample = GuardSample::default();
    let mut pictures = PictureKinds::default();
    let mut paths = Vec::new();
    for request in spread(requests, PROBES) {
        let got = ask(web, requests, request, &mut *control)?;
        sample.add(&got);
        pictures.add(&got.body);
        paths.push(Get::path_of(requests.bytes(request)).to_owned());
    }
    let mut more = requests.iter().take(MOST_PROBES);
    while sample.bytes == 0
        && let Some(request) = more.next()
    {
        sample.add(&ask(web, requests, request, &mut *control)?);
    }
    let mut guarded = Guarded {
        rows: sample.asked - sample.empty,
        bytes: sample.bytes,
        figures: sample.figures(),
        ..Guarded::default()
    };
    guarded.notes.extend(pictures.words());
    guarded.warnings.extend(delay_words(web, &paths, &mut *control)?);
    if sample.bytes == 0 {
        let asked = spec::count(sample.asked, "request");
        guarded.empty = Some(format!("all bodies of {asked} to {} are empty", web.url()));
    } else if sample.empty > 0 {
        guarded.notes.push(format!("{} of {} probed bodies are empty", sample.empty, sample.asked));
    }
    Ok(guarded)
}

/// `count` requests, spread over the list.
pub(super) fn spread(requests: &Requests, count: usize) -> impl Iterator<Item = &Request> {
    let step = requests.len().div_ceil(count).max(1);
    requests.iter().step_by(step)
}

/// Sends one request.
///
/// # Errors
/// When the answer would be a failure of the run.
pub(super) fn ask(
    web: &Web,
    requests: &Requests,
    request: &Request,
    control: &mut dyn HttpConnection,
) -> Result<Got, Error> {
    let path = Get::path_of(requests.bytes(request));
    let got = web.ask(path, control)?;
    // Only a body with the content type of a tile must be one.
    let broken = match &got.content_type {
        kind if kind.contains("vector-tile") => {
            mvt::measure(&got.body).err().map(|broken| broken.to_string())
        }
        kind if picture::Format::is_named_by(kind) && !got.body.is_empty() => {
            picture::decode(&got.body).err().map(|broken| broken.to_string())
        }
        _ => None,
    };
    match broken {
        None => Ok(got),
        Some(broken) => {
            let what = format!(
                "GET {path} returned an invalid tile, although its content type is {}",
                got.content_type
            );
            Err(error::missing_error(
                format!("{what}: {broken}"),
                "look at it with curl; is it an error, or compressed twice?",
            ))
        }
    }
}

#[derive(Debug, Default)]
struct GuardSample {
    asked: u64,
    empty: u64,
    packed: u64,
    bytes: u64,
}

impl GuardSample {
    fn add(&mut self, got: &Got) {
        // An empty body has some bytes when compressed.
        let bytes = if got.body.is_empty() { 0 } else { got.bytes };
        self.asked += 1;
        self.empty += u64::from(bytes == 0);
        self.packed += u64::from(bytes > 0 && got.encoding != Encoding::Identity);
        self.bytes += bytes;
    }

    fn figures(&self) -> Figures {
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let filled = self.asked - self.empty;
        [
            (figures::PROBE_TILES, self.asked as f64),
            (figures::EMPTY_TILES_PCT, 100.0 * share(self.empty, self.asked)),
            (figures::TILE_BYTES_MEAN, share(self.bytes, filled)),
            (figures::COMPRESSED_TILES_PCT, 100.0 * share(self.packed, filled)),
        ]
        .into()
    }
}
