//! The list of all figures, by source.

use spec::figures::{self, Better, FigureRow, Per, Source, Unit};

use super::{check, head, row};

fn unit(figure: &FigureRow) -> String {
    let unit = match figure.unit {
        Unit::Count => "",
        unit => unit.name(),
    };
    let per = match figure.per {
        Per::None => String::new(),
        per => format!("per {}", per.name()),
    };
    let better = match figure.better {
        Better::Lower => "↓",
        Better::Higher => "↑",
        Better::Neither => "",
    };
    [unit, &per, better].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[test]
fn every_figure_is_in_its_page() {
    let mut list = String::new();
    let mut sources: Vec<Source> = Vec::new();
    for row in figures::table() {
        if !sources.contains(&row.source) {
            sources.push(row.source);
        }
    }
    for source in sources {
        list += &format!("\n## Source: {}\n\n", source.name());
        list += &head(&["figure", "name", "unit", "shown from", "meaning"]);
        for figure in figures::table().filter(|row| row.source == source) {
            let shown = figure.notable.as_ref().map(|of| of.matters.to_string());
            list += &row(&[
                figure.label,
                &format!("`{}`", figure.name),
                &unit(figure),
                &shown.unwrap_or_default(),
                figure.meaning,
            ]);
        }
    }
    check("figures.md", &(list + "\n"));
}
