//! Styles as QGIS stores them (QML): polygons in classes of a column.

use std::fmt::Write;

use crate::heat::{HeatScale, range};

/// From fast to slow: the colours of the report's maps on a light page.
const TIMES: [&str; 7] =
    ["247,223,166", "245,198,120", "239,164,79", "224,124,51", "197,85,37", "151,52,29", "94,26,20"];

/// Classes of a change against the base, in percent: lower and upper bound, legend, colour.
const CHANGES: [(f64, f64, &str, &str); 7] = [
    (-100.0, -50.0, "-50 % or less", "33,102,172"),
    (-50.0, -20.0, "-50 % to -20 %", "103,169,207"),
    (-20.0, -5.0, "-20 % to -5 %", "209,229,240"),
    (-5.0, 5.0, "-5 % to +5 %", "247,247,247"),
    (5.0, 25.0, "+5 % to +25 %", "253,219,199"),
    (25.0, 100.0, "+25 % to +100 %", "239,138,98"),
    (100.0, 1e12, "+100 % or more", "178,24,43"),
];

/// A class: polygons whose figure is within its bounds.
#[derive(Debug, Clone, PartialEq)]
struct StyleClass {
    lower: f64,
    upper: f64,
    label: String,
    colour: &'static str,
}

/// A style of a view.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Style {
    /// At most 30 characters, as QGIS stores it.
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    column: &'static str,
    classes: Vec<StyleClass>,
}

impl Style {
    /// By the mean time; the scale is over µs.
    pub(super) fn of_times(scale: HeatScale) -> Self {
        let steps = scale.steps();
        let last = steps.len() - 1;
        let class = |(step, [low, high]): (usize, [f64; 2])| StyleClass {
            lower: low / 1e3,
            // The slowest tile is within the last class, whatever was rounded.
            upper: if step == last { high / 1e3 * (1.0 + 1e-9) } else { high / 1e3 },
            label: range(low, high),
            colour: TIMES[step],
        };
        Self {
            name: "mean time",
            description: "Mean time of a tile; the same colours in all arms of this zoom",
            column: "mean_ms",
            classes: steps.into_iter().enumerate().map(class).collect(),
        }
    }

    /// By the change against the base.
    pub(super) fn of_changes() -> Self {
        let class = |(lower, upper, label, colour): (f64, f64, &str, &'static str)| StyleClass {
            lower,
            upper,
            label: label.to_owned(),
            colour,
        };
        Self {
            name: "change against the base",
            description: "How much longer a tile takes than in the base, in percent",
            column: "change_pct",
            classes: CHANGES.map(class).into(),
        }
    }

    /// Graduated symbols, with properties in the form that all versions of QGIS 3 read.
    pub(super) fn qml(&self) -> String {
        let (mut ranges, mut symbols) = (String::new(), String::new());
        for (at, StyleClass { lower, upper, label, colour }) in self.classes.iter().enumerate() {
            // Writing to a text cannot fail.
            let _ = write!(
                ranges,
                r#"<range lower="{lower}" upper="{upper}" symbol="{at}" label="{label}" render="true"/>"#
            );
            let _ = write!(
                symbols,
                r#"<symbol type="fill" name="{at}" alpha="0.75" clip_to_extent="1" force_rhr="0"><layer class="SimpleFill" enabled="1" locked="0" pass="0"><prop k="color" v="{colour},255"/><prop k="style" v="solid"/><prop k="outline_color" v="255,255,255,255"/><prop k="outline_style" v="solid"/><prop k="outline_width" v="0.1"/><prop k="outline_width_unit" v="MM"/></layer></symbol>"#
            );
        }
        format!(
            "<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>\n\
             <qgis version=\"3.16\" styleCategories=\"Symbology\">\
             <renderer-v2 type=\"graduatedSymbol\" attr=\"{}\" graduatedMethod=\"GraduatedColor\" symbollevels=\"0\" \
             enableorderby=\"0\" forceraster=\"0\"><ranges>{ranges}</ranges><symbols>{symbols}</symbols></renderer-v2>\
             <layerGeometryType>2</layerGeometryType></qgis>\n",
            self.column
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(style: &Style) -> Vec<(f64, f64)> {
        style.classes.iter().map(|class| (class.lower, class.upper)).collect()
    }

    #[test]
    fn each_figure_has_a_class() {
        let scale = HeatScale::over([700.0, 4900.0].into_iter()).unwrap();
        let times = Style::of_times(scale);
        assert_eq!(times.classes.len(), 7);
        for (low, high) in bounds(&times).windows(2).map(|two| (two[0].1, two[1].0)) {
            assert!((low - high).abs() < 1e-9, "{low} {high}");
        }
        assert!(bounds(&times)[0].0 <= 0.7 && bounds(&times)[6].1 >= 4.9);
        let changes = bounds(&Style::of_changes());
        assert!(changes.windows(2).all(|two| two[0].1 == two[1].0), "{changes:?}");
        assert_eq!((changes[0].0, changes[3]), (-100.0, (-5.0, 5.0)));
    }

    #[test]
    fn equal_times_are_one_class_with_one_label() {
        let style = Style::of_times(HeatScale::over([2500.0, 2500.0].into_iter()).unwrap());
        let qml = style.qml();
        assert_eq!((qml.matches("<range ").count(), qml.matches("<symbol ").count()), (1, 1));
        assert!(qml.contains("attr=\"mean_ms\"") && qml.contains("label=\"2.50 ms\""), "{qml}");
        assert!(style.name.len() <= 30 && Style::of_changes().name.len() <= 30);
    }
}
