//! The texts for measuring memory: two equal ones for each backend, larger than the processor's cache if
//! there is room.

use super::{ProbeSetup, ProbeWork};
use crate::probe::facts::mb;
use crate::probe::figures::ProbeFigure;

/// PostgreSQL has no text above 1 GB.
const LONGEST: u64 = 512 << 20;
/// Shorter texts fit the cache next to the core.
const SHORTEST: u64 = 1 << 20;

/// Length of the texts for one backend, or for all, within the limit on space.
pub(super) fn setup(work: &ProbeWork<'_>, figure: &ProbeFigure) -> Result<ProbeSetup, String> {
    let all = work.backends.or(work.options.backends).or(work.host.cpus);
    let backends = match figure.all_backends {
        true => all.ok_or("it is not known how many backends \"all\" are")?,
        false => 1,
    };
    // A quarter of the available memory: the host must neither swap nor evict its caches.
    let most = work.host.available_bytes.map_or(u64::MAX, |bytes| bytes / 4).min(work.options.space_bytes);
    let text = (most / 2 / u64::from(backends)).min(LONGEST) >> 10 << 10;
    if text < SHORTEST {
        let needed = 2 * SHORTEST * u64::from(backends);
        return Err(format!("{backends} backends need {} of memory, and may have {}", mb(needed), mb(most)));
    }
    Ok(ProbeSetup {
        values: vec![("text_kb", (text >> 10).to_string()), ("texts_bytes", (2 * text).to_string())],
        backends: (backends > 1).then_some(backends),
        detail: detail(text, backends, work.host.cache_bytes),
        cut: None,
    })
}

fn detail(text: u64, backends: u32, cache: Option<u64>) -> String {
    let each = format!("{} x {}", 2 * backends, mb(text));
    match cache {
        Some(cache) if cache >= 2 * text * u64::from(backends) => {
            format!(
                "{each}, which the processor's cache of {} holds: it is the cache that was read",
                mb(cache)
            )
        }
        _ => each,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_a_cache_holds_are_said_to_be() {
        let cases = [
            (128 << 20, 1, None, "2 x 128 MB"),
            (64 << 20, 2, Some(32 << 20), "4 x 64 MB"),
            (
                64 << 20,
                2,
                Some(300 << 20),
                "4 x 64 MB, which the processor's cache of 300 MB holds: it is the cache that was read",
            ),
        ];
        for (text, backends, cache, wanted) in cases {
            assert_eq!(detail(text, backends, cache), wanted);
        }
    }
}
