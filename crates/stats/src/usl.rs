//! How throughput grows with clients: Gunther's universal scalability law (*Guerrilla Capacity Planning*,
//! 2007, ch. 4-6),
//!
//! X(N) = λN / (1 + σ(N − 1) + κN(N − 1)),
//!
//! fitted by weighted least squares in logs: the error of a throughput is a share of it. λ is the throughput
//! of one client, σ the contention (waiting), κ the coherence cost of each pair of clients; σ and κ are never
//! below 0. Where κ > 0 throughput has a peak, at N* = √((1 − σ)/κ). The law describes the measurements, and
//! does not cover latencies.

use statrs::distribution::{Binomial, ContinuousCDF, Discrete, FisherSnedecor};

use crate::paired::t_quantile;

/// Fewest rungs with which three parameters leave enough to judge the fit (Gunther asks for half a dozen).
const ENOUGH_RUNGS: usize = 6;
/// Probability of a false alarm that residuals are not random.
const ALARM: f64 = 0.01;
/// Number of simulated ladders, for the scatter of the parameters.
const REPEATS: usize = 999;
const CONFIDENCE: f64 = 0.95;

/// The runs with one number of clients.
#[derive(Debug, Clone, PartialEq)]
pub struct Rung {
    /// At least 1.
    pub clients: u32,
    /// Throughput of each run, per second, above 0.
    pub rates: Vec<f64>,
}

/// A parameter or a derived value, with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fitted {
    pub value: f64,
    /// `None` where nothing is left to estimate the scatter.
    pub interval: Option<(f64, f64)>,
}

/// Where throughput is highest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    /// N*, at least 1.
    pub clients: f64,
    /// 95 % interval; without an upper end where some fits have no peak.
    pub clients_interval: Option<(f64, Option<f64>)>,
    /// Throughput at the peak, per second.
    pub rate: Fitted,
}

/// Why a fit may be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FitDoubt {
    FewRungs,
    PeakBeyond,
    /// The interval of the peak reaches above the measured numbers of clients.
    PeakUncertain,
    /// Residuals that are not random: the curve has another shape.
    NotRandom,
    /// Throughput grew faster than clients somewhere, which the law excludes.
    Superlinear,
}

/// The fitted law.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// λ: throughput of one client, per second.
    pub lambda: Fitted,
    /// σ: contention, 0..=1.
    pub sigma: Fitted,
    /// κ: coherence, at least 0.
    pub kappa: Fitted,
    /// `None` where κ is 0: throughput levels off or continues to grow.
    pub peak: Option<Peak>,
    pub most_clients: u32,
    pub rungs: usize,
    pub runs: usize,
    pub doubts: Vec<FitDoubt>,
}

impl Scaling {
    /// The law's throughput for this many clients, per second.
    #[must_use]
    pub fn rate(&self, clients: f64) -> f64 {
        self.law().rate(clients)
    }

    fn law(&self) -> Law {
        Law { lambda: self.lambda.value, sigma: self.sigma.value, kappa: self.kappa.value }
    }

    /// Fits the law to measurements; `None` with fewer than three numbers of clients.
    #[must_use]
    pub fn fit(rungs: &[Rung]) -> Option<Self> {
        Self::fit_by(rungs, REPEATS)
    }

    fn fit_by(rungs: &[Rung], repeats: usize) -> Option<Self> {
        let points = Points::of(rungs)?;
        let law = points.fit(None);
        let scatter = points.scatter(&law);
        let repeated = scatter.map(|scatter| points.repeated(&law, scatter, repeats)).unwrap_or_default();
        let fitted = |of: fn(&Law) -> f64| Fitted { value: of(&law), interval: interval(&repeated, of) };
        let peak = law.peak().map(|clients| Peak {
            clients,
            clients_interval: interval(&repeated, |law| law.peak().unwrap_or(f64::INFINITY))
                .map(|(low, high)| (low, Some(high).filter(|high| high.is_finite()))),
            rate: fitted(|law| law.highest()),
        });
        let mut found = Self {
            lambda: fitted(|law| law.lambda),
            sigma: fitted(|law| law.sigma),
            kappa: fitted(|law| law.kappa),
            peak,
            most_clients: points.0.iter().map(|point| point.clients as u32).max()?,
            rungs: points.0.len(),
            runs: points.runs() as usize,
            doubts: Vec::new(),
        };
        found.doubts = found.judged(&points, &law);
        Some(found)
    }

    fn judged(&self, points: &Points, law: &Law) -> Vec<FitDoubt> {
        let most = f64::from(self.most_clients);
        let beyond = self.peak.is_some_and(|peak| peak.clients > most);
        let far = |(_, high): (f64, Option<f64>)| high.is_none_or(|high| high > most);
        let uncertain = self.peak.and_then(|peak| peak.clients_interval).is_some_and(far);
        let doubts = [
            (FitDoubt::FewRungs, self.rungs < ENOUGH_RUNGS),
            (FitDoubt::PeakBeyond, beyond),
            (FitDoubt::PeakUncertain, uncertain && !beyond),
            (FitDoubt::NotRandom, points.is_off(law)),
            (FitDoubt::Superlinear, points.grew_faster_than_clients()),
        ];
        doubts.into_iter().filter(|(_, holds)| *holds).map(|(doubt, _)| doubt).collect()
    }
}

/// The middle 95 % of a value over repeated fits; `None` without fits.
fn interval(repeated: &[Law], of: impl Fn(&Law) -> f64) -> Option<(f64, f64)> {
    let mut values: Vec<f64> = repeated.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    let at = |q: f64| values.get((q * (values.len() as f64 - 1.0)).round() as usize).copied();
    let tail = (1.0 - CONFIDENCE) / 2.0;
    at(tail).zip(at(1.0 - tail))
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Law {
    lambda: f64,
    sigma: f64,
    kappa: f64,
}

/// 1 + σ(N − 1) + κN(N − 1).
fn below(clients: f64, [sigma, kappa]: [f64; 2]) -> f64 {
    1.0 + (clients - 1.0) * (sigma + kappa * clients)
}

impl Law {
    fn rate(&self, clients: f64) -> f64 {
        self.lambda * clients / below(clients, [self.sigma, self.kappa])
    }

    /// N*; at least one client.
    fn peak(&self) -> Option<f64> {
        (self.kappa > 0.0).then(|| ((1.0 - self.sigma).max(0.0) / self.kappa).sqrt().max(1.0))
    }

    /// The highest throughput: at the peak, or for infinitely many clients.
    fn highest(&self) -> f64 {
        self.peak().map_or(self.lambda / self.sigma, |peak| self.rate(peak))
    }
}

/// The runs of a rung in logs.
#[derive(Debug, Clone, Copy)]
struct Point {
    clients: f64,
    log_rate: f64,
    runs: f64,
    /// Sum of squared deviations from that mean.
    spread: f64,
}

impl Point {
    fn of(clients: u32, rates: &[f64]) -> Option<Self> {
        let logs: Vec<f64> = rates.iter().filter(|rate| **rate > 0.0).map(|rate| rate.ln()).collect();
        let runs = logs.len() as f64;
        let log_rate = logs.iter().sum::<f64>() / runs;
        let spread = logs.iter().map(|log| (log - log_rate).powi(2)).sum();
        (clients > 0 && log_rate.is_finite()).then_some(Self {
            clients: clients.into(),
            log_rate,
            runs,
            spread,
        })
    }
}

/// Ascending, each number of clients once; at least three.
struct Points(Vec<Point>);

impl Points {
    fn of(rungs: &[Rung]) -> Option<Self> {
        let mut by_clients = std::collections::BTreeMap::<u32, Vec<f64>>::new();
        for rung in rungs {
            by_clients.entry(rung.clients).or_default().extend(&rung.rates);
        }
        let points: Vec<Point> =
            by_clients.iter().filter_map(|(clients, rates)| Point::of(*clients, rates)).collect();
        (points.len() >= 3).then_some(Self(points))
    }

    fn runs(&self) -> f64 {
        self.0.iter().map(|point| point.runs).sum()
    }

    /// Weighted mean over rungs.
    fn mean(&self, of: impl Fn(&Point) -> f64) -> f64 {
        self.0.iter().map(|point| point.runs * of(point)).sum::<f64>() / self.runs()
    }

    /// The best ln λ for these σ and κ.
    fn log_lambda(&self, bent: [f64; 2]) -> f64 {
        self.mean(|point| point.log_rate - point.clients.ln() + below(point.clients, bent).ln())
    }

    /// How far a rung lies above the law, in logs.
    fn residual(point: &Point, law: &Law) -> f64 {
        point.log_rate - law.rate(point.clients).ln()
    }

    fn squares(&self, law: &Law) -> f64 {
        self.0.iter().map(|point| point.runs * Self::residual(point, law).powi(2)).sum()
    }

    fn law(&self, bent: [f64; 2]) -> Law {
        Law { lambda: self.log_lambda(bent).exp(), sigma: bent[0], kappa: bent[1] }
    }

    /// The best law from several starting points, including `near`.
    fn fit(&self, near: Option<&Law>) -> Law {
        let most = self.0.last().map_or(1.0, |point| point.clients).max(2.0);
        let (own, coarse) = ([near.map(|law| [law.sigma, law.kappa])], [0.003, 0.1, 0.9]);
        // Curves that bend at these clients.
        let bends = [most / 3.0, 3.0 * most].map(|clients| clients.powi(-2));
        let grid = coarse.into_iter().flat_map(|sigma| bends.map(|kappa| Some([sigma, kappa])));
        let starts = own.into_iter().chain(grid.take(if near.is_some() { 1 } else { usize::MAX })).flatten();
        let found = starts.map(|start| self.law(self.descend(start)));
        found
            .min_by(|one, other| self.squares(one).total_cmp(&self.squares(other)))
            .expect("there are starts")
    }

    /// Levenberg-Marquardt steps within the bounds; λ follows from the other two.
    fn descend(&self, start: [f64; 2]) -> [f64; 2] {
        let (mut at, mut damping) = (start, 1e-3);
        let mut squares = self.squares(&self.law(at));
        for _ in 0..200 {
            let step = self.step(at, damping);
            let next = [(at[0] + step[0]).clamp(0.0, 1.0), (at[1] + step[1]).max(0.0)];
            let there = self.squares(&self.law(next));
            if there < squares {
                let gained = squares - there;
                (at, squares, damping) = (next, there, damping / 5.0);
                if gained <= 1e-10 * squares {
                    break;
                }
            } else {
                damping *= 5.0;
                if damping > 1e12 {
                    break;
                }
            }
        }
        at
    }

    /// The step that reduces the squares; a parameter that would leave its bounds stays.
    fn step(&self, at: [f64; 2], damping: f64) -> [f64; 2] {
        let law = self.law(at);
        let slopes = |point: &Point| {
            let under = below(point.clients, at);
            [(point.clients - 1.0) / under, point.clients * (point.clients - 1.0) / under]
        };
        let means = [0, 1].map(|which| self.mean(|point| slopes(point)[which]));
        let (mut normal, mut down) = ([[0.0; 2]; 2], [0.0; 2]);
        for point in &self.0 {
            let slopes = slopes(point);
            let slopes = [slopes[0] - means[0], slopes[1] - means[1]];
            for row in 0..2 {
                down[row] -= point.runs * slopes[row] * Self::residual(point, &law);
                (0..2).for_each(|column| normal[row][column] += point.runs * slopes[row] * slopes[column]);
            }
        }
        let highest = [1.0, f64::INFINITY];
        let held = [0, 1].map(|which| {
            at[which] <= 0.0 && down[which] < 0.0 || at[which] >= highest[which] && down[which] > 0.0
        });
        let scaled = [0, 1].map(|which| normal[which][which] * (1.0 + damping));
        match held {
            [true, true] => [0.0; 2],
            [true, false] => [0.0, down[1] / scaled[1]],
            [false, true] => [down[0] / scaled[0], 0.0],
            [false, false] => {
                let across = normal[0][1];
                let determinant = scaled[0] * scaled[1] - across * across;
                [
                    (down[0] * scaled[1] - down[1] * across) / determinant,
                    (down[1] * scaled[0] - down[0] * across) / determinant,
                ]
            }
        }
    }

    /// Squares about the means of the rungs and their degrees of freedom; the same for residuals about the
    /// law.
    fn parts(&self, law: &Law) -> [(f64, f64); 2] {
        let rungs = self.0.len() as f64;
        let within = self.0.iter().map(|point| point.spread).sum();
        [(within, self.runs() - rungs), (self.squares(law), rungs - 3.0)]
    }

    /// Standard deviation of a run in logs, widened for its uncertainty; `None` where nothing is left.
    fn scatter(&self, law: &Law) -> Option<f64> {
        let [within, about] = self.parts(law);
        // If rungs lie further off the law than runs scatter, the law is wrong by that much.
        let (squares, df) = match self.lacks_fit(law) {
            true => about,
            false => (within.0 + about.0, within.1 + about.1),
        };
        let normal = t_quantile(0.5 + CONFIDENCE / 2.0, 1e6);
        (df > 0.0).then(|| (squares / df).sqrt() * t_quantile(0.5 + CONFIDENCE / 2.0, df) / normal)
    }

    /// Whether rungs lie further off the law than their runs scatter (F test for lack of fit).
    fn lacks_fit(&self, law: &Law) -> bool {
        let [(within, df_within), (about, df_about)] = self.parts(law);
        if df_within <= 0.0 || df_about <= 0.0 || within <= 0.0 {
            return false;
        }
        let ratio = (about / df_about) / (within / df_within);
        FisherSnedecor::new(df_about, df_within).is_ok_and(|of| of.sf(ratio) < ALARM)
    }

    fn is_off(&self, law: &Law) -> bool {
        self.lacks_fit(law) || self.has_few_turns(law)
    }

    /// Whether rungs lie on one side of the law for longer than chance explains: changes of side among
    /// neighbours are at least as frequent as heads of a coin.
    fn has_few_turns(&self, law: &Law) -> bool {
        let sides: Vec<bool> = self.0.iter().map(|point| Self::residual(point, law) > 0.0).collect();
        let turns = sides.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64;
        let Ok(tosses) = Binomial::new(0.5, sides.len() as u64 - 1) else { return false };
        // A fit with only rounding errors is fine.
        let off = self.squares(law) > self.runs() * 1e-6;
        off && (0..=turns).map(|turns| tosses.pmf(turns)).sum::<f64>() < ALARM
    }

    /// Whether the throughput per client rose from one rung to the next by more than 2 % and more than runs
    /// scatter.
    fn grew_faster_than_clients(&self) -> bool {
        let each = |point: &Point| point.log_rate - point.clients.ln();
        let error = |point: &Point| match point.runs > 1.0 {
            true => point.spread / (point.runs - 1.0) / point.runs,
            false => 0.0,
        };
        self.0.windows(2).any(|pair| {
            let grown = each(&pair[1]) - each(&pair[0]);
            grown > 0.02 && grown > 3.0 * (error(&pair[0]) + error(&pair[1])).sqrt()
        })
    }

    /// Laws fitted to ladders simulated from this one. The same ladder gives the same laws.
    fn repeated(&self, law: &Law, scatter: f64, repeats: usize) -> Vec<Law> {
        let mut chance = Chance(0x1db3_d743_05a5_5e1f);
        let made = |chance: &mut Chance| {
            let point = |point: &Point| Point {
                log_rate: law.rate(point.clients).ln() + scatter / point.runs.sqrt() * chance.normal(),
                ..*point
            };
            Self(self.0.iter().map(point).collect()).fit(Some(law))
        };
        (0..repeats).map(|_| made(&mut chance)).collect()
    }
}

/// SplitMix64 (Steele, Lea & Flood 2014), good enough for the scatter of fits.
struct Chance(u64);

impl Chance {
    /// Above 0, at most 1.
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((bits ^ (bits >> 31)) >> 11) as f64 + 1.0) / (1u64 << 53) as f64
    }

    /// Box-Muller.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENTS: [u32; 8] = [1, 2, 4, 8, 16, 24, 32, 48];

    fn ladder(law: Law, clients: &[u32], rounds: usize, scatter: f64, seed: u64) -> Vec<Rung> {
        let mut chance = Chance(seed);
        let rung = |&clients: &u32| Rung {
            clients,
            rates: (0..rounds)
                .map(|_| law.rate(clients.into()) * (scatter * chance.normal()).exp())
                .collect(),
        };
        clients.iter().map(rung).collect()
    }

    fn of_rates(rates: &[(u32, f64)]) -> Vec<Rung> {
        rates.iter().map(|&(clients, rate)| Rung { clients, rates: vec![rate] }).collect()
    }

    fn close(found: f64, wanted: f64, share: f64) {
        assert!((found - wanted).abs() <= share * wanted.abs().max(1e-9), "{found} is not {wanted}");
    }

    #[test]
    fn an_exact_ladder_gives_its_own_law() {
        for (lambda, sigma, kappa) in [
            (1000.0, 0.05, 0.001),
            (995.6, 0.026_7, 0.000_769),
            (0.7, 0.3, 0.02),
            (50_000.0, 0.0, 1e-5),
            (20.0, 0.6, 0.0),
            (20.0, 0.0, 0.0),
        ] {
            let law = Law { lambda, sigma, kappa };
            let found = Scaling::fit(&ladder(law, &CLIENTS, 1, 0.0, 1)).unwrap();
            close(found.lambda.value, lambda, 1e-4);
            assert!((found.sigma.value - sigma).abs() < 1e-4, "{found:?}");
            assert!((found.kappa.value - kappa).abs() < 1e-6, "{found:?}");
            for clients in CLIENTS {
                close(found.rate(clients.into()), law.rate(clients.into()), 1e-4);
            }
        }
    }

    /// Measured by others, with the results of R's package usl and of Schwartz's *Practical Scalability
    /// Analysis with the Universal Scalability Law*: they minimise squares of rates, not of logs, which
    /// weighs the highest rates more.
    #[test]
    fn ladders_from_the_literature() {
        // Gunther's ray tracer: 0.050 and 0.
        let ray_tracer = [
            (1, 20.0),
            (4, 78.0),
            (8, 130.0),
            (12, 170.0),
            (16, 190.0),
            (20, 200.0),
            (24, 210.0),
            (28, 230.0),
            (32, 260.0),
            (48, 280.0),
            (64, 310.0),
        ];
        let found = Scaling::fit(&of_rates(&ray_tracer)).unwrap();
        assert!((0.04..0.06).contains(&found.sigma.value) && found.kappa.value < 1e-4, "{found:?}");
        // Schwartz's: 995.65, 0.0267, 0.000769 and a peak at 35; in logs a search over all of the plane finds 960.15, 0.02045 and
        // 0.000891.
        let rates = [
            955.16, 1878.91, 2688.01, 3548.68, 4315.54, 5130.43, 5931.37, 6531.08, 7219.8, 7867.61, 8278.71,
            8646.7, 9047.84, 9426.55, 9645.37, 9897.24, 10097.6, 10240.5, 10532.39, 10798.52, 11151.43,
            11518.63, 11806.0, 12089.37, 12075.41, 12177.29, 12211.41, 12158.93, 12155.27, 12118.04, 12140.4,
            12074.39,
        ];
        let found = Scaling::fit(&of_rates(&(1..).zip(rates).collect::<Vec<_>>())).unwrap();
        close(found.lambda.value, 960.151, 1e-4);
        close(found.sigma.value, 0.020_454, 1e-3);
        close(found.kappa.value, 0.000_890_96, 1e-3);
        close(found.peak.unwrap().clients, 35.0, 0.1);
    }

    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        let law = Law { lambda: 1000.0, sigma: 0.08, kappa: 0.001 };
        let cases = [(&CLIENTS[..], 4, 0.03), (&CLIENTS[..], 1, 0.02), (&CLIENTS[2..7], 3, 0.03)];
        for (clients, rounds, scatter) in cases {
            let (mut sigma, mut kappa, mut peak, all) = (0, 0, 0, 50);
            for seed in 0..all {
                let found =
                    Scaling::fit_by(&ladder(law, clients, rounds, scatter, 7000 + seed), 149).unwrap();
                let holds = |fitted: Fitted, truth: f64| {
                    fitted.interval.is_some_and(|(low, high)| (low..=high).contains(&truth))
                };
                sigma += u32::from(holds(found.sigma, law.sigma));
                kappa += u32::from(holds(found.kappa, law.kappa));
                let around = found.peak.and_then(|peak| peak.clients_interval);
                let truth = law.peak().unwrap();
                peak += u32::from(
                    around.is_none_or(|(low, high)| low <= truth && high.is_none_or(|high| truth <= high)),
                );
            }
            for (what, times) in [("sigma", sigma), ("kappa", kappa), ("peak", peak)] {
                assert!(times >= 43, "{what} in {times} of {all}, {} rungs", clients.len());
            }
        }
    }

    #[test]
    fn a_peak_is_where_the_curve_is_highest() {
        let law = Law { lambda: 1000.0, sigma: 0.05, kappa: 0.002 };
        let found = Scaling::fit(&ladder(law, &CLIENTS, 5, 0.01, 3)).unwrap();
        let peak = found.peak.unwrap();
        close(peak.clients, (0.95f64 / 0.002).sqrt(), 0.05);
        close(peak.rate.value, law.highest(), 0.02);
        let (low, high) = peak.clients_interval.unwrap();
        assert!(
            low < peak.clients && high.is_some_and(|high| peak.clients < high && high < 48.0),
            "{peak:?}"
        );
        assert!(found.doubts.is_empty(), "{:?}", found.doubts);
        assert!(found.rate(peak.clients) > found.rate(peak.clients * 0.9));
        assert!(found.rate(peak.clients) > found.rate(peak.clients * 1.1));
    }

    #[test]
    fn what_cannot_be_believed_is_named() {
        let law = |sigma, kappa| Law { lambda: 100.0, sigma, kappa };
        let doubts = |rungs: &[Rung]| Scaling::fit(rungs).unwrap().doubts;
        // Measured up to 8 clients, its peak is at 31.
        let short = doubts(&ladder(law(0.05, 0.001), &[1, 2, 3, 4, 6, 8], 4, 0.002, 5));
        assert_eq!(short, [FitDoubt::PeakBeyond]);
        let few = doubts(&ladder(law(0.05, 0.01), &[1, 4, 8, 32], 4, 0.002, 5));
        assert_eq!(few, [FitDoubt::FewRungs]);
        // Throughput that stops at a bound does not follow such a curve.
        let bound: Vec<(u32, f64)> = (1..=24).map(|n| (n, f64::from(n.min(8)) * 100.0)).collect();
        assert!(doubts(&of_rates(&bound)).contains(&FitDoubt::NotRandom));
        // Three runs each, which agree that the third rung is far off.
        let mut off = ladder(law(0.05, 0.002), &CLIENTS, 3, 0.005, 9);
        off[2].rates.iter_mut().for_each(|rate| *rate *= 0.7);
        assert!(doubts(&off).contains(&FitDoubt::NotRandom));
        // Idle CPUs: four clients do more than four times what one does.
        let awake =
            [(1, 6_700.0), (2, 30_000.0), (4, 60_000.0), (8, 62_000.0), (16, 61_000.0), (32, 58_000.0)];
        assert!(doubts(&of_rates(&awake)).contains(&FitDoubt::Superlinear));
    }

    /// Ladders that no law could produce, or hardly any figures: the answer exists and is finite.
    #[test]
    fn pathological_ladders() {
        assert_eq!(Scaling::fit(&[]), None);
        assert_eq!(Scaling::fit(&of_rates(&[(1, 10.0), (2, 20.0)])), None);
        assert_eq!(Scaling::fit(&of_rates(&[(4, 10.0), (4, 20.0), (4, 15.0)])), None);
        assert_eq!(Scaling::fit(&of_rates(&[(0, 10.0), (1, 20.0), (2, 15.0)])), None);
        assert_eq!(Scaling::fit(&of_rates(&[(1, 0.0), (2, 20.0), (4, 15.0)])), None);
        // Three rungs, a run each: nothing is left to judge by.
        let three = Scaling::fit(&of_rates(&[(1, 100.0), (4, 300.0), (16, 400.0)])).unwrap();
        assert_eq!((three.sigma.interval, three.rungs, three.runs), (None, 3, 3));
        let cases: [&[(u32, f64)]; 6] = [
            &[(1, 100.0), (2, 100.0), (4, 100.0), (8, 100.0)],
            &[(1, 100.0), (2, 50.0), (4, 20.0), (8, 5.0), (16, 1.0)],
            &[(1, 1.0), (2, 10.0), (4, 100.0), (8, 1000.0)],
            &[(1, 1e-9), (10, 1e-8), (100_000, 1e-7), (99_999, 1e-7)],
            &[(100, 5e9), (200, 4e9), (400, 6e9), (800, 1e9), (1600, 7e9)],
            &[(1, 100.0), (2, 1.0), (3, 100.0), (4, 1.0), (5, 100.0)],
        ];
        for rates in cases {
            let found = Scaling::fit(&of_rates(rates)).unwrap();
            let parameters = [found.lambda, found.sigma, found.kappa];
            assert!(parameters.iter().all(|one| one.value.is_finite() && one.value >= 0.0), "{found:?}");
            assert!(found.sigma.value <= 1.0 && found.lambda.value > 0.0, "{found:?}");
            assert!(found.peak.is_none_or(|peak| peak.clients >= 1.0 && peak.rate.value.is_finite()));
        }
        // It falls from the first client on.
        let falling = Scaling::fit(&of_rates(cases[1])).unwrap();
        assert!(falling.peak.is_some_and(|peak| peak.clients < 2.5), "{falling:?}");
    }

    #[test]
    fn the_same_ladder_gives_the_same_figures() {
        let rungs = ladder(Law { lambda: 100.0, sigma: 0.1, kappa: 0.001 }, &CLIENTS, 3, 0.05, 11);
        assert_eq!(Scaling::fit(&rungs), Scaling::fit(&rungs));
    }
}
