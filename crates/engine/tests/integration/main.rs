//! The engine against simulated servers, in simulated time. One binary, because each additional one links everything again.

mod accounting;
mod dropin;
mod held;
mod open_at_the_end;
mod outages;
mod parts;
mod simulated;
mod stalls;
mod users;

#[path = "../support/mod.rs"]
mod support;
