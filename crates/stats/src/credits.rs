//! CPU credits: the token bucket of a burstable host.
//!
//! A credit is a minute of one CPU. Credits accrue at a constant rate up to a maximum, and a working CPU
//! spends them. Without credits it works at the rate at which they accrue, its *baseline*. The balance is not
//! visible from outside or from a guest: it can only be observed that the credits have ended, and how slow
//! the host is then.

/// A host with one CPU and credits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    /// Credits accrued per hour.
    pub per_hour: f64,
    /// Highest balance, credits.
    pub most: f64,
    /// Current balance, credits: minutes of a CPU.
    pub balance: f64,
}

impl Bucket {
    /// An Amazon EC2 t2.micro in standard mode: 6 credits an hour, at most a day's (144), so a baseline of 10
    /// %.
    #[must_use]
    pub fn t2_micro(balance: f64) -> Self {
        Self { per_hour: 6.0, most: 144.0, balance }
    }

    /// The share of its CPU that is available without credits.
    #[must_use]
    pub fn baseline(&self) -> f64 {
        self.per_hour / 60.0
    }

    /// Advances the time by `seconds` in which the share `wanted` of the CPU is requested; returns the share
    /// that was available.
    pub fn pass(&mut self, seconds: f64, wanted: f64) -> f64 {
        let minutes = seconds / 60.0;
        let come = self.baseline() * minutes;
        let spent = (wanted * minutes).min(self.balance + come);
        self.balance = (self.balance + come - spent).min(self.most);
        if minutes > 0.0 { spent / minutes } else { wanted }
    }
}

/// What can be inferred of a host's credits after they ended under a full load, in seconds of that load's
/// full speed. Only the load's two speeds and the time since the end are needed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Inferred {
    /// The load's speed without credits, as a share of its full speed.
    baseline: f64,
    /// Remaining seconds at full speed, without further credits.
    balance_s: f64,
}

impl Inferred {
    /// The state when credits have just ended; `baseline` is the speed without them as a share of full speed.
    /// `None` if it is outside 0..1.
    #[must_use]
    pub fn at_the_end(baseline: f64) -> Option<Self> {
        (baseline > 0.0 && baseline < 1.0).then_some(Self { baseline, balance_s: 0.0 })
    }

    /// Adds time without load.
    pub fn rested(&mut self, seconds: f64) {
        self.balance_s += self.baseline * seconds;
    }

    /// Adds time under load at full speed.
    pub fn worked(&mut self, seconds: f64) {
        self.balance_s = (self.balance_s - (1.0 - self.baseline) * seconds).max(0.0);
    }

    /// How long the load can continue at full speed, seconds.
    #[must_use]
    pub fn left_s(&self) -> f64 {
        self.balance_s / (1.0 - self.baseline)
    }

    /// Rest needed for a second of the load at full speed, seconds.
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

    /// The inference from the speeds agrees with the bucket.
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
