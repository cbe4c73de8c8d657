//! Values relative to the machine: `25% of memory`, `50% of cores`.

/// The machine a relative value refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// Memory available to the server, bytes.
    pub memory_bytes: u64,
    /// Logical CPUs available to the server.
    pub cores: u32,
}

impl Machine {
    /// The current machine, within the limits of its cgroup.
    #[must_use]
    pub fn here() -> Self {
        Self { memory_bytes: crate::host::memory_bytes(), cores: crate::host::cores() }
    }
}

/// Why a value cannot be computed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// The share is not a number above 0.
    #[error("{0:?}: the share must be a number above 0, as in \"25% of memory\"")]
    Share(String),
    /// The share's base is unknown.
    #[error("{0:?}: a share can be taken of \"memory\" or \"cores\"")]
    Whole(String),
}

/// Replaces a share of the machine by a value for PostgreSQL. Other values are returned unchanged.
///
/// Memory is rounded down to whole megabytes, at least one; cores are rounded to the nearest number, at least
/// one.
///
/// # Errors
/// When the text is an invalid share (`N% of …`).
pub fn resolve(text: &str, machine: Machine) -> Result<String, ExpressionError> {
    let Some((share, whole)) = text.split_once('%') else { return Ok(text.trim().to_owned()) };
    let Some(whole) = whole.trim().strip_prefix("of ") else { return Ok(text.trim().to_owned()) };
    let share: f64 = share.trim().parse().map_err(|_| ExpressionError::Share(text.to_owned()))?;
    if !(share.is_finite() && share > 0.0) {
        return Err(ExpressionError::Share(text.to_owned()));
    }
    match whole.trim() {
        "memory" => Ok(format!("{}MB", megabytes(share, machine.memory_bytes))),
        "cores" => Ok(format!("{}", (share / 100.0 * f64::from(machine.cores)).round().max(1.0))),
        _ => Err(ExpressionError::Whole(text.to_owned())),
    }
}

fn megabytes(share: f64, memory_bytes: u64) -> u64 {
    let megabytes = share / 100.0 * memory_bytes as f64 / f64::from(1 << 20);
    (megabytes as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MACHINE: Machine = Machine { memory_bytes: 8 << 30, cores: 6 };

    #[test]
    fn values() {
        let cases = [
            ("64MB", Ok("64MB")),
            (" on ", Ok("on")),
            ("25% of memory", Ok("2048MB")),
            ("12.5 %  of  memory ", Ok("1024MB")),
            ("0.0001% of memory", Ok("1MB")),
            ("50% of cores", Ok("3")),
            ("1% of cores", Ok("1")),
            ("LIKE '%x'", Ok("LIKE '%x'")),
            ("-5% of memory", Err(ExpressionError::Share("-5% of memory".into()))),
            ("much% of memory", Err(ExpressionError::Share("much% of memory".into()))),
            ("5% of ram", Err(ExpressionError::Whole("5% of ram".into()))),
        ];
        for (text, wanted) in cases {
            assert_eq!(resolve(text, MACHINE), wanted.map(str::to_owned), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,30}", share in ".{0,10}") {
            let _ = resolve(&text, MACHINE);
            let _ = resolve(&format!("{share}% of memory"), MACHINE);
        }
    }
}
