//! Users who come openly: how many came, and how many found a connection.

/// A shortfall above this share of the users who came is an overload.
const NEVER_BEGAN: f64 = 0.01;
/// Up to this share of the users who came, and one for each connection, may wait at the end by chance.
const BY_CHANCE: f64 = 0.1;

/// Users who came openly in the measured part of a run, or of several: came = begun + waiting.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct OpenUsers {
    /// Began their session.
    pub begun: u64,
    /// Found no free connection until the end.
    pub waiting: u64,
    /// How many can be there at once.
    pub connections: u64,
    /// Length of the measured part, seconds.
    pub seconds: f64,
}

impl OpenUsers {
    /// The sum of both, over as many connections as each has.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            begun: self.begun + other.begun,
            waiting: self.waiting + other.waiting,
            connections: self.connections + other.connections,
            seconds: self.seconds + other.seconds,
        }
    }

    /// Users who came.
    #[must_use]
    pub fn came(&self) -> u64 {
        self.begun + self.waiting
    }

    /// Users who came, per minute.
    #[must_use]
    pub fn offered_per_minute(&self) -> f64 {
        self.came() as f64 / self.seconds * 60.0
    }

    /// Users who began their session, per minute.
    #[must_use]
    pub fn achieved_per_minute(&self) -> f64 {
        self.begun as f64 / self.seconds * 60.0
    }

    /// Whether more users never began than chance leaves without a connection at the end.
    #[must_use]
    pub fn is_overloaded(&self) -> bool {
        let (came, waiting) = (self.came() as f64, self.waiting as f64);
        let by_chance = (BY_CHANCE * came).min(self.connections as f64).max(1.0);
        waiting > NEVER_BEGAN * came && waiting > by_chance
    }

    /// `40 of 69 users never found a free connection: 276 per minute came, and 116 per minute began`.
    #[must_use]
    pub fn shortfall(&self) -> String {
        format!(
            "{} of {} users never found a free connection: {:.0} per minute came, and {:.0} per minute began",
            self.waiting,
            self.came(),
            self.offered_per_minute(),
            self.achieved_per_minute()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_who_never_begin_are_an_overload() {
        for (begun, waiting, connections, wanted) in [
            (29, 40, 5, true),
            (80, 0, 4, false),
            // A queue at the end.
            (80, 4, 4, false),
            (80, 5, 4, true),
            (5, 1, 8, false),
            (50, 9, 20, true),
            (2000, 15, 4, false),
            (0, 0, 4, false),
        ] {
            let users = OpenUsers { begun, waiting, connections, seconds: 12.0 };
            assert_eq!(users.is_overloaded(), wanted, "{users:?}");
        }
        let users = OpenUsers { begun: 30, waiting: 12, connections: 3, seconds: 20.0 };
        assert_eq!(
            users.shortfall(),
            "12 of 42 users never found a free connection: 126 per minute came, and 90 per minute began"
        );
    }
}
