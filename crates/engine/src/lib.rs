//! The load engine: clock, schedule, client loop, I/O drivers and recorder.
//!
//! It drives implementations of one trait, [`Client`]: it moves their bytes and keeps time. It never names
//! a database, a file format or the terminal.

mod client;
mod client_loop;
mod control;
mod driver;
mod error;
mod measured;
mod observer;
mod plan;
mod recorder;
mod run;
pub mod sim;
mod stop;
mod wake;

pub use client::{
    Abandoned, Abort, Address, Client, Endpoint, Event, Failure, Io, Keepalive, Link, MessageLevel, Returned,
    StatementEnd, Step, TcpOptions, Time, Tls, TransactionOutcome, Visit,
};
pub use client_loop::{GAP, PAUSE};
pub use driver::io_uring_works;
pub use error::NotConnected;
pub use measured::{
    ClientTime, EngineResult, ItemFigures, OwnCost, ScriptFigures, Second, StatementFigures, Stretch,
    UserFigures,
};
pub use observer::{ClientMessage, EntryEnd, Observer, TransactionEntry};
pub use plan::{
    DriverChoice, GapDistribution, GapStream, Gaps, Load, LoadPart, Pause, Rate, RunPlan, SessionStep,
    Timeline, Until, UserArrival, Users,
};
pub use run::{HeldRun, LEAD, LOAD_THREAD, run};
pub use stop::StopFlag;
pub use wake::Waker;
