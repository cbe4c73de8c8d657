//! What arms' plans differ in: their nodes, without figures.

use super::Explained;
use crate::data::{ReportData, cell_text};

/// Nodes that are named at most on each side.
const MOST: usize = 4;

/// What an arm's plans have in place of the base's, in words that go on from the arm's name: `Index Scan using i on t
/// instead of Seq Scan on t`. `None` where they are the same.
pub(crate) fn change(base: &Explained, own: &Explained) -> Option<String> {
    if base.shape == own.shape {
        return None;
    }
    let (added, gone) = (without(&own.nodes, &base.nodes), without(&base.nodes, &own.nodes));
    Some(match (added.is_empty(), gone.is_empty()) {
        (true, true) => "the same nodes in another order".to_owned(),
        (false, true) => format!("{} in addition", named(added)),
        (true, false) => format!("no {}", named(gone)),
        (false, false) => format!("{} instead of {}", named(added), named(gone)),
    })
}

/// A line for each arm whose plans are others than the base's, of the first cell where they are.
pub(crate) fn told(data: &ReportData) -> Vec<String> {
    let all = Explained::all(data);
    let arms = data.arms();
    let Some((base, others)) = arms.split_first() else { return Vec::new() };
    let is_base = |own: &&Explained| own.arm.as_deref() == *base;
    let line = |arm: &Option<&str>| {
        let pairs = all.iter().filter(|own| own.arm.as_deref() == *arm).filter_map(|own| {
            // Scripts of arms may have other names: by their place.
            let nth = |of: &Explained| {
                let same = |other: &&Explained| other.cell == of.cell && other.arm == of.arm;
                all.iter().filter(same).position(|other| other == of)
            };
            let base =
                all.iter().filter(is_base).find(|base| base.cell == own.cell && nth(base) == nth(own))?;
            Some((base, own))
        });
        let pairs: Vec<(&Explained, &Explained)> = pairs.collect();
        let differ = pairs.iter().filter(|(base, own)| change(base, own).is_some()).count();
        let (base, own) = pairs.iter().find(|(base, own)| change(base, own).is_some())?;
        let all_of_them =
            if pairs.len() == 1 { String::new() } else { format!(" ({differ} of {} cells)", pairs.len()) };
        let place = if pairs.len() == 1 { String::new() } else { format!(", {}", cell_text(&own.cell)) };
        Some(format!(
            "plans differ{all_of_them}{place}: {}: {}; {}: {}",
            own.name(),
            own.in_short(),
            base.name(),
            base.in_short()
        ))
    };
    others.iter().filter_map(line).collect()
}

/// Those of `nodes` that are not among `others`, each as often as it is there once more.
fn without(nodes: &[String], others: &[String]) -> Vec<String> {
    let mut others: Vec<&String> = others.iter().collect();
    let mut left: Vec<String> = Vec::new();
    for node in nodes {
        match others.iter().position(|other| *other == node) {
            Some(at) => drop(others.remove(at)),
            None => left.push(node.clone()),
        }
    }
    left
}

/// Those that read something first.
fn named(mut nodes: Vec<String>) -> String {
    nodes.sort_by_key(|node| !(node.contains(" on ") || node.contains(" using ")));
    let more = nodes.len().saturating_sub(MOST);
    nodes.truncate(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    nodes.join(", ") + &more
}

#[cfg(test)]
mod tests {
    use record::Part;

    use super::*;
    use crate::explained::tests::{data, run};

    #[test]
    fn other_nodes_are_named() {
        let seq = (Part::SeqScan, "Seq Scan", "");
        let index = (Part::Index, "Index Scan", "i");
        let found = data(vec![run("a", 1, seq, &[2.0, 3.0]), run("b", 1, index, &[0.5, 0.5])]);
        let all = Explained::all(&found);
        assert_eq!(change(&all[0], &all[1]).unwrap(), "Index Scan using i on t instead of Seq Scan on t");
        assert_eq!(change(&all[0], &all[0]), None);
        assert_eq!(told(&found), ["plans differ: b: 91 % index scans; a: 91 % sequential scans"]);
        let same = data(vec![run("a", 1, seq, &[2.0]), run("b", 1, seq, &[0.5])]);
        assert!(told(&same).is_empty());
    }

    #[test]
    fn nodes_are_counted() {
        let nodes = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(without(&nodes("a b a c"), &nodes("a c d")), ["b", "a"]);
        assert_eq!(named(nodes("a b c d e f")), "a, b, c, d and 2 more");
        assert_eq!(named(vec!["Limit".into(), "Seq Scan on t".into()]), "Seq Scan on t, Limit");
    }
}
