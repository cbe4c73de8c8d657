//! GET requests to a web server: map tiles by a list, or one URL.
//!
//! A transaction is one request. Its rows are 1 when the body is not empty (an empty tile has none), its bytes those of the
//! body as it came, compressed or not. A status that is no success, a page of HTML where a tile was expected, or half a
//! response counts as a failure. Requests are written before the run, so that other workloads can have theirs sent, too
//! ([`Requests`], [`Web`]).

mod accept;
mod ask;
mod client;
mod courier;
mod guard;
mod options;
mod requests;
#[cfg(test)]
mod tests;
mod web;
mod words;
mod workload;

pub use options::Options;
pub use requests::{Request, Requests};
pub use web::Web;
pub use workload::Http;
