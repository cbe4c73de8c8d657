//! A run whose series waits in little memory, since many runs may be read before the first is stored.

use stats::Histogram;

use crate::record::{Run, SeriesPoint};

/// A run with its series encoded.
#[derive(Debug, Clone)]
pub(crate) struct Packed {
    run: Run,
    points: Vec<(SeriesPoint, Option<Encoded>)>,
}

#[derive(Debug, Clone)]
struct Encoded {
    v2: Vec<u8>,
    sum_ns: u128,
    sum_squares: f64,
    min_ns: u64,
    max_ns: u64,
}

impl Packed {
    pub(super) fn new(mut run: Run) -> Self {
        let empty = nothing();
        let points = std::mem::take(&mut run.series).into_iter().map(|point| pack(point, &empty)).collect();
        Self { run, points }
    }

    /// The run without its series.
    pub(crate) fn head(&self) -> &Run {
        &self.run
    }

    /// The whole run.
    pub(crate) fn unpacked(&self) -> Run {
        let mut run = self.run.clone();
        run.series = self.points.iter().map(|(point, encoded)| unpack(point, encoded.as_ref())).collect();
        run
    }
}

fn pack(mut point: SeriesPoint, empty: &Histogram) -> (SeriesPoint, Option<Encoded>) {
    let full = std::mem::replace(&mut point.response, empty.clone());
    let encoded = full.min_ns().zip(full.max_ns()).map(|(min_ns, max_ns)| Encoded {
        v2: full.encode(),
        sum_ns: full.sum_ns(),
        sum_squares: full.sum_squares(),
        min_ns,
        max_ns,
    });
    (point, encoded)
}

fn unpack(point: &SeriesPoint, encoded: Option<&Encoded>) -> SeriesPoint {
    let mut point = point.clone();
    if let Some(Encoded { v2, sum_ns, sum_squares, min_ns, max_ns }) = encoded {
        point.response =
            Histogram::decode(v2, *sum_ns, *sum_squares, *min_ns, *max_ns).expect("encoded by ourselves");
    }
    point
}

/// An empty histogram with as few counters as there can be.
pub(super) fn nothing() -> Histogram {
    compact(&Histogram::new())
}

/// The same histogram with counters only up to its largest value.
pub(super) fn compact(histogram: &Histogram) -> Histogram {
    let (min, max) = (histogram.min_ns().unwrap_or(u64::MAX), histogram.max_ns().unwrap_or(0));
    Histogram::decode(&histogram.encode(), histogram.sum_ns(), histogram.sum_squares(), min, max)
        .unwrap_or_else(|_| histogram.clone())
}
