//! A test's plan, places, and observer.

use std::sync::Arc;

use engine::{Abort, ClientMessage, DriverChoice, Load, MessageLevel, Observer, RunPlan, Second, Until};
use protocol::Address;
use protocol::postgres::Login;

use protocol::postgres::Place;

/// Each client ends `transactions`, in closed load.
pub(crate) fn plan(transactions: u64, scripts: usize) -> RunPlan {
    RunPlan {
        threads: 1,
        part: engine::LoadPart::WHOLE,
        cpus: None,
        spin: 0,
        driver: DriverChoice::Auto,
        load: Load::Closed,
        warmup: 0,
        until: Until::PerClient(transactions),
        promise: None,
        skip_late: false,
        drain: 1_000_000_000,
        count_drained: false,
        transactions: false,
        gaps: None,
        connect_timeout: 10_000_000_000,
        seed: 1,
        scripts,
        statements: 64,
        items: 0,
    }
}

/// Keeps clients' messages, in order: `plain: …`, `debug: …`, `info: …`, `error: …`; `abort: …` for aborts.
#[derive(Debug, Default)]
pub(crate) struct MessageLog(pub(crate) Vec<String>);

impl Observer for MessageLog {
    fn message(&mut self, message: &ClientMessage) {
        let level = match message.level {
            MessageLevel::Plain => "plain",
            MessageLevel::Debug => "debug",
            MessageLevel::Info => "info",
            MessageLevel::Error => "error",
        };
        self.0.push(format!("{level}: {}", message.text));
    }

    fn aborted(&mut self, abort: &Abort) {
        self.0.push(format!("abort: {abort}"));
    }

    fn second(&mut self, _second: &Second) {}
}

pub(crate) fn connect() -> Place {
    connect_to("/simulated")
}

/// The same in another folder.
pub(crate) fn connect_to(folder: &str) -> Place {
    let address = Address::Unix(format!("{folder}/.s.PGSQL.5432").into());
    Place::new(address, Arc::new(Login::new("me", "db")))
}
