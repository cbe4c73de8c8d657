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
    Abandoned, Abort, Address, Client, Endpoint, Event, Failure, Io, Keepalive, Level, Link, Outcome,
    Returned, StatementEnd, Step, TcpOptions, Time, Tls,
};
pub use client_loop::{GAP, PAUSE};
pub use driver::io_uring_works;
pub use error::NotConnected;
pub use measured::{
    ClientTime, ItemFigures, Measured, OwnCost, ScriptFigures, Second, StatementFigures, Stretch,
};
pub use observer::{Entry, EntryEnd, Message, Observer};
pub use plan::{Arrivals, DriverChoice, GapStream, Gaps, Load, Plan, Rate, Timeline, Until};
pub use run::{LOAD_THREAD, Run, run};
pub use stop::Stop;
pub use wake::Waker;
