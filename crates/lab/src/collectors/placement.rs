//! Where client threads and busy backends were: on one CPU or on several, and how often they moved.

use std::collections::BTreeMap;

use engine::Measured;
use protocol::postgres::sql::SqlError;
use server::placement::Watch;
use spec::Sample;

use super::Collector;

/// A look at a local server's backends from time to time.
pub(super) struct Placement {
    /// The postmaster.
    server: u32,
    watch: Option<Watch>,
}

impl Placement {
    pub(super) fn new(server: u32) -> Self {
        Self { server, watch: None }
    }
}

impl Collector for Placement {
    fn name(&self) -> &'static str {
        "placement"
    }

    fn begin(&mut self) -> Result<(), SqlError> {
        self.watch = Watch::start(self.server, engine::LOAD_THREAD);
        Ok(())
    }

    fn end(
        &mut self,
        _measured: &Measured,
        _samples: &mut Vec<Sample>,
    ) -> Result<BTreeMap<String, f64>, SqlError> {
        let seen = self.watch.take().map(Watch::finish).unwrap_or_default();
        let figures = [
            ("same_cpu_pct", seen.same_cpu_pct),
            ("client_moves_per_s", seen.client_moves_per_s),
            ("backend_moves_per_s", seen.backend_moves_per_s),
        ];
        Ok(figures.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect())
    }
}
