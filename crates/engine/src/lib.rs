//! The load engine: clock, schedule, client loop, I/O drivers and recorder.
//!
//! It knows one trait, [`Client`], and moves bytes and time for it. It never names a database, a file
//! format or the terminal.

mod client;
mod measured;
mod plan;

pub use client::{Address, Client, Endpoint, Event, Failure, Io, Link, Outcome, Step, Time, Tls};
pub use measured::{Abort, Counts, Measured, OwnCost, ScriptFigures, Second, StatementFigures};
pub use plan::{Arrivals, DriverChoice, Load, Plan, Rate, Timeline, Until};

// To come (engine owner):
// pub trait Observer { fn second(&mut self, second: &Second); }   // called on the caller's thread once per second, merged over threads
// pub struct Stop: Clone (Arc<AtomicBool> + wake) ; Stop::new(), stop.set(), stop.is_set()
// pub fn run(plan: &Plan, clients: Vec<Box<dyn Client>>, observer: &mut dyn Observer, stop: &Stop) -> Result<Measured, EngineError>;
// pub mod sim: simulate(plan, clients, server: &mut dyn sim::Server, observer) -> Measured
