//! The ring's own timer. It stays set while connections are served, so that the system arms its clock once for each time
//! that is waited for and not in each wait: on a virtual machine that leaves the guest.

use io_uring::types::{TimeoutFlags, Timespec};
use io_uring::{opcode, squeue};

use super::token::{Kind, token};
use crate::client::Time;
use crate::driver::Epoch;

/// A timer that is set to one time at most.
#[derive(Default)]
pub(super) struct Timer {
    /// When it rings.
    at: Option<Time>,
    /// The same as the system reads it when it takes the order.
    written: Box<Timespec>,
}

impl Timer {
    /// Its completions; [`Kind::Wake`] has no other connection than 0.
    pub(super) const TOKEN: u64 = token(Kind::Wake, 0, 1);
    /// Completions of orders to ring earlier.
    pub(super) const MOVED: u64 = token(Kind::Wake, 0, 2);

    /// The order that has it ring by a time; none where it does so anyway.
    pub(super) fn ring_by(&mut self, until: Time, epoch: Epoch) -> Option<squeue::Entry> {
        if self.at.is_some_and(|at| at <= until) {
            return None;
        }
        let was_set = self.at.replace(until).is_some();
        let at = epoch.monotonic(until);
        *self.written = Timespec::new().sec(at / 1_000_000_000).nsec((at % 1_000_000_000) as u32);
        let written = std::ptr::from_ref(&*self.written);
        Some(if was_set {
            // Where it rang just now there is nothing to move, which it says; it is set again for the next wait.
            let order = opcode::TimeoutUpdate::new(Self::TOKEN, written).flags(TimeoutFlags::ABS);
            order.build().flags(squeue::Flags::SKIP_SUCCESS).user_data(Self::MOVED)
        } else {
            opcode::Timeout::new(written).flags(TimeoutFlags::ABS).build().user_data(Self::TOKEN)
        })
    }

    pub(super) fn rang(&mut self) {
        self.at = None;
    }
}
