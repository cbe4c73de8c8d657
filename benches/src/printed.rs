//! Figures read from what pgbench, and pgdyno in its place, print.

use anyhow::Context;

use crate::child::Ran;

/// Transactions that were made.
pub(crate) fn processed(ran: &Ran) -> anyhow::Result<f64> {
    number(&ran.output, "number of transactions actually processed: ")
}

/// Transactions per second, without connecting.
pub(crate) fn tps(ran: &Ran) -> anyhow::Result<f64> {
    number(&ran.output, "tps = ")
}

fn number(output: &str, before: &str) -> anyhow::Result<f64> {
    let rest = output.lines().find_map(|line| line.strip_prefix(before));
    let digits =
        rest.map(|rest| rest.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default());
    digits.and_then(|digits| digits.parse().ok()).with_context(|| format!("no \"{before}\" in:\n{output}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_in_a_report() {
        let output = "number of transactions actually processed: 1234/2000\ntps = 617.5 (without initial connection time)\n";
        let ran = Ran { output: output.into(), errors: String::new(), cpu_s: 0.0, wall_s: 0.0 };
        assert_eq!(processed(&ran).unwrap(), 1234.0);
        assert_eq!(tps(&ran).unwrap(), 617.5);
        assert!(number("tps = \n", "tps = ").is_err());
    }
}
