//! Answers that wait for a delayed acknowledgement.
//!
//! A server that sends head and body by separate writes, without TCP_NODELAY, holds the body back until the head
//! is acknowledged (Nagle's algorithm, RFC 896). The client's system delays that acknowledgement: Linux by 40 ms.
//! The same requests with acknowledgements at once tell this from a slow server.

use std::time::{Duration, Instant};

use protocol::http::HttpConnection;
use spec::Error;

use super::web::Web;

/// Answers within this range may have waited.
const SUSPECT: std::ops::Range<Duration> = Duration::from_millis(38)..Duration::from_millis(250);
/// What acknowledging at once must save: the system's delay, with some tolerance.
const SAVED: std::ops::Range<Duration> = Duration::from_millis(30)..Duration::from_millis(60);
/// Requests of a pass. The first ones of a connection are acknowledged at once in any case.
const REQUESTS: usize = 6;

/// Whether answers to these requests wait for acknowledgements, as a sentence; asks again only if they are slow.
///
/// # Errors
/// When a request fails.
pub(crate) fn delay_words(
    web: &Web,
    paths: &[String],
    control: &mut dyn HttpConnection,
) -> Result<Option<String>, Error> {
    if paths.is_empty() || !web.keeps_connections() {
        return Ok(None);
    }
    let mut pass = |at_once| -> Result<Duration, Error> {
        control.acknowledge_at_once(at_once);
        let mut times = Vec::with_capacity(REQUESTS);
        for path in paths.iter().cycle().take(REQUESTS) {
            let start = Instant::now();
            web.ask(path, control)?;
            times.push(start.elapsed());
        }
        control.acknowledge_at_once(false);
        times.sort_unstable();
        Ok(times[times.len() / 2])
    };
    // The first pass may fill the server's caches.
    if !SUSPECT.contains(&pass(false)?) {
        return Ok(None);
    }
    let (before, at_once, after) = (pass(false)?, pass(true)?, pass(false)?);
    let waits = |time: Duration| SAVED.contains(&time.saturating_sub(at_once));
    Ok((waits(before) && waits(after)).then(|| {
        format!(
            "answers of {} take {:.1} ms, and {:.1} ms if each packet is acknowledged at once: the server sends an answer in \
             parts, and waits for delayed acknowledgements in between (Nagle's algorithm); set TCP_NODELAY in the server, or \
             let it send head and body together",
            web.url().authority(),
            milliseconds(before),
            milliseconds(at_once),
        )
    }))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use protocol::http::{ControlError, Encoding, Get, Got};

    use super::super::HttpOptions;
    use super::*;

    /// Takes its time, and longer if acknowledgements are delayed.
    struct Slow {
        work: Duration,
        wait: Duration,
        at_once: bool,
        asked: usize,
    }

    impl HttpConnection for Slow {
        fn get(&mut self, _get: &Get, _path: &str) -> Result<Got, ControlError> {
            self.asked += 1;
            std::thread::sleep(self.work + if self.at_once { Duration::ZERO } else { self.wait });
            Ok(Got {
                status: 200,
                content_type: String::new(),
                location: String::new(),
                encoding: Encoding::Identity,
                bytes: 1,
                body: vec![1],
            })
        }

        fn acknowledge_at_once(&mut self, at_once: bool) {
            self.at_once = at_once;
        }
    }

    fn words(work: u64, wait: u64, keepalive: bool) -> (Option<String>, usize) {
        let [work, wait] = [work, wait].map(Duration::from_millis);
        let mut slow = Slow { work, wait, at_once: false, asked: 0 };
        let web = Web::new(&HttpOptions { keepalive, ..HttpOptions::new("http://h:81/t") }).unwrap();
        let said = delay_words(&web, &["/1".to_owned(), "/2".to_owned()], &mut slow).unwrap();
        assert!(!slow.at_once);
        (said, slow.asked)
    }

    #[test]
    fn only_a_wait_that_ends_with_acknowledgements_at_once_is_named() {
        let (said, _) = words(2, 41, true);
        let said = said.unwrap();
        assert!(said.starts_with("answers of h:81 take 4") && said.contains("TCP_NODELAY"), "{said}");
        // A server that needs as long by itself.
        assert_eq!(words(43, 0, true), (None, 4 * REQUESTS));
        assert_eq!(words(2, 0, true), (None, REQUESTS));
        assert_eq!(words(2, 41, false), (None, 0));
    }
}
