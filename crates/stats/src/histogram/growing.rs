//! Counters of a histogram that is recorded into, with memory only for the ranges that its values fall in.
//!
//! A run can have a thousand scripts, each with histograms for every thread, and nearly all latencies of a script
//! are in a narrow range. All counters would take 110 kB, and a narrow range takes some hundreds of bytes. A script with
//! a few hundred transactions in a second has one or two in most of its counters, so these begin as bytes.

use crate::buckets::BUCKETS;

/// Counters of a line, and lines of a row.
const LINE: usize = 16;
const LINES: usize = 64;
const ROW: usize = LINE * LINES;
const ROWS: usize = BUCKETS.div_ceil(ROW);

/// The lines of a histogram with values in all its ranges.
pub(super) const ALL_LINES: usize = ROWS * LINES;

/// A histogram that begins with room for so many lines is one of few, and has wide ones.
const WIDE: usize = 512;

/// The counter of a bucket is found in two steps: by its row, then by its line in the row. Places are counted from 1, and
/// 0 stands for none.
#[derive(Clone, Default)]
pub(super) struct GrowingCounters {
    /// Where in `rows` each row is.
    places: [u8; ROWS],
    /// Where in `lines` the lines of each row are.
    rows: Vec<[u16; LINES]>,
    lines: Lines,
    /// Buckets of 2^32 values and more, with what their counters cannot hold, in units of 2^32.
    carries: Vec<(usize, u64)>,
    count: u64,
}

/// All lines are narrow until a counter of one is full. They stay wide then.
#[derive(Clone)]
enum Lines {
    Narrow(Vec<[u8; LINE]>),
    Wide(Vec<[u32; LINE]>),
}

impl Default for Lines {
    fn default() -> Self {
        Self::Narrow(Vec::new())
    }
}

impl Lines {
    fn with_room(lines: usize) -> Self {
        match lines < WIDE {
            true => Self::Narrow(Vec::with_capacity(lines)),
            false => Self::Wide(Vec::with_capacity(lines.min(ALL_LINES))),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Narrow(lines) => lines.len(),
            Self::Wide(lines) => lines.len(),
        }
    }

    fn push_empty(&mut self) {
        match self {
            Self::Narrow(lines) => push(lines, [0; LINE]),
            Self::Wide(lines) => push(lines, [0; LINE]),
        }
    }

    fn clear(&mut self) {
        match self {
            Self::Narrow(lines) => lines.clear(),
            Self::Wide(lines) => lines.clear(),
        }
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Self::Narrow(lines) => lines.capacity() * LINE,
            Self::Wide(lines) => lines.capacity() * size_of::<[u32; LINE]>(),
        }
    }

    /// A counter of an existing line.
    #[inline]
    fn get(&self, line: usize, at: usize) -> u32 {
        match self {
            Self::Narrow(lines) => u32::from(lines[line][at]),
            Self::Wide(lines) => lines[line][at],
        }
    }

    /// Sets it; false if it does not fit a narrow counter.
    #[inline]
    fn set(&mut self, line: usize, at: usize, count: u32) -> bool {
        match self {
            Self::Narrow(lines) => match u8::try_from(count) {
                Ok(count) => lines[line][at] = count,
                Err(_) => return false,
            },
            Self::Wide(lines) => lines[line][at] = count,
        }
        true
    }

    fn widen(&mut self) {
        if let Self::Narrow(lines) = self {
            *self = Self::Wide(lines.iter().map(|line| line.map(u32::from)).collect());
        }
    }
}

impl GrowingCounters {
    /// With memory for so many lines, up to [`ALL_LINES`], so that the first ones do not allocate: wide ones, if there
    /// are many.
    pub(super) fn with_room(lines: usize) -> Self {
        let rows = lines.div_ceil(LINES).min(ROWS);
        Self { rows: Vec::with_capacity(rows), lines: Lines::with_room(lines), ..Self::default() }
    }

    /// Number of values.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Counts one value in a bucket.
    #[inline]
    pub(super) fn record(&mut self, index: usize) {
        self.count += 1;
        if let Some(line) = self.line(index)
            && let Some(next) = self.lines.get(line, index % LINE).checked_add(1)
            && self.lines.set(line, index % LINE, next)
        {
            return;
        }
        self.add_in_new_place(index, 1);
    }

    /// Counts several values in a bucket.
    pub(super) fn add(&mut self, index: usize, count: u64) {
        self.count = self.count.saturating_add(count);
        if let Some(line) = self.line(index)
            && let Ok(sum) =
                u32::try_from(u64::from(self.lines.get(line, index % LINE)).saturating_add(count))
            && self.lines.set(line, index % LINE, sum)
        {
            return;
        }
        self.add_in_new_place(index, count);
    }

    /// Empties the counters and keeps their memory.
    pub(super) fn clear(&mut self) {
        self.places = [0; ROWS];
        self.rows.clear();
        self.lines.clear();
        self.carries.clear();
        self.count = 0;
    }

    /// Index and count of each bucket with values, by value.
    pub(super) fn counters(&self) -> impl Iterator<Item = (usize, u64)> {
        let rows = self.places.iter().enumerate();
        let rows =
            rows.filter_map(|(row, place)| Some((row, self.rows.get(usize::from(*place).wrapping_sub(1))?)));
        let lines = rows.flat_map(move |(row, lines)| {
            let lines = lines.iter().enumerate();
            lines.filter_map(move |(line, place)| {
                Some((row * ROW + line * LINE, usize::from(*place).checked_sub(1)?))
            })
        });
        let counters = lines
            .flat_map(move |(first, line)| (0..LINE).map(move |at| (first + at, self.lines.get(line, at))));
        let counts =
            counters.map(|(index, counter)| (index, u64::from(counter).saturating_add(self.carried(index))));
        counts.filter(|(_, count)| *count > 0)
    }

    /// Allocated bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        self.rows.capacity() * size_of::<[u16; LINES]>()
            + self.lines.heap_bytes()
            + self.carries.capacity() * size_of::<(usize, u64)>()
    }

    /// Where in `lines` the line of a bucket is.
    #[inline]
    fn line(&self, index: usize) -> Option<usize> {
        let row = self.rows.get(usize::from(self.places[index / ROW]).wrapping_sub(1))?;
        usize::from(row[index / LINE % LINES]).checked_sub(1)
    }

    /// Adds to a counter that has no line yet, or that a sum does not fit.
    #[cold]
    fn add_in_new_place(&mut self, index: usize, count: u64) {
        let place = &mut self.places[index / ROW];
        if *place == 0 {
            push(&mut self.rows, [0; LINES]);
            *place = self.rows.len() as u8;
        }
        let row = &mut self.rows[usize::from(*place) - 1];
        let place = &mut row[index / LINE % LINES];
        if *place == 0 {
            self.lines.push_empty();
            *place = self.lines.len() as u16;
        }
        let line = usize::from(*place) - 1;
        let sum = u64::from(self.lines.get(line, index % LINE)).saturating_add(count);
        if sum > u64::from(u8::MAX) {
            self.lines.widen();
        }
        self.lines.set(line, index % LINE, sum as u32);
        let carry = sum >> u32::BITS;
        if carry > 0 {
            match self.carries.iter_mut().find(|(carried, _)| *carried == index) {
                Some((_, so_far)) => *so_far = so_far.saturating_add(carry),
                None => self.carries.push((index, carry)),
            }
        }
    }

    fn carried(&self, index: usize) -> u64 {
        let carry = self.carries.iter().find(|(carried, _)| *carried == index);
        carry.map_or(0, |(_, carry)| carry.saturating_mul(1 << u32::BITS))
    }
}

/// Adds a part, and not memory for twice as many: a thousand scripts have thousands of histograms.
fn push<T>(parts: &mut Vec<T>, part: T) {
    if parts.len() == parts.capacity() {
        parts.reserve_exact(2 + parts.len() / 4);
    }
    parts.push(part);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(counters: &GrowingCounters) -> Vec<(usize, u64)> {
        counters.counters().collect()
    }

    #[test]
    fn every_bucket_is_counted_once_in_order() {
        let mut all = GrowingCounters::default();
        (0..BUCKETS).rev().for_each(|index| all.add(index, index as u64 + 1));
        assert_eq!(counted(&all), (0..BUCKETS).map(|index| (index, index as u64 + 1)).collect::<Vec<_>>());
        assert_eq!(all.lines.len(), ALL_LINES);
        all.clear();
        assert_eq!((counted(&all), all.count()), (vec![], 0));
        all.record(7);
        assert_eq!((counted(&all), all.count()), (vec![(7, 1)], 1));
    }

    #[test]
    fn more_than_a_counter_holds_is_carried() {
        const FULL: u64 = u32::MAX as u64;
        let mut one = GrowingCounters::default();
        one.add(5, FULL);
        one.record(5);
        assert_eq!(counted(&one), [(5, FULL + 1)]);
        one.add(5, 3 * FULL);
        one.add(6, 10 * FULL);
        assert_eq!(counted(&one), [(5, 4 * FULL + 1), (6, 10 * FULL)]);
        let mut sum = one.clone();
        one.counters().for_each(|(index, count)| sum.add(index, count));
        assert_eq!((counted(&sum), sum.count()), (vec![(5, 8 * FULL + 2), (6, 20 * FULL)], 28 * FULL + 2));
        sum.add(5, u64::MAX);
        assert_eq!(sum.count(), u64::MAX);
    }

    #[test]
    fn a_narrow_range_takes_little_memory_and_nothing_takes_none() {
        let mut narrow = GrowingCounters::default();
        assert_eq!(narrow.heap_bytes(), 0);
        // An octave of latencies.
        (200_000..400_000).for_each(|ns| narrow.record(crate::buckets::index_of(ns)));
        assert!(narrow.heap_bytes() < 6_500, "{}", narrow.heap_bytes());
        let mut few = GrowingCounters::default();
        (200_000..400_000).step_by(900).for_each(|ns| few.record(crate::buckets::index_of(ns)));
        assert!(few.heap_bytes() < 1_900, "{}", few.heap_bytes());
        let before = narrow.heap_bytes();
        narrow.clear();
        (200_000..400_000).for_each(|ns| narrow.record(crate::buckets::index_of(ns)));
        assert_eq!(narrow.heap_bytes(), before, "it is not allocated again");
    }

    #[test]
    fn a_counter_that_does_not_fit_a_byte_widens_all() {
        let mut counters = GrowingCounters::default();
        (0..u64::from(u8::MAX)).for_each(|_| counters.record(5));
        counters.add(7_000, 3);
        assert!(matches!(counters.lines, Lines::Narrow(_)));
        let mut added = counters.clone();
        counters.record(5);
        added.add(5, 1_000);
        for (counters, wanted) in [(&mut counters, 256), (&mut added, 1_255)] {
            assert!(matches!(counters.lines, Lines::Wide(_)));
            counters.record(7_000);
            assert_eq!(counted(counters), [(5, wanted), (7_000, 4)]);
        }
    }

    #[test]
    fn with_room_for_all_nothing_is_allocated_later() {
        let mut roomy = GrowingCounters::with_room(usize::MAX);
        let at = |counters: &GrowingCounters| match &counters.lines {
            Lines::Wide(lines) => (counters.rows.as_ptr(), lines.as_ptr()),
            Lines::Narrow(_) => panic!("narrow lines"),
        };
        let before = at(&roomy);
        (0..BUCKETS).for_each(|index| (0..300).for_each(|_| roomy.record(index)));
        assert_eq!(at(&roomy), before);
    }
}
