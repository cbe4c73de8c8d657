//! Where client threads and busy backends ran: on one CPU or several, and how often they moved.

use engine::EngineResult;
use protocol::postgres::sql::SqlError;
use server::placement::CpuWatch;
use spec::Sample;
use spec::figures::{self, Figures};

use super::Collector;

pub(super) struct Placement {
    server: u32,
    watch: Option<CpuWatch>,
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
        self.watch = CpuWatch::start(self.server, engine::LOAD_THREAD);
        Ok(())
    }

    fn end(&mut self, _measured: &EngineResult, _samples: &mut Vec<Sample>) -> Result<Figures, SqlError> {
        let seen = self.watch.take().map(CpuWatch::finish).unwrap_or_default();
        let figures = [
            (figures::SAME_CPU_PCT, seen.same_cpu_pct),
            (figures::CLIENT_MOVES_PER_S, seen.client_moves_per_s),
            (figures::BACKEND_MOVES_PER_S, seen.backend_moves_per_s),
        ];
        Ok(figures.into_iter().filter_map(|(of, value)| Some((of, value?))).collect())
    }
}
