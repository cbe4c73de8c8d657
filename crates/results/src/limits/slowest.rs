//! Which script takes longest at a limit: a promise on all of them hides it among shorter ones.

use std::collections::BTreeMap;

use spec::AskedLimit;
use stats::Histogram;

use super::ArmLimit;

/// The script, or step of a session, with the longest response time at the percentile of a promise on all
/// scripts.
#[derive(Debug, Clone, PartialEq)]
pub struct SlowestScript {
    pub name: String,
    /// Share of the promise, from 0 to 1.
    pub quantile: f64,
    /// At that quantile, µs, over all trials there.
    pub time_us: f64,
    /// Whether it keeps the promise by itself.
    pub keeps: bool,
}

impl SlowestScript {
    /// In the trials at a rate; `None` where there is one script, or each has its own promise.
    pub(super) fn at(asked: &AskedLimit, arm: &ArmLimit<'_>, rate: f64) -> Option<Self> {
        let term = asked.promise.iter().find(|term| term.script.is_none())?;
        let mut scripts: BTreeMap<&str, Histogram> = BTreeMap::new();
        for run in arm.trials.iter().filter(|run| run.tried_level() == Some(rate)) {
            for script in &run.scripts {
                scripts.entry(&script.name).or_default().add(&script.response);
            }
        }
        let quantile = 1.0 - term.share;
        let timed = scripts.iter().filter_map(|(name, times)| Some((*name, times.percentile_ns(quantile)?)));
        let (name, ns) = timed.filter(|_| scripts.len() > 1).max_by_key(|(_, ns)| *ns)?;
        let time_us = ns as f64 / 1e3;
        Some(Self { name: name.to_owned(), quantile, time_us, keeps: time_us < term.within_us as f64 })
    }
}
