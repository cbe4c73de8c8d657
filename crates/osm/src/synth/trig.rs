//! Sine and cosine made of additions and multiplications alone, so that a seed gives the same on every machine: those of
//! the system's library differ in their last bits.

use std::f64::consts::FRAC_PI_2;

/// Cosine and sine of a part of a full turn; within 1e-8.
pub(super) fn turned(turns: f64) -> (f64, f64) {
    let quarters = (turns - turns.floor()) * 4.0;
    let (cos, sin) = quarter((quarters - quarters.floor()) * FRAC_PI_2);
    match quarters as u32 {
        0 => (cos, sin),
        1 => (-sin, cos),
        2 => (-cos, -sin),
        _ => (sin, -cos),
    }
}

/// Cosine of degrees.
pub(super) fn cos_degrees(degrees: f64) -> f64 {
    turned(degrees / 360.0).0
}

/// Taylor series from 0 to a quarter of a turn, in radians.
fn quarter(x: f64) -> (f64, f64) {
    let square = x * x;
    let (mut cos, mut sin) = (1.0, 1.0);
    for n in [14.0, 12.0, 10.0, 8.0, 6.0, 4.0, 2.0] {
        cos = 1.0 - square / (n * (n - 1.0)) * cos;
        sin = 1.0 - square / (n * (n + 1.0)) * sin;
    }
    (cos, x * sin)
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;

    #[test]
    fn as_the_librarys() {
        for step in -2000..2000 {
            let turns = f64::from(step) / 777.0;
            let (cos, sin) = turned(turns);
            assert!((cos - (turns * TAU).cos()).abs() < 1e-8, "{turns}");
            assert!((sin - (turns * TAU).sin()).abs() < 1e-8, "{turns}");
        }
        assert!((cos_degrees(60.0) - 0.5).abs() < 1e-8);
    }
}
