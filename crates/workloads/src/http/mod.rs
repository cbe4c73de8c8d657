//! GET requests to a web server: map tiles by a list, or one URL.
//!
//! A transaction is one request. Its rows are 1 when the body is not empty (an empty tile has none), its
//! bytes are the body's as sent, compressed or not. A failure is a status without success (except statuses
//! that mean an empty tile), an HTML page where a tile was expected, or an incomplete response. Requests are prepared before the run, so that other
//! workloads can send theirs, too ([`Requests`], [`Web`]).

mod accept;
pub(crate) mod body;
mod client;
mod connection;
pub(crate) mod delay;
mod guard;
mod options;
mod requests;
#[cfg(test)]
mod tests;
mod web;
mod words;
mod workload;

pub use options::HttpOptions;
pub(crate) use options::empty_status_problem;
pub use requests::{Request, Requests};
pub use web::Web;
pub use workload::Http;
