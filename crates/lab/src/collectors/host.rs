//! The machine that the load and a managed server share.

use std::collections::BTreeMap;

use engine::Measured;
use protocol::postgres::sql::SqlError;
use record::{Sample, Scope};
use target::host::HostSample;

use super::Collector;

/// The machine's counters.
pub(super) struct Host {
    server: Option<u32>,
    /// At the beginning of the measured part, and at the last step's end.
    seen: Option<(HostSample, HostSample)>,
}

impl Host {
    pub(super) fn new(server: Option<u32>) -> Self {
        Self { server, seen: None }
    }
}

impl Collector for Host {
    fn name(&self) -> &'static str {
        "host"
    }

    fn begin(&mut self) -> Result<(), SqlError> {
        let now = HostSample::take(self.server);
        self.seen = Some((now, now));
        Ok(())
    }

    fn tick(&mut self, time_us: i64, samples: &mut Vec<Sample>) {
        let source = self.name();
        let Some((_, last)) = &mut self.seen else { return };
        let now = HostSample::take(self.server);
        samples.extend(now.figures_since(last).into_iter().map(|(name, value)| Sample {
            scope: Scope::Run,
            source: source.to_owned(),
            name,
            time_us,
            value,
        }));
        *last = now;
    }

    fn end(&mut self, _measured: &Measured) -> Result<BTreeMap<String, f64>, SqlError> {
        let began = self.seen.as_ref().map(|(began, _)| began);
        Ok(began.map(|began| HostSample::take(self.server).figures_since(began)).unwrap_or_default())
    }
}
