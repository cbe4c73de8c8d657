//! HTTP/1.1 for a load of GET requests: URLs with placeholders for a tile, requests out, responses in.
//!
//! Left out: other methods, redirects (reported, not followed), HTTP/2, cookies, caches.

mod control;
mod head;
mod request;
mod response;
mod url;

pub use control::{ControlError, Got, HttpConnection, HttpConnector, tls};
pub use head::{BadResponse, Encoding};
pub use request::{Get, USER_AGENT};
pub use response::{FIRST_BYTES, Response, Responses, Want};
pub use url::{Url, UrlError};
