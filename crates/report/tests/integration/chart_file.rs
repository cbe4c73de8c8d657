//! Charts as separate files, SVG and PNG, for any experiment.

use crate::fixture::{Shape, data, remade};
use report::{ChartFile, charts};

fn named<'a>(all: &'a [ChartFile], name: &str) -> &'a ChartFile {
    let names = || all.iter().map(|chart| &chart.name).collect::<Vec<_>>();
    all.iter().find(|chart| chart.name == name).unwrap_or_else(|| panic!("no {name} among {:?}", names()))
}

#[test]
fn every_chart_of_the_page_stands_alone_once() {
    let data = data(&Shape::default());
    let all = charts(&data);
    let page = report::html::page(&data);
    assert_eq!(all.len(), page.matches("<figure class=\"chart\">").count());
    for chart in &all {
        assert!(page.contains(&format!("<h4>{}</h4>", chart.title)), "{}", chart.title);
        assert_eq!(all.iter().filter(|other| other.name == chart.name).count(), 1, "{}", chart.name);
        let svg = &chart.svg;
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""), "{svg}");
        for words in
            [&format!("<title>{}</title>", chart.title), "fill=\"#fff\"", "© OpenStreetMap contributors"]
        {
            assert!(svg.contains(words), "{}: no {words}", chart.name);
        }
        assert!(!svg.contains("var(") && !svg.contains("NaN"), "{svg}");
        let picture = chart.picture().expect("a picture");
        assert_eq!(picture.missing, "", "{}", chart.name);
        assert!(picture.png.starts_with(b"\x89PNG"));
    }
}

#[test]
fn map_data_is_named_where_there_is_some() {
    let all = charts(&data(&Shape::small()));
    let forest = named(&all, "gis-against-stock-change-of-throughput");
    assert!(!forest.svg.contains("OpenStreetMap"));
    for words in ["change of throughput against stock, %", "pgdyno 0."] {
        assert!(forest.svg.contains(words), "{words}: {}", forest.svg);
    }
}

#[test]
fn hostile_text_stays_text_in_a_chart() {
    let mut hostile = data(&Shape::small());
    let bad = "<script>alert(1)</script>\u{202e}\u{1b}[2J\"'&";
    hostile.experiment.question = bad.to_owned();
    hostile.runs.iter_mut().for_each(|run| {
        run.workload = bad.to_owned();
        run.factors.insert("workload".to_owned(), bad.to_owned());
    });
    for chart in charts(&remade(hostile)) {
        assert!(
            !chart.svg.contains("<script") && !chart.svg.contains(['\u{1b}', '\u{202e}']),
            "{}",
            chart.svg
        );
        let plain = |c: char| c == '-' || c.is_alphanumeric();
        assert!(chart.name.chars().all(plain), "{}", chart.name);
        chart.picture().expect("a picture");
    }
}

#[test]
fn words_of_any_length_stay_inside() {
    let mut long = data(&Shape::small());
    long.experiment.question = "why ".repeat(60) + &"x".repeat(300);
    let all = charts(&remade(long));
    let chart = named(&all, "gis-against-stock-change-of-throughput");
    let lines = chart.svg.split("<text").filter(|line| line.contains("why") || line.contains("xxx"));
    let longest = lines.filter_map(|line| line.split('>').nth(1)).map(str::len).max();
    assert!(longest.is_some_and(|longest| longest < 140), "{longest:?}");
}
