//! `-P` of `pgdyno bench`: pgbench's progress lines in place of the usual ones.

use lab::runner::{LabEvent, Progress};

use super::args::BenchArgs;
use crate::commands::pgbench::{ProgressLines, Ticker};
use crate::progress::Screen;

pub(super) struct Watched {
    screen: Screen,
    ticker: Option<Ticker>,
}

impl Watched {
    pub(super) fn new(screen: Screen, args: &BenchArgs) -> Self {
        let (conduct, pace) = (&args.conduct, &args.pace);
        let ticker = conduct.progress.map(|seconds| {
            let lines = ProgressLines { seconds, timestamp: conduct.progress_timestamp };
            Ticker::new(lines, pace.rate.is_some(), pace.latency_limit.is_some(), conduct.max_tries != 1)
        });
        Self { screen, ticker }
    }
}

impl Progress for Watched {
    fn event(&mut self, event: LabEvent) {
        match (&mut self.ticker, event) {
            (Some(ticker), LabEvent::Second { start_us, length_us, scripts, .. }) => {
                if let Some(line) = ticker.told(start_us, length_us, &scripts) {
                    self.screen.line(&line);
                }
            }
            (_, event) => self.screen.event(event),
        }
    }
}
