//! What must hold with every driver.

mod secure;
mod sockets;

use engine::Plan;

use crate::{DRIVER, support};

/// The usual plan with the driver under test.
fn plan() -> Plan {
    Plan { driver: DRIVER, ..support::plan() }
}
