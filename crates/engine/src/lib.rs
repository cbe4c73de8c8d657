//! The load engine: clock, schedule, client loop, I/O drivers and recorder.
//!
//! It knows one trait, [`Client`], and moves bytes and time for it. It never names a database, a file
//! format or the terminal.

mod assign;
mod client;
mod client_loop;
mod control;
mod coordinator;
mod driver;
mod error;
mod links;
mod measured;
mod merge;
mod observer;
mod outages;
mod outbox;
mod own_cost;
mod pace;
mod phases;
mod plan;
mod reconnect;
mod recorder;
mod run;
mod schedule;
mod seat;
mod serve;
pub mod sim;
mod slots;
mod stop;
mod timers;
mod tls;
mod wake;
mod window;

pub use client::{
    Address, Client, Endpoint, Event, Failure, Io, Level, Link, Outcome, Returned, StatementEnd, Step, Time,
    Tls,
};
pub use driver::start_connect;
pub use error::EngineError;
pub use measured::{Abort, Counts, Measured, Outage, OwnCost, ScriptFigures, Second, StatementFigures};
pub use observer::Observer;
pub use outbox::{Entry, EntryEnd, Message};
pub use plan::{Arrivals, DriverChoice, GapStream, Gaps, Load, Plan, Rate, Timeline, Until};
pub use run::run;
pub use stop::Stop;
pub use wake::Waker;
