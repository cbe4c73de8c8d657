//! Settings that a pgdyno left changed on the server about to be measured.

use std::time::Duration;

use protocol::postgres::Place;
use spec::Error;

use super::journal::{Left, left_on, may_be_left_at};
use crate::control::Control;
use crate::home::Home;

/// How long one more connection may take, where one is needed.
const CONNECT_BOUND: Duration = Duration::from_secs(10);

/// What is left on the server of a connection. Unless there is a journal that may be about it, the server is asked nothing.
///
/// # Errors
/// When somebody else can change the home or a journal.
pub fn left_behind(control: &mut Control) -> Result<Vec<Left>, Error> {
    Home::locate().map_or_else(|_| Ok(Vec::new()), |home| left_on(&home, control))
}

/// The same for a server without a connection; one is made only where there is a journal that may be about it.
///
/// # Errors
/// As for [`left_behind`].
pub fn left_behind_at(place: &Place) -> Result<Vec<Left>, Error> {
    let Ok(home) = Home::locate() else { return Ok(Vec::new()) };
    if !may_be_left_at(&home, &place.address)? {
        return Ok(Vec::new());
    }
    match Control::open(place, Some(CONNECT_BOUND)) {
        Ok(mut control) => left_on(&home, &mut control),
        // Whoever measures it will say why.
        Err(_) => Ok(Vec::new()),
    }
}
