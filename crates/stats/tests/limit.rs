//! Thousands of searches whose limit is known.

use stats::{LimitGoal, LimitRange, LimitSearch, LimitStep, Trial};

/// Uniform numbers from a seed (SplitMix64).
struct Chance(u64);

impl Chance {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }
}

/// A server, and what happens to it.
struct Server {
    limit: f64,
    /// Standard deviation of the limit from trial to trial, a share.
    blur: f64,
    /// Share of trials that are bad whatever the rate.
    unlucky: f64,
    /// Trials during which it does 0.6 of that.
    slow: std::ops::Range<usize>,
}

impl Server {
    fn keeps(&self, rate: f64, number: usize, chance: &mut Chance) -> bool {
        let speed = if self.slow.contains(&number) { 0.6 } else { 1.0 };
        let limit = self.limit * speed * (self.blur * chance.normal()).exp();
        rate <= limit && chance.uniform() >= self.unlucky
    }
}

struct Found {
    /// Middle of the two rates over the limit.
    ratio: f64,
    trials: usize,
    contradicted: bool,
    /// Trials until both rates are classified by somebody who knows them.
    told: usize,
}

fn search(server: &Server, peak: f64, chance: &mut Chance) -> Found {
    let goal = LimitGoal::default();
    let search = LimitSearch::new(goal, LimitRange { lowest: peak / 20.0, highest: peak * 1.2 }, Some(peak));
    let mut trials: Vec<Trial> = Vec::new();
    let ended = loop {
        match search.next(&trials) {
            LimitStep::Try(rate) => {
                trials.push(Trial { rate, good: server.keeps(rate, trials.len(), chance), used: None });
            }
            LimitStep::Ended(ended) => break ended,
        }
        assert!(trials.len() < 200, "it does not end");
    };
    let middle = match (ended.lower, ended.upper) {
        (Some(lower), Some(upper)) => (lower * upper).sqrt(),
        (lower, upper) => lower.or(upper).unwrap(),
    };
    let mut told = 0;
    for rate in [server.limit * 0.985, server.limit * 1.015] {
        let (mut good, mut bad) = (0, 0);
        while goal.class(good, bad) == stats::LimitClass::Undecided {
            *if server.keeps(rate, usize::MAX, chance) { &mut good } else { &mut bad } += 1;
            told += 1;
        }
    }
    Found {
        ratio: middle / server.limit,
        trials: trials.len(),
        contradicted: ended.contradicted || ended.inverted,
        told,
    }
}

/// Searches on servers whose limit and peak vary.
fn searches(blur: f64, unlucky: f64, slow: usize) -> Vec<Found> {
    let mut chance = Chance(7);
    (0..600)
        .map(|_| {
            let peak = 300.0 * 100f64.powf(chance.uniform());
            let limit = peak * (0.3 + 0.7 * chance.uniform());
            let begins = (12.0 * chance.uniform()) as usize;
            search(&Server { limit, blur, unlucky, slow: begins..begins + slow }, peak, &mut chance)
        })
        .collect()
}

/// Share within 5 %, trials on average, and how many times as many as told ones.
fn many(blur: f64, unlucky: f64, slow: usize) -> (f64, f64, f64) {
    let found = searches(blur, unlucky, slow);
    let count = found.len() as f64;
    let within = found.iter().filter(|found| (found.ratio - 1.0).abs() < 0.05).count() as f64 / count;
    let trials = found.iter().map(|found| found.trials).sum::<usize>() as f64;
    let told = found.iter().map(|found| found.told).sum::<usize>() as f64;
    (within, trials / count, trials / told)
}

/// The announced number of trials is right if nothing interferes.
#[test]
fn what_is_left_is_told() {
    let range = LimitRange { lowest: 10.0, highest: 1_000.0 };
    let search = LimitSearch::new(LimitGoal::default(), range, None);
    let mut trials: Vec<Trial> = Vec::new();
    let first = search.left(&trials);
    while let LimitStep::Try(rate) = search.next(&trials) {
        trials.push(Trial { rate, good: rate < 333.0, used: None });
    }
    assert_eq!(search.left(&trials), 0);
    assert!(first.abs_diff(trials.len()) <= 4, "{first} told, {} made", trials.len());
    assert_eq!(search.left(&trials[..trials.len() - 1]), 1);
}

/// A promise that never or always holds is known at the bound, and not by a single trial.
#[test]
fn a_promise_that_never_or_always_holds_is_said_to() {
    let range = LimitRange { lowest: 10.0, highest: 1_000.0 };
    let search = LimitSearch::new(LimitGoal::default(), range, Some(900.0));
    for (limit, lower, upper) in [(1.0, None, Some(10.0)), (5_000.0, Some(1_000.0), None)] {
        let mut trials: Vec<Trial> = Vec::new();
        let ended = loop {
            match search.next(&trials) {
                LimitStep::Try(rate) => trials.push(Trial { rate, good: rate < limit, used: None }),
                LimitStep::Ended(ended) => break ended,
            }
        };
        assert_eq!((ended.lower, ended.upper, ended.inverted), (lower, upper, false));
        assert!((3..=20).contains(&trials.len()), "{} trials", trials.len());
    }
}

/// A higher rate that keeps the promise (idle states, a plan that changes) does not move the smallest upper bound.
#[test]
fn a_loss_inversion_is_told_and_not_believed() {
    let range = LimitRange { lowest: 250.0, highest: 1_000.0 };
    let search = LimitSearch::new(LimitGoal::default(), range, None);
    let mut trials: Vec<Trial> = Vec::new();
    let ended = |trials: &mut Vec<Trial>| loop {
        match search.next(trials) {
            LimitStep::Try(rate) => {
                trials.push(Trial { rate, good: !(400.0..600.0).contains(&rate), used: None })
            }
            LimitStep::Ended(ended) => return ended,
        }
    };
    let LimitStep::Try(middle) = search.next(&trials) else { panic!("it ended") };
    assert!((400.0..600.0).contains(&middle), "{middle}");
    trials.extend([Trial { rate: middle, good: false, used: None }; 3]);
    let first = ended(&mut trials);
    let (lower, upper) = first.lower.zip(first.upper).expect("it is between two rates");
    assert!(lower < 400.0 && (400.0..=middle).contains(&upper) && !first.inverted, "{first:?}");
    trials.extend([Trial { rate: 1_000.0, good: true, used: None }; 11]);
    let again = ended(&mut trials);
    assert!(again.upper == first.upper && again.inverted, "{again:?}");
}

#[test]
fn a_known_limit_is_found() {
    for (what, blur, unlucky, slow, least) in [
        ("nothing in the way", 0.0, 0.0, 0, 1.0),
        ("blurred by 1 %", 0.01, 0.0, 0, 0.99),
        ("blurred by 2 %", 0.02, 0.0, 0, 0.95),
        ("a tenth of the trials bad", 0.01, 0.1, 0, 0.95),
        ("slowed down for 3 trials", 0.01, 0.0, 3, 0.95),
        ("slowed down for 5 trials", 0.01, 0.0, 5, 0.9),
        ("both", 0.01, 0.1, 3, 0.9),
        // As trials of 1,500 arrivals are, one in twenty of which takes ten times as long; the slow time falls into four of them.
        ("blurred by 3.5 %", 0.035, 0.0, 0, 0.95),
        ("blurred by 3.5 % and slowed down", 0.035, 0.0, 4, 0.9),
    ] {
        let (within, trials, times) = many(blur, unlucky, slow);
        // A search that knows the limit is not slowed down here, so the numbers of trials are not comparable
        // there.
        assert!(within >= least && (slow > 0 || times <= 2.0), "{what}: {within} {trials} {times}");
    }
}

/// A server that did 0.6 of its speed for some trials was reported with one limit, as if nothing had been. And a search took longer
/// than it was said to.
#[test]
fn trials_that_contradict_each_other_are_told_and_lengths_are_as_announced() {
    let [least, most] = LimitSearch::USUAL_TRIALS;
    for (what, blur, unlucky, slow, contradicted) in [
        ("nothing in the way", 0.0, 0.0, 0, 0.0..=0.0),
        ("blurred by 2 %", 0.02, 0.0, 0, 0.0..=0.02),
        ("blurred by 3.5 %", 0.035, 0.0, 0, 0.0..=0.05),
        ("a tenth of the trials bad", 0.01, 0.1, 0, 0.0..=0.05),
        // Where the slow time falls into rates above or far below the limit, nothing is seen of it.
        ("slowed down for 5 trials", 0.01, 0.0, 5, 0.1..=1.0),
    ] {
        let found = searches(blur, unlucky, slow);
        let share = |is_so: fn(&Found) -> bool| {
            found.iter().filter(|found| is_so(found)).count() as f64 / found.len() as f64
        };
        let told = share(|found| found.contradicted);
        assert!(contradicted.contains(&told), "{what}: {told}");
        let within = found.iter().filter(|found| (least..=most).contains(&found.trials)).count();
        assert!(within as f64 >= 0.95 * found.len() as f64, "{what}: {within} of {}", found.len());
    }
}

/// How long a connection takes for a transaction, ms, 1 on average.
#[derive(Debug, Clone, Copy)]
enum Service {
    Fixed,
    Exponential,
    /// One in twenty takes ten times as long as the others.
    TwoValued,
}

impl Service {
    fn ms(self, chance: &mut Chance) -> f64 {
        match self {
            Self::Fixed => 1.0,
            Self::Exponential => -(1.0 - chance.uniform()).ln(),
            Self::TwoValued => {
                if chance.uniform() < 0.05 {
                    10.0 / 1.45
                } else {
                    1.0 / 1.45
                }
            }
        }
    }
}

/// Connections behind which transactions queue up, first come, first served.
#[derive(Debug, Clone, Copy)]
struct Queue {
    service: Service,
    connections: usize,
    /// What is promised: 99 % within so many ms.
    within_ms: f64,
}

impl Queue {
    /// Share of arrivals at this rate (per second) that take longer, of so many after some to warm up.
    fn late(&self, rate: f64, arrivals: usize, chance: &mut Chance) -> f64 {
        let mut free = vec![0.0_f64; self.connections];
        let (mut now, mut late) = (0.0, 0);
        let warmup = arrivals / 10;
        for number in 0..arrivals + warmup {
            now += -(1.0 - chance.uniform()).ln() * 1000.0 / rate;
            let next = (0..free.len()).min_by(|a, b| free[*a].total_cmp(&free[*b])).unwrap();
            free[next] = free[next].max(now) + self.service.ms(chance);
            late += usize::from(number >= warmup && free[next] - now > self.within_ms);
        }
        late as f64 / arrivals as f64
    }

    /// The rate at which 1 % are late.
    fn limit(&self) -> f64 {
        let (mut low, mut high) = (1.0_f64, 1000.0 * self.connections as f64);
        while high / low > 1.002 {
            let middle = (low * high).sqrt();
            let late = self.late(middle, 400_000, &mut Chance(1));
            *if late > 0.01 { &mut high } else { &mut low } = middle;
        }
        (low * high).sqrt()
    }
}

/// Four connections, each 1,000/s: trials of 20,000 arrivals, whose share of late ones has the spread that queues give it.
#[test]
fn the_limit_of_a_queue_is_found() {
    for (service, within_ms) in
        [(Service::Fixed, 3.0), (Service::Exponential, 8.0), (Service::TwoValued, 12.0)]
    {
        let queue = Queue { service, connections: 4, within_ms };
        let (limit, mut chance) = (queue.limit(), Chance(3));
        let range = LimitRange { lowest: 200.0, highest: 5_000.0 };
        let ratios: Vec<f64> = (0..40)
            .map(|_| {
                let search = LimitSearch::new(LimitGoal::default(), range, Some(4_000.0));
                let mut trials: Vec<Trial> = Vec::new();
                loop {
                    match search.next(&trials) {
                        LimitStep::Try(rate) => {
                            let good = queue.late(rate, 20_000, &mut chance) <= 0.01;
                            trials.push(Trial { rate, good, used: None });
                        }
                        LimitStep::Ended(ended) => {
                            return (ended.lower.unwrap() * ended.upper.unwrap()).sqrt() / limit;
                        }
                    }
                }
            })
            .collect();
        let within = ratios.iter().filter(|ratio| (*ratio - 1.0).abs() < 0.05).count();
        assert!(within >= 38, "{service:?}: {limit} {ratios:?}");
    }
}

/// Regression: after 190 of 400 users the next trial had 400, and after 21 of 30 it had 1.
#[test]
fn a_trial_far_beyond_all_others_is_at_most_twice_or_half_and_nearer_if_the_promise_was_nearly_broken() {
    let range = LimitRange { lowest: 1.0, highest: 600.0 };
    let goal = LimitGoal::default();
    for search in [
        LimitSearch::of_whole_numbers(goal, range, 1e6, Some(150.0)),
        LimitSearch::new(goal, range, Some(200.0)),
    ] {
        for (limit, used, most) in
            [(3.5, 9.0, 2.02), (590.0, 0.1, 2.02), (7.5, 1.3, 1.27), (560.0, 0.9, 1.27)]
        {
            let mut trials: Vec<Trial> = Vec::new();
            while let LimitStep::Try(rate) = search.next(&trials) {
                let tried = || trials.iter().map(|trial| trial.rate);
                let (low, high) = (tried().fold(f64::INFINITY, f64::min), tried().fold(0.0, f64::max));
                // Whole numbers below 5 are further apart.
                let close = rate < 5.0 || rate * most >= low && rate <= high * most;
                assert!(trials.is_empty() || close, "{rate} after {low} to {high}, limit {limit}");
                trials.push(Trial { rate, good: rate < limit, used: Some(used) });
                assert!(trials.len() < 60, "it does not end");
            }
        }
    }
}

/// The fewest may have too few arrivals to judge.
#[test]
fn nothing_below_a_floor_is_tried() {
    let range = LimitRange { lowest: 1.0, highest: 80.0 };
    let search = || LimitSearch::of_whole_numbers(LimitGoal::default(), range, 1e6, Some(20.0));
    for (floor, lowest) in [(0.2, 1.0), (6.5, 7.0), (500.0, 80.0)] {
        let search = search().not_below(floor);
        let mut trials: Vec<Trial> = Vec::new();
        let ended = loop {
            match search.next(&trials) {
                LimitStep::Try(rate) => trials.push(Trial { rate, good: false, used: None }),
                LimitStep::Ended(ended) => break ended,
            }
        };
        assert_eq!((ended.lower, ended.upper), (None, Some(lowest)));
    }
}
