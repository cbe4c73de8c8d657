//! Figures of several comparisons, and table cells.

/// Of sorted values.
fn median(sorted: &[f64]) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    Some((sorted[last / 2] + sorted[last.div_ceil(2)]) / 2.0)
}

/// Median, smallest and largest; `None` without values.
pub(crate) fn spread(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64, f64)> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    Some((median(&values)?, *values.first()?, *values.last()?))
}

/// `**1.9 %** (1.4-2.6)`.
pub(crate) fn spread_pct(of: Option<(f64, f64, f64)>) -> String {
    of.map_or("-".to_owned(), |(median, least, greatest)| {
        format!("**{median:.1} %** ({least:.1}-{greatest:.1})")
    })
}

pub(crate) fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{share:.1} %"))
}

pub(crate) fn met(is_met: bool) -> &'static str {
    if is_met { "met" } else { "**missed**" }
}

/// Heading, and the command that makes the table.
pub(crate) fn title(title: &str) -> String {
    let mut words = std::env::args().skip(1);
    let mut own = Vec::new();
    while let Some(word) = words.next() {
        match word == "--pgdyno" {
            true => drop(words.next()),
            false => own.push(word),
        }
    }
    format!("\n## {title}\n\n`make bench BENCH='{}'`\n", own.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_an_even_number_is_between_two() {
        assert_eq!(spread([4.0, 1.0, 2.0, 3.0]), Some((2.5, 1.0, 4.0)));
        assert_eq!(spread([7.0]), Some((7.0, 7.0, 7.0)));
        assert_eq!(spread([]), None);
    }
}
