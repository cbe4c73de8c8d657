//! The timers of one thread: at most one time per key, replaced and cancelled in place.

use crate::client::Time;

/// Marks a key that has no time set.
const UNSET: u32 = u32::MAX;

/// A binary min-heap that knows where each key stands, so that a timer set again leaves nothing behind.
///
/// All memory is taken at the start. Setting, cancelling and taking the first cost O(log n).
#[derive(Debug)]
pub(crate) struct Timers {
    heap: Vec<(Time, u32)>,
    position: Vec<u32>,
}

impl Timers {
    /// Timers for the keys `0..keys`.
    pub(crate) fn new(keys: usize) -> Self {
        Self { heap: Vec::with_capacity(keys), position: vec![UNSET; keys] }
    }

    /// How many keys have a time set.
    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    /// The earliest time set.
    pub(crate) fn first(&self) -> Option<Time> {
        self.heap.first().map(|&(at, _)| at)
    }

    /// Whether `key` has a time set.
    pub(crate) fn is_set(&self, key: usize) -> bool {
        self.position[key] != UNSET
    }

    /// Sets the time of `key`; an earlier wish is replaced.
    pub(crate) fn set(&mut self, key: usize, at: Time) {
        let index = match self.position[key] {
            UNSET => {
                self.heap.push((at, key as u32));
                self.heap.len() - 1
            }
            index => {
                self.heap[index as usize].0 = at;
                index as usize
            }
        };
        self.position[key] = index as u32;
        let index = self.rise(index);
        self.sink(index);
    }

    /// Forgets the time of `key`, if it has one.
    pub(crate) fn cancel(&mut self, key: usize) {
        let index = self.position[key];
        if index != UNSET {
            self.remove(index as usize);
        }
    }

    /// Takes the first timer if its time has come: (key, time it was set for).
    pub(crate) fn take_due(&mut self, now: Time) -> Option<(usize, Time)> {
        let &(at, key) = self.heap.first()?;
        if at > now {
            return None;
        }
        self.remove(0);
        Some((key as usize, at))
    }

    fn remove(&mut self, index: usize) {
        let (_, key) = self.heap.swap_remove(index);
        self.position[key as usize] = UNSET;
        if index < self.heap.len() {
            self.position[self.heap[index].1 as usize] = index as u32;
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
        self.position[self.heap[a].1 as usize] = a as u32;
        self.position[self.heap[b].1 as usize] = b as u32;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_time_set_again_replaces_the_first() {
        let mut timers = Timers::new(3);
        timers.set(0, 50);
        timers.set(1, 20);
        timers.set(0, 10);
        timers.set(1, 60);
        timers.set(2, 30);
        timers.cancel(2);
        timers.cancel(2);
        assert_eq!(timers.first(), Some(10));
        assert_eq!(timers.take_due(9), None);
        assert_eq!(timers.take_due(100), Some((0, 10)));
        assert_eq!(timers.take_due(100), Some((1, 60)));
        assert_eq!(timers.take_due(100), None);
        assert_eq!(timers.len(), 0);
    }

    proptest! {
        #[test]
        fn agrees_with_a_plain_list(steps in prop::collection::vec((0usize..16, prop::option::of(0u64..100)), 0..200)) {
            let mut timers = Timers::new(16);
            let mut plain: Vec<Option<Time>> = vec![None; 16];
            for (key, at) in steps {
                plain[key] = at;
                match at {
                    Some(at) => timers.set(key, at),
                    None => timers.cancel(key),
                }
                prop_assert_eq!(timers.first(), plain.iter().flatten().min().copied());
            }
            let mut expected: Vec<(Time, usize)> = plain.iter().enumerate().filter_map(|(k, at)| at.map(|at| (at, k))).collect();
            expected.sort_unstable();
            let taken: Vec<(Time, usize)> = std::iter::from_fn(|| timers.take_due(100)).map(|(key, at)| (at, key)).collect();
            prop_assert_eq!(taken, expected);
        }
    }
}
