//! Web servers outside the timed part of a run: one request at a time, bodies whole.

mod control;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use protocol::http::{ControlError, HttpConnection, HttpConnector, Url};
use protocol::postgres::Tls;

use crate::control::look_up;

pub use self::control::HttpControl;

/// Opens connections to web servers.
pub struct Web<'a> {
    /// Ends every wait once it returns true.
    pub given_up: &'a (dyn Fn() -> bool + Sync),
}

impl HttpConnector for Web<'_> {
    fn look_up(&self, url: &Url) -> Result<Vec<SocketAddr>, ControlError> {
        let unknown =
            |problem: String| ControlError { doing: format!("looking up the host of {url}"), problem };
        let found = look_up(url.host(), url.port()).map_err(|error| unknown(error.to_string()))?;
        match found.is_empty() {
            true => Err(unknown("it has no address; write the address itself into the URL".to_owned())),
            false => Ok(found),
        }
    }

    fn control(
        &self,
        url: &Url,
        tls: Option<&Tls>,
    ) -> Result<Box<dyn HttpConnection + Send + '_>, ControlError> {
        let addresses = self.look_up(url)?;
        let control = HttpControl::connect(url, addresses, tls.cloned(), self.given_up)?;
        Ok(Box::new(control))
    }
}
