//! Whether a log is complete: clients number their transactions.

#[derive(Debug, Default)]
pub(super) struct SeenClients {
    /// (rows, highest transaction number) by client.
    seen: Vec<(u64, u64)>,
}

impl SeenClients {
    pub(super) fn add(&mut self, client: u32, number: u64) {
        let place = client as usize;
        if place >= self.seen.len() {
            self.seen.resize(place + 1, (0, 0));
        }
        let (rows, highest) = &mut self.seen[place];
        *rows += 1;
        *highest = number.max(*highest);
    }

    fn present(&self) -> impl Iterator<Item = &(u64, u64)> {
        self.seen.iter().filter(|(rows, _)| *rows > 0)
    }

    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.present().count()).unwrap_or(u32::MAX)
    }

    /// Number of transactions by their numbers, if rows are missing; `None` for a complete log. Off by one
    /// per client, since old versions number from 0.
    pub(super) fn missing(&self) -> Option<u64> {
        let rows: u64 = self.present().map(|(rows, _)| rows).sum();
        let numbered: u64 = self.present().map(|(_, highest)| *highest).fold(0, u64::saturating_add);
        (numbered > rows + u64::from(self.count())).then_some(numbered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_told_from_a_whole_log() {
        let mut whole = SeenClients::default();
        for number in 1..=20 {
            whole.add(0, number);
            whole.add(7, number - 1);
        }
        assert_eq!((whole.count(), whole.missing()), (2, None));
        let mut sample = SeenClients::default();
        (0..20).for_each(|at| sample.add(3, at * 10));
        assert_eq!((sample.count(), sample.missing()), (1, Some(190)));
        assert_eq!(SeenClients::default().missing(), None);
    }
}
