//! Derives the random streams of all clients and threads from one seed, and chooses scripts.

use crate::random::Random;

/// All random streams of a run.
///
/// A base generator started from the run's seed produces 64-bit seeds: one for every client in order, then
/// `default_seed` if needed, then three per thread. So adding threads changes no client's numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Streams {
    /// For each client, the stream of its random functions.
    pub clients: Vec<Random>,
    /// Value of `:default_seed`; `None` when the user set the variable.
    pub default_seed: Option<i64>,
    pub threads: Vec<ThreadRandom>,
}

/// The streams of one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadRandom {
    /// Chooses the next script; shared by the thread's clients.
    pub choose: Random,
    /// Draws the gaps between starts of transactions under a rate.
    pub throttle: Random,
    /// Samples the transactions to log.
    pub sample: Random,
}

impl Streams {
    /// Streams for `clients` clients on `threads` threads. `default_seed_given` is true when the user set
    /// `:default_seed`, which then is not drawn.
    pub fn new(seed: u64, clients: usize, threads: usize, default_seed_given: bool) -> Self {
        let mut base = Random::new(seed);
        Self {
            clients: (0..clients).map(|_| derive(&mut base)).collect(),
            default_seed: (!default_seed_given).then(|| base.next_u64() as i64),
            threads: (0..threads)
                .map(|_| ThreadRandom {
                    choose: derive(&mut base),
                    throttle: derive(&mut base),
                    sample: derive(&mut base),
                })
                .collect(),
        }
    }
}

fn derive(base: &mut Random) -> Random {
    Random::new(base.next_u64())
}

/// Chooses scripts by their weights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptChooser {
    /// Sums of the weights up to each script and including it.
    sums: Vec<u64>,
}

impl ScriptChooser {
    /// A chooser over scripts 0.. with these weights, at least one of them above 0.
    pub fn new(weights: impl IntoIterator<Item = u32>) -> Self {
        let mut sum = 0;
        let add = |weight| {
            sum += u64::from(weight);
            sum
        };
        Self { sums: weights.into_iter().map(add).collect() }
    }

    /// Index of the next script. Draws only if there is a choice.
    #[inline]
    pub fn choose(&self, random: &mut Random) -> usize {
        let [_, .., total] = self.sums[..] else { return 0 };
        let drawn = random.up_to(total.saturating_sub(1));
        let script = self.sums.partition_point(|sum| *sum <= drawn);
        if script < self.sums.len() { script } else { 0 }
    }
}
