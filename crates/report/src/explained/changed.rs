//! In what the plans of arms differ: their nodes, without figures.

use std::collections::BTreeSet;

use super::Explained;
use results::ReportData;
use results::data::cell_text;

/// Nodes named on each side, at most.
const MOST: usize = 4;

const MOST_ARMS: usize = 3;

/// How an arm's plans differ from the base's, as a phrase after the arm's name: `Index Scan using i on t
/// instead of Seq Scan on t`. `None` if they are equal.
pub(crate) fn change(base: &Explained, explained: &Explained) -> Option<String> {
    if base.shape == explained.shape {
        return (base.functions != explained.functions).then(|| {
            format!("the same nodes, which compute {} instead of {}", computed(explained), computed(base))
        });
    }
    let (added, gone) = (without(&explained.nodes, &base.nodes), without(&base.nodes, &explained.nodes));
    Some(match (added.is_empty(), gone.is_empty()) {
        (true, true) => "the same nodes in another order".to_owned(),
        (false, true) => format!("{} in addition", named(added)),
        (true, false) => format!("no {}", named(gone)),
        (false, false) => format!("{} instead of {}", named(added), named(gone)),
    })
}

/// `st_buffer, st_intersects`; `nothing`.
fn computed(explained: &Explained) -> String {
    match explained.functions.is_empty() {
        true => "nothing".to_owned(),
        false => explained.functions.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
    }
}

/// The base's sample of the same script; `None` if that was not explained. Scripts of arms may have other
/// names, so they match by their place among the scripts of their run; tiles match by zoom and layer, since
/// a cache doubles scripts.
pub(crate) fn of_base<'e>(all: &'e [Explained], base: &str, own: &Explained) -> Option<&'e Explained> {
    let place = own.place?;
    let is_base = |other: &&Explained| other.arm.as_deref() == Some(base) && other.cell == own.cell;
    let mut of_base = all.iter().filter(is_base);
    match &own.map {
        Some(part) => of_base.find(|other| {
            let zoom = other.map.as_ref().map(|of| of.zoom);
            zoom == Some(part.zoom) && is_same_layer(other, own)
        }),
        None => of_base.find(|other| other.place == Some(place)),
    }
}

/// By name; by place if the base has no layer of that name.
fn is_same_layer(base: &Explained, explained: &Explained) -> bool {
    let layer = |of: &Explained| of.map.as_ref().map(|part| part.layer.clone());
    let is_named = layer(explained).is_some_and(|layer| base.layers.contains(&layer));
    if is_named { layer(base) == layer(explained) } else { base.layer() == explained.layer() }
}

/// A line for each arm whose plans differ from the base's, from the first cell with a difference; of many
/// arms the others by name.
pub(crate) fn summary(data: &ReportData) -> Vec<String> {
    let Some(base) = data.base() else { return Vec::new() };
    let all = Explained::all(data);
    let others = data.arms().into_iter().flatten().filter(|arm| *arm != base);
    let (names, mut lines): (Vec<&str>, Vec<String>) =
        others.filter_map(|arm| Some((arm, arm_summary(&all, base, arm)?))).unzip();
    if let Some(rest) = names.get(MOST_ARMS..).filter(|rest| !rest.is_empty()) {
        lines.truncate(MOST_ARMS);
        lines.push(format!("plans differ from {base}'s in {}, too", rest.join(", ")));
    }
    lines
}

type Pair<'e> = (&'e Explained, &'e Explained);

fn arm_summary(all: &[Explained], base: &str, arm: &str) -> Option<String> {
    let own = all.iter().filter(|own| own.arm.as_deref() == Some(arm));
    let pairs: Vec<Pair<'_>> = own.filter_map(|own| Some((of_base(all, base, own)?, own))).collect();
    let differ: Vec<Pair<'_>> =
        pairs.iter().copied().filter(|(base, own)| change(base, own).is_some()).collect();
    let (base, own) = differ.first()?;
    let cells = |pairs: &[Pair<'_>]| pairs.iter().map(|(_, own)| &own.cell).collect::<BTreeSet<_>>().len();
    let where_they_do = match (cells(&pairs), pairs.len()) {
        (1, 1) => String::new(),
        (1, scripts) => format!(" ({} of {scripts} scripts)", differ.len()),
        (all, _) => format!(" ({} of {all} cells), {}", cells(&differ), cell_text(&own.cell)),
    };
    if base.shape == own.shape {
        let (own_functions, base_functions) = (computed(own), computed(base));
        return Some(format!(
            "plans differ{where_they_do} in what their nodes compute: {}: {own_functions}; {}: {base_functions}",
            own.name(),
            base.name()
        ));
    }
    Some(format!(
        "plans differ{where_they_do}: {}: {}; {}: {}",
        own.name(),
        own.in_short(),
        base.name(),
        base.in_short()
    ))
}

/// The nodes that `others` lacks, by count.
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

/// A list of nodes; reading nodes are first.
fn named(mut nodes: Vec<String>) -> String {
    nodes.sort_by_key(|node| !(node.contains(" on ") || node.contains(" using ")));
    let more = nodes.len().saturating_sub(MOST);
    nodes.truncate(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    nodes.join(", ") + &more
}

#[cfg(test)]
mod tests {
    use spec::StatementPart;

    use super::*;
    use crate::explained::tests::{data, run, script};

    #[test]
    fn other_nodes_are_named() {
        let seq = (StatementPart::SeqScan, "Seq Scan", "");
        let index = (StatementPart::Index, "Index Scan", "i");
        let found = data(vec![run("a", 1, seq, &[2.0, 3.0]), run("b", 1, index, &[0.5, 0.5])]);
        let all = Explained::all(&found);
        assert_eq!(change(&all[0], &all[1]).unwrap(), "Index Scan using i on t instead of Seq Scan on t");
        assert_eq!(change(&all[0], &all[0]), None);
        assert_eq!(summary(&found), ["plans differ: b: 91 % index scans; a: 91 % sequential scans"]);
        let same = data(vec![run("a", 1, seq, &[2.0]), run("b", 1, seq, &[0.5])]);
        assert!(summary(&same).is_empty());
        // Regression: a factor of 48 was reported as "the same plans"; the difference was in the nodes'
        // conditions.
        let mut buffer = run("b", 1, seq, &[0.5]);
        buffer.plans[0].nodes[1].functions = vec!["st_intersects".into(), "st_buffer".into()];
        let found = data(vec![run("a", 1, seq, &[2.0]), buffer]);
        let wanted = "plans differ in what their nodes compute: b: st_buffer, st_intersects; a: nothing";
        assert_eq!(summary(&found), [wanted]);
        let all = Explained::all(&found);
        let words = "the same nodes, which compute st_buffer, st_intersects instead of nothing";
        assert_eq!(change(&all[0], &all[1]).unwrap(), words);
    }

    /// Regression: the base's script was matched with another one if an arm's first had no plans, or by
    /// cell.
    #[test]
    fn scripts_are_paired_by_their_place_in_the_run() {
        let with_two = |arm: &str, first: &str, second: &str| {
            let mut both = run(arm, 1, (StatementPart::SeqScan, "Seq Scan", first), &[2.0]);
            both.plans.extend(run(arm, 1, (StatementPart::Index, "Index Scan", second), &[1.0]).plans);
            both.plans[1].script = "b.sql".into();
            both.scripts.push(script("b.sql"));
            both
        };
        let base = with_two("a", "", "i");
        let mut slow = with_two("b", "", "i");
        slow.plans.remove(0);
        assert!(summary(&data(vec![base.clone(), slow.clone()])).is_empty());
        slow.plans[0].nodes[1].index = "j".into();
        let wanted = "plans differ: b, b.sql: 91 % index scans; a, b.sql: 91 % index scans";
        assert_eq!(summary(&data(vec![base.clone(), slow])), [wanted]);
        let whole = with_two("b", "", "j");
        let wanted = "plans differ (1 of 2 scripts): b, b.sql: 91 % index scans; a, b.sql: 91 % index scans";
        assert_eq!(summary(&data(vec![base.clone(), whole.clone()])), [wanted]);
        let in_another_cell = |run: &spec::Run| {
            let mut run = run.clone();
            run.factors.insert("clients".to_owned(), "8".to_owned());
            run
        };
        let runs = vec![in_another_cell(&base), in_another_cell(&whole), base, whole];
        let [line] = &summary(&data(runs))[..] else { panic!("one arm") };
        assert!(line.starts_with("plans differ (2 of 2 cells), w, 4 clients: b, b.sql: "), "{line}");
    }

    /// Regression: `compare --base` compared plans with the planned base.
    #[test]
    fn another_base_is_the_one_that_plans_are_told_against() {
        let seq = (StatementPart::SeqScan, "Seq Scan", "");
        let index = (StatementPart::Index, "Index Scan", "i");
        let found = data(vec![run("a", 1, seq, &[2.0, 3.0]), run("b", 1, index, &[0.5, 0.5])]).against("b");
        assert_eq!(summary(&found), ["plans differ: a: 91 % sequential scans; b: 91 % index scans"]);
        let arms: Vec<String> = Explained::all(&found).iter().map(Explained::name).collect();
        assert_eq!(arms, ["b", "a"], "the base first");
    }

    #[test]
    fn nodes_are_counted() {
        let nodes = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(without(&nodes("a b a c"), &nodes("a c d")), ["b", "a"]);
        assert_eq!(named(nodes("a b c d e f")), "a, b, c, d and 2 more");
        assert_eq!(named(vec!["Limit".into(), "Seq Scan on t".into()]), "Seq Scan on t, Limit");
    }

    /// Regression: behind a cache each zoom has two scripts, and z12 was compared with the base's z13.
    #[test]
    fn tiles_are_held_against_their_own_zoom() {
        let tiles = |arm: &str, layer: &str, zooms: &[(u8, Option<bool>)]| {
            let mut made = run(arm, 1, (StatementPart::Index, "Index Scan", "i"), &[1.0]);
            let name = |zoom: u8, cached: Option<bool>| format!("{layer} {zoom} {cached:?}");
            made.scripts = zooms
                .iter()
                .map(|(zoom, cached)| spec::ScriptRecord {
                    part: Some(spec::MapPart { layer: layer.into(), zoom: Some(*zoom), cached: *cached }),
                    ..script(&name(*zoom, *cached))
                })
                .collect();
            let plan = made.plans[0].clone();
            let asked = zooms.iter().filter(|(_, cached)| *cached != Some(true));
            made.plans = asked
                .map(|(zoom, cached)| spec::StatementPlan { script: name(*zoom, *cached), ..plan.clone() })
                .collect();
            made
        };
        let base = tiles("a", "old", &[(12, None), (13, None)]);
        let both = |zoom| [(zoom, Some(true)), (zoom, Some(false))];
        let cached = tiles("b", "new", &[both(12), both(13)].concat());
        let all = Explained::all(&data(vec![base, cached]));
        let pairs: Vec<(String, String)> = all
            .iter()
            .filter(|own| own.arm.as_deref() == Some("b"))
            .filter_map(|own| Some((own.name(), of_base(&all, "a", own)?.name())))
            .collect();
        let wanted = [("z12, b", "z12, a"), ("z13, b", "z13, a")]
            .map(|(one, other)| (one.to_owned(), other.to_owned()));
        assert_eq!(pairs, wanted);
    }
}
