//! A local server's disk traffic.

use super::family::consistent;
use super::proc::{children, disk_bytes};
use spec::figures::{self, Figures};

/// Bytes of all processes of a server so far; two of them give the figures in between.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiskTraffic(Option<(u64, u64)>);

impl DiskTraffic {
    /// Of the postmaster with this pid, its living children, and its reaped children.
    /// Written bytes count for the process that dirties a page, when it does so, not when the kernel writes
    /// it.
    #[must_use]
    pub fn take(postmaster: Option<u32>) -> Self {
        let all = postmaster.and_then(|pid| {
            consistent(pid, || {
                let living = children(pid).into_iter().filter_map(|process| disk_bytes(process.pid));
                Some(living.fold(disk_bytes(pid)?, |sum, own| (sum.0 + own.0, sum.1 + own.1)))
            })
        });
        Self(all)
    }

    /// Bytes read and written since `before`; empty where unknown.
    #[must_use]
    pub fn figures_since(&self, before: &Self) -> Figures {
        let Some((now, then)) = self.0.zip(before.0) else { return Figures::default() };
        let [read, written] = [now.0.saturating_sub(then.0), now.1.saturating_sub(then.1)];
        let read = (figures::SERVER_DISK_READ_BYTES, read as f64);
        [read, (figures::SERVER_DISK_WRITTEN_BYTES, written as f64)].into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_told_where_both_are_known() {
        let (before, after) = (DiskTraffic(Some((10, 20))), DiskTraffic(Some((15, 120))));
        let figures = after.figures_since(&before);
        assert_eq!(figures[figures::SERVER_DISK_READ_BYTES], 5.0);
        assert_eq!(figures[figures::SERVER_DISK_WRITTEN_BYTES], 100.0);
        assert!(after.figures_since(&DiskTraffic(None)).is_empty());
        assert_eq!(DiskTraffic::take(None), DiskTraffic(None));
    }
}
