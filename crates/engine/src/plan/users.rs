//! Users: sessions with think times, and when users come.

use std::sync::Arc;

use spec::Profile;
use spec::users::UserArrivals;

use super::schedule::{GOLDEN, mix, to_unit};
use crate::client::Time;

/// Users as a load: each does sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct Users {
    /// The transactions of a session, in order; at least one.
    pub session: Arc<[SessionStep]>,
    pub arrival: UserArrival,
    /// Whether each session has its own connection, made with its first transaction: clients must follow
    /// [`crate::Visit::reconnects`]. Otherwise clients connect before the load and stay connected.
    pub reconnect: bool,
}

/// One transaction of a session, and the pause after it.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionStep {
    /// Below [`super::RunPlan::scripts`]; `None` leaves the choice to the client.
    pub script: Option<u16>,
    /// They add up; empty for none. After the last step they are the pause between two sessions.
    pub pauses: Vec<Pause>,
}

/// Distribution of a think time, ns.
#[derive(Debug, Clone, PartialEq)]
pub enum Pause {
    Constant(Time),
    Exponential {
        mean: f64,
    },
    LogNormal {
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// One of these, each as likely as another; at least one.
    Observed(Arc<[Time]>),
}

/// When users come.
#[derive(Debug, Clone, PartialEq)]
pub enum UserArrival {
    /// The first sessions of two successive users begin this far apart, ns.
    Apart(Time),
    /// A share of this many users, by a shape over time.
    Share { shape: UserArrivals, users: usize },
    /// New users per second, at random (Poisson): each does one session and leaves. Clients are connections, which
    /// users wait for.
    Open(Profile),
}

impl Users {
    /// Users who pause this long after each transaction, of the clients' own choice; their first ones are `apart`.
    #[must_use]
    pub fn pausing(think: Time, apart: Time) -> Self {
        let step = SessionStep { script: None, pauses: vec![Pause::Constant(think)] };
        Self { session: Arc::new([step]), arrival: UserArrival::Apart(apart), reconnect: false }
    }
}

/// A user's own random numbers: SplitMix64, so that think times depend on nothing but the seed and the user.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UserRandom(u64);

impl UserRandom {
    pub(crate) fn new(seed: u64, user: usize) -> Self {
        Self(mix(mix(seed ^ 0x7573_6572_7300_0000).wrapping_add(user as u64)))
    }

    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        to_unit(mix(self.0))
    }

    /// Draws a think time, ns.
    pub(crate) fn pause(&mut self, pauses: &[Pause]) -> Time {
        pauses.iter().fold(0, |sum: Time, pause| sum.saturating_add(self.draw(pause)))
    }

    fn draw(&mut self, pause: &Pause) -> Time {
        match pause {
            Pause::Constant(time) => *time,
            Pause::Exponential { mean } => (-self.unit().ln() * mean).round() as Time,
            Pause::LogNormal { median, sigma } => {
                // Box and Muller, "A Note on the Generation of Random Normal Deviates", 1958.
                let normal = (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos();
                (median * (sigma * normal).exp()).round() as Time
            }
            Pause::Observed(times) => {
                let index = ((1.0 - self.unit()) * times.len() as f64) as usize;
                times[index.min(times.len() - 1)]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: f64 = 1e6;

    fn drawn(pause: &Pause, user: usize) -> Vec<f64> {
        let mut random = UserRandom::new(7, user);
        (0..50_000).map(|_| random.pause(std::slice::from_ref(pause)) as f64).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    fn median(values: &[f64]) -> f64 {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }

    #[test]
    fn think_times_have_the_wanted_distribution() {
        let exponential = drawn(&Pause::Exponential { mean: 5.0 * MS }, 0);
        assert!((mean(&exponential) / (5.0 * MS) - 1.0).abs() < 0.02);
        assert!((median(&exponential) / (5.0 * MS * 2f64.ln()) - 1.0).abs() < 0.02);
        let log_normal = drawn(&Pause::LogNormal { median: 8.0 * MS, sigma: 0.5 }, 0);
        assert!((median(&log_normal) / (8.0 * MS) - 1.0).abs() < 0.02);
        assert!((mean(&log_normal) / (8.0 * MS * 0.125_f64.exp()) - 1.0).abs() < 0.02);
        let observed = drawn(&Pause::Observed([1_000_000, 2_000_000, 6_000_000].into()), 0);
        assert!((mean(&observed) / (3.0 * MS) - 1.0).abs() < 0.02);
        assert_eq!(drawn(&Pause::Constant(3), 0)[..2], [3.0, 3.0]);
    }

    #[test]
    fn a_user_draws_the_same_in_every_run_and_another_one_others() {
        let pause = Pause::Exponential { mean: 5.0 * MS };
        assert_eq!(drawn(&pause, 3), drawn(&pause, 3));
        assert_ne!(drawn(&pause, 3), drawn(&pause, 4));
    }
}
