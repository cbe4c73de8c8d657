//! The ring's own timer. It stays set while connections are served, so that the system arms its clock once
//! per deadline and not once per wait: on a virtual machine that causes an exit from the guest.

use io_uring::types::{TimeoutFlags, Timespec};
use io_uring::{opcode, squeue};

use super::token::{OperationKind, token};
use crate::client::Time;
use crate::driver::Epoch;

#[derive(Default)]
pub(super) struct Timer {
    /// When it fires.
    at: Option<Time>,
    /// `at`, where the system reads it when it takes the order.
    written: Box<Timespec>,
}

impl Timer {
    /// Token of its completions; [`OperationKind::Wake`] uses only connection 0 otherwise.
    pub(super) const TOKEN: u64 = token(OperationKind::Wake, 0, 1);
    /// Token of the operations that move it.
    pub(super) const MOVED: u64 = token(OperationKind::Wake, 0, 2);

    /// The operation that makes it fire by `until`; none if it is set early enough.
    pub(super) fn ring_by(&mut self, until: Time, epoch: Epoch) -> Option<squeue::Entry> {
        if self.at.is_some_and(|at| at <= until) {
            return None;
        }
        let was_set = self.at.replace(until).is_some();
        let at = epoch.monotonic(until);
        *self.written = Timespec::new().sec(at / 1_000_000_000).nsec((at % 1_000_000_000) as u32);
        let written = std::ptr::from_ref(&*self.written);
        Some(if was_set {
            // If it fired just now, the update fails with an error; the next wait sets it again.
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
