//! Progress of a fetch: a bar on a terminal, else a line from time to time.

use std::time::{Duration, Instant};

use indicatif::{DecimalBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use osm::fetch::{FetchEvent, FetchObserver, Restart};
use server::Stop;

use crate::print::{is_interactive, talk, warning};
use crate::progress::time;

/// Time between two progress lines without a bar.
const EVERY: Duration = Duration::from_secs(10);

pub(super) struct Watched {
    what: String,
    stop: Stop,
    bar: ProgressBar,
    download: Option<Download>,
    /// The server of the last redirect.
    redirected: Option<String>,
}

/// Progress since the download began or resumed.
struct Download {
    began: Instant,
    from: u64,
    total: Option<u64>,
    said: Instant,
}

impl Watched {
    pub(super) fn new(what: &str, stop: Stop) -> Self {
        let target =
            if is_interactive() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(ProgressStyle::with_template("{msg}").expect("a valid template"));
        Self { what: what.to_owned(), stop, bar, download: None, redirected: None }
    }

    fn begins(&mut self, from: u64, total: Option<u64>) {
        let size = total.map_or("size not known".to_owned(), |total| DecimalBytes(total).to_string());
        let what = &self.what;
        self.say(&match from {
            0 => format!("fetching {what}: {size}"),
            _ => format!("fetching {what}: going on at {} of {size}", DecimalBytes(from)),
        });
        let style = match total {
            Some(_) => "{bar:20.cyan} {decimal_bytes}/{decimal_total_bytes}  {msg}",
            None => "{spinner} {decimal_bytes}  {msg}",
        };
        self.bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
        self.bar.set_length(total.unwrap_or(0));
        let now = Instant::now();
        self.download = Some(Download { began: now, from, total, said: now });
    }

    fn received(&mut self, bytes: u64) {
        let Some(download) = &mut self.download else { return };
        let words = download.words(bytes);
        self.bar.set_position(bytes);
        self.bar.set_message(words.clone());
        if !is_interactive() && download.said.elapsed() >= EVERY {
            download.said = Instant::now();
            let of = download.total.map_or(String::new(), |total| format!(" of {}", DecimalBytes(total)));
            talk(&format!("{}: {}{of}, {words}", self.what, DecimalBytes(bytes)));
        }
    }

    fn say(&self, text: &str) {
        self.bar.suspend(|| talk(text));
    }

    fn warn(&self, text: &str) {
        self.bar.suspend(|| warning(text));
    }
}

impl Download {
    /// `2.1 MB/s, 12 s left`.
    fn words(&self, bytes: u64) -> String {
        let seconds = self.began.elapsed().as_secs_f64().max(0.001);
        let rate = bytes.saturating_sub(self.from) as f64 / seconds;
        let missing = self.total.map(|total| total.saturating_sub(bytes) as f64);
        let left = missing.filter(|_| rate > 0.0).map(|missing| missing / rate);
        let left = left.map(|seconds| format!(", {} left", time(Duration::from_secs_f64(seconds.min(1e9)))));
        format!("{}/s{}", DecimalBytes(rate as u64), left.unwrap_or_default())
    }
}

impl FetchObserver for Watched {
    fn event(&mut self, event: FetchEvent<'_>) {
        match event {
            FetchEvent::Redirected { from, to } => {
                if self.redirected.as_deref() != Some(to) {
                    self.redirected = Some(to.to_owned());
                    self.say(&format!("{from} redirects to {to}"));
                }
            }
            FetchEvent::Begins { from, total } => self.begins(from, total),
            FetchEvent::Received(bytes) => self.received(bytes),
            FetchEvent::Restart(Restart::Changed) => {
                self.warn("the server has another file now: it is fetched again")
            }
            FetchEvent::Restart(Restart::NoRanges) => {
                self.warn("the server does not send parts of files: it is fetched again");
            }
            FetchEvent::Again { cause, pause } => {
                self.warn(&format!("{cause}; trying again in {} s", pause.as_secs_f64()));
            }
            FetchEvent::Verifying => self.bar.set_message("checking"),
        }
    }

    fn stops(&self) -> bool {
        self.stop.at_once()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
