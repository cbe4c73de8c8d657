//! What a recorded latency costs: once for every transaction, once a second, and when figures are made of it.

use divan::{Bencher, black_box};
use stats::Histogram;

/// Values recorded before what is measured.
const VALUES: u64 = 10_000;

fn main() {
    divan::main();
}

/// Latencies of 50 µs to 10 ms, most of them short; the same every time.
fn latencies() -> impl Iterator<Item = u64> {
    (0..).map(|n: u64| {
        let spread = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        50_000 + 10_000_000 / (1 + spread % 5000)
    })
}

fn filled() -> Histogram {
    let mut histogram = Histogram::new();
    latencies().take(VALUES as usize).for_each(|ns| histogram.record(ns));
    histogram
}

#[divan::bench]
fn record(bencher: Bencher<'_, '_>) {
    let mut histogram = filled();
    let mut latencies = latencies();
    bencher.bench_local(|| histogram.record(black_box(latencies.next().unwrap_or_default())));
}

/// Adds one second's histogram to the run's.
#[divan::bench]
fn add_a_second(bencher: Bencher<'_, '_>) {
    let (mut run, second) = (filled(), filled());
    bencher.bench_local(|| run.add(black_box(&second)));
}

#[divan::bench]
fn clear_a_second(bencher: Bencher<'_, '_>) {
    let mut second = filled();
    bencher.bench_local(|| black_box(&mut second).clear());
}

#[divan::bench(args = [0.5, 0.99, 0.999])]
fn quantile(bencher: Bencher<'_, '_>, quantile: f64) {
    let histogram = filled();
    bencher.bench_local(|| black_box(&histogram).quantile_ns(black_box(quantile)));
}

#[divan::bench]
fn encode(bencher: Bencher<'_, '_>) {
    let histogram = filled();
    bencher.bench_local(|| black_box(&histogram).encode());
}
