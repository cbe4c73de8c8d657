//! HTTP/1.1, as far as a load of GET requests needs it: URLs with places for a tile, requests out, responses in.
//!
//! Left out: other methods, redirects (told, not followed), HTTP/2, cookies, caches.

mod broken;
mod control;
mod head;
mod request;
mod response;
mod tls;
mod url;

pub use broken::Broken;
pub use control::{Control, ControlError, Got, Server};
pub use head::Encoding;
pub use request::{Get, USER_AGENT};
pub use response::{FIRST_BYTES, Response, Responses, Want};
pub use tls::tls;
pub use url::{Url, UrlError};
