//! Settings that a pgdyno left changed on the server about to be measured.

use std::time::Duration;

use protocol::postgres::Place;

use super::journal::{Left, left_on, may_be_left_at};
use crate::control::Control;
use crate::home::Home;

/// How long one more connection may take, where one is needed.
const CONNECT_BOUND: Duration = Duration::from_secs(10);

/// What is left on the server of a connection. Unless there is a journal that may be about it, the server is asked nothing.
#[must_use]
pub fn left_behind(control: &mut Control) -> Vec<Left> {
    Home::locate().map_or_else(|_| Vec::new(), |home| left_on(&home, control))
}

/// The same for a server without a connection; one is made only where there is a journal that may be about it.
#[must_use]
pub fn left_behind_at(place: &Place) -> Vec<Left> {
    let Ok(home) = Home::locate() else { return Vec::new() };
    if !may_be_left_at(&home, &place.address) {
        return Vec::new();
    }
    match Control::open(place, Some(CONNECT_BOUND)) {
        Ok(mut control) => left_on(&home, &mut control),
        // Whoever measures it will say why.
        Err(_) => Vec::new(),
    }
}
