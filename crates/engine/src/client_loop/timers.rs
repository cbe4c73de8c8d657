//! The timers of one thread: each has at most one time, replaced and cancelled in place.

use crate::client::Time;
use crate::driver::Conn;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// [`crate::Step::Until`].
    Client(usize),
    Visit(usize),
    Link(Conn),
}

const UNSET: u32 = u32::MAX;

/// A binary min-heap that knows the position of each timer, so that setting one again leaves no old entry.
///
/// All memory is allocated at the start. Setting, cancelling and taking the first cost O(log n).
#[derive(Debug)]
pub(super) struct Timers {
    heap: Vec<(Time, Timer)>,
    /// Position in the heap: clients, then visits, then connections.
    position: Vec<u32>,
    clients: usize,
}

impl Timers {
    pub(super) fn new(clients: usize, connections: usize) -> Self {
        let timers = 2 * clients + connections;
        Self { heap: Vec::with_capacity(timers), position: vec![UNSET; timers], clients }
    }

    #[inline]
    fn slot(&self, timer: Timer) -> usize {
        match timer {
            Timer::Client(client) => client,
            Timer::Visit(client) => self.clients + client,
            Timer::Link(conn) => 2 * self.clients + conn,
        }
    }

    #[inline]
    fn put(&mut self, timer: Timer, index: u32) {
        let slot = self.slot(timer);
        self.position[slot] = index;
    }

    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }

    pub(super) fn first(&self) -> Option<Time> {
        self.heap.first().map(|&(at, _)| at)
    }

    /// Sets a timer's time, replacing an earlier one.
    pub(super) fn set(&mut self, timer: Timer, at: Time) {
        let index = match self.position[self.slot(timer)] {
            UNSET => {
                self.heap.push((at, timer));
                self.heap.len() - 1
            }
            index => {
                self.heap[index as usize].0 = at;
                index as usize
            }
        };
        self.put(timer, index as u32);
        let index = self.rise(index);
        self.sink(index);
    }

    pub(super) fn cancel(&mut self, timer: Timer) {
        let index = self.position[self.slot(timer)];
        if index != UNSET {
            self.remove(index as usize);
        }
    }

    /// Takes the first timer if it is due, with the time it was set for.
    pub(super) fn take_due(&mut self, now: Time) -> Option<(Timer, Time)> {
        let &(at, timer) = self.heap.first()?;
        if at > now {
            return None;
        }
        self.remove(0);
        Some((timer, at))
    }

    fn remove(&mut self, index: usize) {
        let (_, timer) = self.heap.swap_remove(index);
        self.put(timer, UNSET);
        if let Some(&(_, moved)) = self.heap.get(index) {
            self.put(moved, index as u32);
            let index = self.rise(index);
            self.sink(index);
        }
    }

    fn rise(&mut self, mut index: usize) -> usize {
        while index > 0 {
            let parent = (index - 1) / 2;
            if self.heap[parent] <= self.heap[index] {
                break;
            }
            self.swap(parent, index);
            index = parent;
        }
        index
    }

    fn sink(&mut self, mut index: usize) {
        loop {
            let left = 2 * index + 1;
            let Some(smaller) = [left, left + 1]
                .into_iter()
                .filter(|&child| child < self.heap.len())
                .min_by_key(|&child| self.heap[child])
            else {
                return;
            };
            if self.heap[index] <= self.heap[smaller] {
                return;
            }
            self.swap(index, smaller);
            index = smaller;
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.put(self.heap[a].1, a as u32);
        self.put(self.heap[b].1, b as u32);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_time_set_again_replaces_the_first() {
        let mut timers = Timers::new(1, 1);
        timers.set(Timer::Client(0), 50);
        timers.set(Timer::Visit(0), 20);
        timers.set(Timer::Client(0), 10);
        timers.set(Timer::Visit(0), 60);
        timers.set(Timer::Link(0), 30);
        timers.cancel(Timer::Link(0));
        timers.cancel(Timer::Link(0));
        assert_eq!(timers.first(), Some(10));
        assert_eq!(timers.take_due(9), None);
        assert_eq!(timers.take_due(100), Some((Timer::Client(0), 10)));
        assert_eq!(timers.take_due(100), Some((Timer::Visit(0), 60)));
        assert_eq!(timers.take_due(100), None);
        assert_eq!(timers.len(), 0);
    }

    fn timers() -> impl Strategy<Value = Timer> {
        prop_oneof![
            (0usize..4).prop_map(Timer::Client),
            (0usize..4).prop_map(Timer::Visit),
            (0usize..8).prop_map(Timer::Link),
        ]
    }

    proptest! {
        #[test]
        fn agrees_with_a_plain_map(steps in prop::collection::vec((timers(), prop::option::of(0u64..100)), 0..200)) {
            let mut timers = Timers::new(4, 8);
            let mut plain = std::collections::BTreeMap::new();
            for (timer, at) in steps {
                match at {
                    Some(at) => {
                        timers.set(timer, at);
                        plain.insert(timer, at);
                    }
                    None => {
                        timers.cancel(timer);
                        plain.remove(&timer);
                    }
                }
                prop_assert_eq!(timers.first(), plain.values().min().copied());
            }
            let mut expected: Vec<(Time, Timer)> = plain.into_iter().map(|(timer, at)| (at, timer)).collect();
            expected.sort_unstable();
            let taken: Vec<_> = std::iter::from_fn(|| timers.take_due(100)).map(|(timer, at)| (at, timer)).collect();
            prop_assert_eq!(taken, expected);
        }
    }
}
