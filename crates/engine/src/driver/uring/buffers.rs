//! Receive memory: a ring of equal buffers, lent and returned by number.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::Submitter;
use io_uring::types::BufRingEntry;

/// Large enough for large answers in few pieces. Pages that small ones do not touch take no memory.
const SIZE: usize = 32 * 1024;
/// Distance between buffers: small messages must not share the same cache lines.
const STRIDE: usize = SIZE + 5 * 64;
/// The ring's memory is aligned to a page.
const PAGE: usize = 4096;

/// The buffers of one driver; group 0 of its ring.
pub(super) struct Buffers {
    entries: NonNull<BufRingEntry>,
    layout: Layout,
    memory: Box<[u8]>,
    count: u16,
    tail: u16,
}

impl Buffers {
    pub(super) const GROUP: u16 = 0;

    /// Registers as many buffers as connections may be readable at once, up to a limit.
    ///
    /// # Errors
    /// When the system does not support buffer rings.
    pub(super) fn register(connections: usize, submitter: &Submitter<'_>) -> io::Result<Self> {
        let count = connections.next_power_of_two().clamp(16, 1024) as u16;
        let layout = Layout::array::<BufRingEntry>(usize::from(count))
            .and_then(|layout| layout.align_to(PAGE))
            .map_err(io::Error::other)?;
        // SAFETY: the layout is not empty.
        let start = unsafe { alloc_zeroed(layout) }.cast::<BufRingEntry>();
        let entries = NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout));
        let memory = vec![0; usize::from(count) * STRIDE].into_boxed_slice();
        let mut this = Self { entries, layout, memory, count, tail: 0 };
        // SAFETY: the memory is a zeroed, page-aligned array of `count` entries that outlives the ring: the driver drops
        // its ring first.
        unsafe { submitter.register_buf_ring_with_flags(start as u64, count, Self::GROUP, 0)? };
        for number in 0..count {
            this.give_back(number);
        }
        Ok(this)
    }

    pub(super) fn received(&self, number: u16, length: usize) -> &[u8] {
        let start = usize::from(number) * STRIDE;
        &self.memory[start..start + length.min(SIZE)]
    }

    pub(super) fn give_back(&mut self, number: u16) {
        let slot = usize::from(self.tail & (self.count - 1));
        let start = usize::from(number) * STRIDE;
        let address = self.memory[start..start + SIZE].as_mut_ptr();
        // SAFETY: `slot` is inside the array, which nobody else on our side holds; the system reads an entry only after
        // the tail has passed it.
        let entry = unsafe { &mut *self.entries.as_ptr().add(slot) };
        entry.set_addr(address as u64);
        entry.set_len(SIZE as u32);
        entry.set_bid(number);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail lies in the first entry and is shared with the system; an atomic store of an aligned u16.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.entries.as_ptr()).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }
}

impl Buffers {
    /// Leaks the memory, because the system may still write to it.
    pub(super) fn forget(&mut self) {
        std::mem::forget(std::mem::take(&mut self.memory));
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: made with this layout, and the ring that used it is gone.
        unsafe { dealloc(self.entries.as_ptr().cast(), self.layout) };
    }
}

// SAFETY: the pointers are to memory that this struct owns.
unsafe impl Send for Buffers {}
