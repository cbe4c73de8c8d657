//! The machine that the load and a managed server share.

use engine::EngineResult;
use protocol::postgres::sql::SqlError;
use server::host::{HostSample, OtherPrograms, ServerCpu};
use server::measuring;
use spec::figures::{self, Figures};
use spec::{Sample, Scope};

use super::Collector;

/// A shorter rest at the end of a run gets no samples: its shares would be noise, µs.
const SHORTEST_US: i64 = 100_000;

pub(super) struct Host {
    server: Option<u32>,
    under_test: Option<Vec<u32>>,
    seen: Option<Seen>,
}

struct Seen {
    began: HostSample,
    others: Option<OtherPrograms>,
    last: HostSample,
    last_us: i64,
    /// Read while the clients were still connected: later their backends end, and what ended is known in
    /// ticks only.
    server_at_end: Option<ServerCpu>,
}

impl Host {
    pub(super) fn new(server: Option<u32>, under_test: Option<Vec<u32>>) -> Self {
        Self { server, under_test, seen: None }
    }

    fn others(&self) -> Option<OtherPrograms> {
        OtherPrograms::take(self.under_test.as_deref()?)
    }
}

impl Seen {
    fn step(&mut self, now: HostSample, time_us: i64, samples: &mut Vec<Sample>) {
        samples.extend(now.figures_since(&self.last).iter().map(|(name, value)| Sample {
            scope: Scope::Run,
            source: NAME.to_owned(),
            name: name.to_owned(),
            time_us,
            value,
        }));
        (self.last, self.last_us) = (now, time_us);
    }
}

const NAME: &str = "host";

impl Collector for Host {
    fn name(&self) -> &'static str {
        NAME
    }

    fn begin(&mut self) -> Result<(), SqlError> {
        measuring::look();
        let now = HostSample::take(self.server);
        let others = self.others();
        self.seen = Some(Seen { began: now, others, last: now, last_us: 0, server_at_end: None });
        Ok(())
    }

    fn ending(&mut self) {
        if let Some(seen) = &mut self.seen {
            seen.server_at_end = self.server.and_then(ServerCpu::take);
        }
    }

    fn tick(&mut self, time_us: i64, samples: &mut Vec<Sample>) {
        measuring::look();
        if let Some(seen) = &mut self.seen {
            seen.step(HostSample::take(self.server), time_us, samples);
        }
    }

    fn end(&mut self, measured: &EngineResult, samples: &mut Vec<Sample>) -> Result<Figures, SqlError> {
        let (now, others) = (HostSample::take(self.server), self.others());
        let Some(seen) = &mut self.seen else { return Ok(Figures::default()) };
        let time_us = (measured.elapsed / 1000) as i64;
        if time_us - seen.last_us >= SHORTEST_US {
            seen.step(now, time_us, samples);
        }
        let others_pct = others.zip(seen.others).and_then(|(now, before)| now.pct_since(&before));
        let mut figures = now.figures_since(&seen.began);
        figures.extend(others_pct.map(|pct| (figures::CPU_OTHERS_PCT, pct)));
        let server = seen.server_at_end.zip(seen.began.server_cpu());
        let server_s = server.and_then(|(end, began)| end.seconds_since(began));
        figures.extend(server_s.map(|seconds| (figures::SERVER_CPU_S, seconds)));
        Ok(figures)
    }
}
