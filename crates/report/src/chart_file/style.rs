//! The page's style rules for drawings in separate files. Light colours replace the variables, since mail
//! clients and drawing programs do not support CSS variables.

use crate::html::STYLE;

/// Text in the font of the PNGs, or a similar one.
const WORDS: &str = "text{font-family:\"DejaVu Sans\",Verdana,\"Segoe UI\",Helvetica,sans-serif;font-size:13px;fill:#5b646b}\
    text.title{font-size:17px;font-weight:bold;fill:#1f2428}text.source{fill:#5b646b}";

pub(super) fn on_white() -> String {
    let light = light();
    let rules = STYLE.lines().flat_map(|line| line.split_inclusive('}')).filter_map(|rule| {
        let rule = rule.trim().strip_prefix("svg ")?;
        let own = !rule.starts_with("text{");
        own.then(|| {
            with_colours(&rule.replace(",svg ", ",").replace("font-weight:650", "font-weight:bold"), &light)
        })
    });
    let rules: String = rules.collect();
    // The page's paper colour becomes white.
    format!("{WORDS}{}", rules.replace("#fdfdfb", "#fff"))
}

/// Names and values of the first `:root`, the light theme.
fn light() -> Vec<(&'static str, &'static str)> {
    let (_, root) = STYLE.split_once(":root{").expect("colours come first");
    let (root, _) = root.split_once('}').expect("and end");
    root.split(';').filter_map(|pair| pair.trim().split_once(':')).collect()
}

fn with_colours(rule: &str, light: &[(&str, &str)]) -> String {
    light.iter().fold(rule.to_owned(), |rule, (name, colour)| rule.replace(&format!("var({name})"), colour))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_stand_for_their_names() {
        let rules = on_white();
        assert!(!rules.contains("var(") && !rules.contains("svg "), "{rules}");
        for rule in [
            ".line.s0,.whisker.s0{stroke:#2f6690}",
            ".v-worse{fill:#a8421a;stroke:#a8421a}",
            ".band{fill:#e8eef6}",
            "text.strong{fill:#1f2428;font-weight:bold}",
            ".mark{stroke:#fff;",
            "line.v-better,line.v-worse,line.v-same,line.v-unclear{stroke-width:1.8}",
        ] {
            assert!(rules.contains(rule), "no {rule} in\n{rules}");
        }
        // Neither dark theme nor print rules.
        assert!(!rules.contains("@media") && !rules.contains("#7ab3dc"));
    }
}
