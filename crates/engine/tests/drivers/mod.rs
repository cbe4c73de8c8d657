//! What must hold with every driver.

mod secure;
mod sockets;

use engine::RunPlan;

use crate::{DRIVER, support};

/// The usual plan with the driver under test.
fn plan() -> RunPlan {
    RunPlan { driver: DRIVER, ..support::plan() }
}
