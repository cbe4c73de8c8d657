//! A list from which clients draw, each item as often as its weight says.

use script::Random;

/// Items with their weights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Drawn<T> {
    items: Vec<T>,
    /// Cumulative weights; empty while all are 1.
    up_to: Vec<u64>,
}

impl<T> Default for Drawn<T> {
    fn default() -> Self {
        Self { items: Vec::new(), up_to: Vec::new() }
    }
}

impl<T> Drawn<T> {
    /// Adds an item; a weight of 0 counts as 1.
    pub(crate) fn push(&mut self, item: T, weight: u64) {
        if self.up_to.is_empty() && weight > 1 {
            self.up_to = (1..=self.items.len() as u64).collect();
        }
        if weight > 1 || !self.up_to.is_empty() {
            let before = self.up_to.last().copied().unwrap_or(0);
            self.up_to.push(before.saturating_add(weight.max(1)));
        }
        self.items.push(item);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(crate) fn items(&self) -> &[T] {
        &self.items
    }

    /// Each item with its share of all draws, 0..=1.
    pub(crate) fn shares(&self) -> impl Iterator<Item = (f64, &T)> {
        let all = self.up_to.last().copied().unwrap_or(self.items.len() as u64) as f64;
        self.weighted().map(move |(weight, item)| (weight as f64 / all, item))
    }

    /// Each item with its weight.
    pub(crate) fn weighted(&self) -> impl Iterator<Item = (u64, &T)> {
        self.items.iter().enumerate().map(|(at, item)| {
            let end = self.up_to.get(at).copied().unwrap_or(at as u64 + 1);
            let before =
                at.checked_sub(1).map_or(0, |at| self.up_to.get(at).copied().unwrap_or(at as u64 + 1));
            (end - before, item)
        })
    }

    /// One item as a list; empty where there are none.
    #[inline]
    pub(crate) fn draw(&self, random: &mut Random) -> &[T] {
        let at = match self.up_to.last() {
            None => random.up_to((self.items.len() as u64).saturating_sub(1)) as usize,
            Some(all) => {
                let number = random.up_to(all - 1);
                self.up_to.partition_point(|up_to| *up_to <= number)
            }
        };
        self.items.get(at).map(std::slice::from_ref).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_drawn_by_their_weights() {
        let mut drawn = Drawn::default();
        assert!(drawn.draw(&mut Random::new(1)).is_empty());
        for (item, weight) in [("rare", 1), ("often", 7), ("never named", 0), ("seldom", 1)] {
            drawn.push(item, weight);
        }
        assert_eq!(drawn.weighted().map(|(weight, _)| weight).collect::<Vec<_>>(), [1, 7, 1, 1]);
        let mut random = Random::new(5);
        let draws: Vec<&str> = (0..10_000).map(|_| drawn.draw(&mut random)[0]).collect();
        let share = |wanted: &str| draws.iter().filter(|item| **item == wanted).count() as f64 / 10_000.0;
        assert!((share("often") - 0.7).abs() < 0.03, "{}", share("often"));
        for item in ["rare", "never named", "seldom"] {
            assert!((share(item) - 0.1).abs() < 0.02, "{item} {}", share(item));
        }
        let shares: f64 = drawn.shares().map(|(share, _)| share).sum();
        assert!((shares - 1.0).abs() < 1e-12);
    }

    #[test]
    fn equal_weights_are_drawn_evenly() {
        let mut drawn = Drawn::default();
        (0..4).for_each(|item| drawn.push(item, 1));
        let mut random = Random::new(2);
        let mut seen = [0; 4];
        (0..4000).for_each(|_| seen[drawn.draw(&mut random)[0] as usize] += 1);
        assert!(seen.iter().all(|times| (850..1150).contains(times)), "{seen:?}");
        assert!(drawn.weighted().all(|(weight, _)| weight == 1));
    }
}
