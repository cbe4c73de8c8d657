//! Links between pages, and the book's table of contents.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::{read, root};

/// Markdown files of a folder and its subfolders.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|end| end == "md") {
            found.push(path);
        }
    }
}

/// Lines of a page outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        !fenced && !is_fence
    })
}

/// GitHub's anchors of a page: headings in lower case with hyphens for spaces and without punctuation; the
/// second of a name ends with `-1`.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen = BTreeMap::new();
    let mut found = BTreeSet::new();
    for line in prose(text) {
        let Some(heading) = line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'))
        else {
            continue;
        };
        let kept = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
        let slug: String = heading.trim().to_lowercase().chars().filter(kept).collect();
        let slug = slug.replace(' ', "-");
        let times = seen.entry(slug.clone()).or_insert(0);
        found.insert(if *times == 0 { slug } else { format!("{slug}-{times}") });
        *times += 1;
    }
    found
}

/// Targets of a page's links, without external ones.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let starts = prose(text).flat_map(|line| line.split("](").skip(1));
    let links = starts.map(|rest| rest.split([')', ' ']).next().unwrap_or_default());
    links.filter(|link| !link.contains("://") && !link.starts_with("mailto:"))
}

/// Pages had links to renamed headings.
#[test]
fn documents_link_to_what_is_there() {
    let sample = "# One `x_y`, two!\n[a](b.md#c)\n```\n# no\n```\n## Same\n## Same";
    assert_eq!(anchors(sample), ["one-x_y-two", "same", "same-1"].map(str::to_owned).into());
    assert_eq!(links(sample).collect::<Vec<_>>(), ["b.md#c"]);
    let mut all = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|page| root().join(page)).to_vec();
    pages(&root().join("docs"), &mut all);
    assert!(all.len() > 40, "{} pages", all.len());
    let text = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let mut dangling = Vec::new();
    for page in &all {
        for link in links(&text(page)) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let folder = page.parent().expect("a folder");
            let target = if file.is_empty() { page.clone() } else { folder.join(file) };
            let is_there = target.exists() && (anchor.is_empty() || anchors(&text(&target)).contains(anchor));
            if !is_there {
                dangling.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(dangling.is_empty(), "links to nothing:\n{}", dangling.join("\n"));
}

/// Pages of the book, from its folder on, without the table of contents.
fn book() -> BTreeSet<String> {
    let docs = root().join("docs");
    let mut all = Vec::new();
    pages(&docs, &mut all);
    let names = all.iter().map(|page| page.strip_prefix(&docs).expect("below docs").display().to_string());
    names.filter(|name| name != "SUMMARY.md").collect()
}

/// A page that is not in the table of contents is not in the book.
#[test]
fn every_page_is_in_the_book_once() {
    let summary = read("docs/SUMMARY.md");
    let listed: Vec<&str> = links(&summary).collect();
    let is_decision = |page: &&String| page.starts_with("decisions/") && *page != "decisions/README.md";
    let pages = book();
    for page in &pages {
        let times = listed.iter().filter(|link| *link == page).count();
        assert_eq!(times, 1, "docs/SUMMARY.md lists {page} {times} times");
    }
    let index = read("docs/decisions/README.md");
    let decisions: BTreeSet<&str> = links(&index).collect();
    for page in pages.iter().filter(is_decision) {
        let name = page.trim_start_matches("decisions/");
        assert!(decisions.contains(name), "docs/decisions/README.md lacks {name}");
    }
}

/// Pages linked to files that the site does not have.
#[test]
fn pages_of_the_book_link_to_the_book() {
    let docs = root().join("docs");
    let mut all = Vec::new();
    pages(&docs, &mut all);
    let mut outside = Vec::new();
    for page in &all {
        let text = std::fs::read_to_string(page).unwrap_or_default();
        for link in links(&text) {
            let file = link.split('#').next().unwrap_or_default();
            let target = page.parent().expect("a folder").join(file).canonicalize();
            if target.is_ok_and(|target| !target.starts_with(&docs)) {
                outside.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(outside.is_empty(), "links out of docs/; write the path as code:\n{}", outside.join("\n"));
}
