//! Hardware counters of a server on this machine; where it has none, the facts of the host say so.

use engine::EngineResult;
use protocol::postgres::sql::SqlError;
use server::host::HardwareCounters;
use spec::Sample;
use spec::figures::Figures;

use super::Collector;

pub(super) struct OfServer {
    postmaster: u32,
    counters: Option<HardwareCounters>,
    /// Read while the clients were still connected.
    at_end: Option<Figures>,
}

impl OfServer {
    pub(super) fn new(postmaster: u32) -> Self {
        Self { postmaster, counters: None, at_end: None }
    }
}

impl Collector for OfServer {
    fn name(&self) -> &'static str {
        "counters"
    }

    fn begin(&mut self) -> Result<(), SqlError> {
        self.counters = HardwareCounters::open(self.postmaster).ok();
        Ok(())
    }

    fn ending(&mut self) {
        self.at_end = self.counters.as_mut().map(HardwareCounters::figures);
    }

    fn end(&mut self, _measured: &EngineResult, _samples: &mut Vec<Sample>) -> Result<Figures, SqlError> {
        let now = self.at_end.take().or_else(|| self.counters.as_mut().map(HardwareCounters::figures));
        Ok(now.unwrap_or_default())
    }
}
