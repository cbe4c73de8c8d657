//! CPU credits: a token bucket that a burstable host spends its bursts from.
//!
//! A credit is a minute of one CPU. Credits come at a constant rate up to a most, and a CPU that works spends them; without
//! credits it does no more than they come in, its *baseline*. From outside, and from a guest, no balance is to be seen:
//! what can be known is that they have ended, and how slow the host is then.

/// A host with one CPU and credits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    /// Credits that come in an hour.
    pub per_hour: f64,
    /// The most there can be.
    pub most: f64,
    /// Those that are there.
    pub balance: f64,
}

impl Bucket {
    /// An Amazon EC2 t2.micro in standard mode: 6 credits an hour, at most a day's (144), so a baseline of 10 %.
    #[must_use]
    pub fn t2_micro(balance: f64) -> Self {
        Self { per_hour: 6.0, most: 144.0, balance }
    }

    /// The share of its CPU that it can work without end.
    #[must_use]
    pub fn baseline(&self) -> f64 {
        self.per_hour / 60.0
    }

    /// Lets some time pass in which this share of the CPU is wanted; gives the share that could be had.
    pub fn pass(&mut self, seconds: f64, wanted: f64) -> f64 {
        let minutes = seconds / 60.0;
        let come = self.baseline() * minutes;
        let spent = (wanted * minutes).min(self.balance + come);
        self.balance = (self.balance + come - spent).min(self.most);
        if minutes > 0.0 { spent / minutes } else { wanted }
    }
}

/// What is inferred of a host's credits once they have ended under a load that wanted all it could get: seconds of that
/// load's speed, in which nothing but the load's two speeds and the time since then need be known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Inferred {
    /// The load's speed without credits, as a share of that with them.
    baseline: f64,
    /// Seconds at full speed that are there, were none to come.
    balance_s: f64,
}

impl Inferred {
    /// Credits have ended: there is nothing left, and this is the speed without them as a share of that with them; `None`
    /// where that is no share.
    #[must_use]
    pub fn at_the_end(baseline: f64) -> Option<Self> {
        (baseline > 0.0 && baseline < 1.0).then_some(Self { baseline, balance_s: 0.0 })
    }

    /// Time passed without load.
    pub fn rested(&mut self, seconds: f64) {
        self.balance_s += self.baseline * seconds;
    }

    /// Time passed under the load at full speed.
    pub fn worked(&mut self, seconds: f64) {
        self.balance_s = (self.balance_s - (1.0 - self.baseline) * seconds).max(0.0);
    }

    /// How long that load can go on at full speed, seconds.
    #[must_use]
    pub fn left_s(&self) -> f64 {
        self.balance_s / (1.0 - self.baseline)
    }

    /// How long a rest earns a second of that load at full speed, seconds.
    #[must_use]
    pub fn rest_per_second(&self) -> f64 {
        (1.0 - self.baseline) / self.baseline
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_earns_spends_and_overflows() {
        let mut idle = Bucket::t2_micro(30.0);
        idle.pass(24.0 * 3600.0, 0.0);
        assert_eq!(idle.balance, 144.0, "a day's credits are the most");
        let mut busy = Bucket::t2_micro(9.0);
        let full = (0..1200).take_while(|_| busy.pass(1.0, 1.0) > 0.99).count();
        assert_eq!(full, 600, "9 credits less 0.9 a minute");
        assert!((busy.pass(1.0, 1.0) - 0.1).abs() < 1e-9);
        let mut modest = Bucket::t2_micro(1.0);
        for _ in 0..3600 {
            assert!((modest.pass(1.0, 0.1) - 0.1).abs() < 1e-9, "the baseline is for ever");
        }
        assert!((modest.balance - 1.0).abs() < 1e-9);
    }

    /// What is inferred from the speeds alone is what the bucket does.
    #[test]
    fn the_end_after_a_rest_is_inferred() {
        for rest_s in [60.0, 600.0, 3600.0] {
            let mut bucket = Bucket::t2_micro(0.0);
            let with_none = bucket.pass(60.0, 1.0);
            let mut inferred = Inferred::at_the_end(with_none).unwrap();
            bucket.pass(rest_s, 0.0);
            inferred.rested(rest_s);
            let before = inferred.left_s();
            bucket.pass(before / 2.0, 1.0);
            inferred.worked(before / 2.0);
            assert!((inferred.left_s() - before / 2.0).abs() < 1e-6);
            let full = (0..10_000).take_while(|_| bucket.pass(0.1, 1.0) > 0.99).count();
            assert!((full as f64 / 10.0 - before / 2.0).abs() <= 0.2, "{full} tenths for {before}");
            assert!((before * inferred.rest_per_second() - rest_s).abs() < 1e-6);
        }
        assert_eq!(Inferred::at_the_end(1.0), None);
        assert_eq!(Inferred::at_the_end(0.0), None);
    }
}
