//! The shape of an output: its words. Figures, verdicts and remarks on the machine differ from run to run, and lines
//! break in other places.

use std::collections::BTreeSet;

/// Letters of the shortest word that counts: shorter ones are units, or in every sentence.
const SHORTEST: usize = 3;

fn words(output: &str) -> BTreeSet<String> {
    let words = output.split(|letter: char| !letter.is_alphabetic());
    words.filter(|word| word.chars().count() >= SHORTEST).map(str::to_lowercase).collect()
}

/// The words that the page has and the output lacks, if they are more than half of the page's.
pub fn differs(page: &str, output: &str) -> Option<Vec<String>> {
    let (wanted, found) = (words(page), words(output));
    let lacking: Vec<String> = wanted.difference(&found).cloned().collect();
    (lacking.len() * 2 > wanted.len()).then_some(lacking)
}

#[test]
fn figures_do_not_matter_and_words_do() {
    let page = "jit is faster\n  than without: base 12.3 tps";
    assert_eq!(differs(page, "jit is slower than without:\n  base  98.1 tps\n"), None);
    assert_eq!(
        differs(page, "base: nothing of this kind").expect("another output"),
        ["faster", "jit", "than", "tps", "without"]
    );
}
