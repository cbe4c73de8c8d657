//! Inside each crate, modules do not depend on each other in a circle, except parent and child: so each can
//! be read without the others.
//!
//! The sources are parsed as text: `use` with groups, and paths through `crate`, `super`, `self`, a module or
//! an imported name. Re-exports (`pub use`, also with `*`, and imports by child modules) are followed to the
//! definition. Not covered: methods (a type with `impl`s in several files), macros, modules inside a file,
//! and `#[cfg(test)]` code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A module's path inside its crate; empty for the crate itself.
type Module = Vec<String>;

#[derive(Debug, Default)]
struct Source {
    bound: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    /// Every path in the source, including those in `use`.
    paths: BTreeSet<Vec<String>>,
    items: BTreeSet<String>,
}

#[derive(Debug, Default)]
struct Crate(BTreeMap<Module, Source>);

fn words(path: &str) -> Vec<String> {
    path.split("::").map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The text without comments and test code, and the modules that only tests have.
fn product(text: &str) -> (String, Vec<String>) {
    let mut kept = String::new();
    let mut tests = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() != "#[cfg(test)]" {
            kept += line.split("//").next().unwrap_or_default();
            kept.push('\n');
            continue;
        }
        // The item after the attribute: to the end of its line, or of its block.
        let indent = line.len() - line.trim_start().len();
        for line in lines.by_ref() {
            if let Some(name) = line.trim().split("mod ").nth(1).and_then(|name| name.strip_suffix(';')) {
                tests.push(name.to_owned());
            }
            let ends = line.ends_with(';') || line.ends_with('}');
            if ends && line.len() - line.trim_start().len() == indent {
                break;
            }
        }
    }
    (kept, tests)
}

impl Source {
    fn read(text: &str) -> Self {
        let mut source = Self::default();
        let mut rest = String::new();
        let mut statements = text.split_inclusive(';').peekable();
        for statement in &mut statements {
            match use_in(statement) {
                Some((before, tree)) => {
                    rest += before;
                    source.tree(&[], tree);
                }
                None => rest += statement,
            }
        }
        for path in paths_in(&rest) {
            source.paths.insert(path);
        }
        let tokens: Vec<&str> = rest.split(|c: char| !is_name(c)).filter(|word| !word.is_empty()).collect();
        for pair in tokens.windows(2) {
            if ["struct", "enum", "trait", "type", "fn", "const", "static", "union", "macro_rules"]
                .contains(&pair[0])
            {
                source.items.insert(pair[1].to_owned());
            }
        }
        source
    }

    fn tree(&mut self, before: &[String], tree: &str) {
        let tree = tree.trim();
        if tree.starts_with("::") {
            // A path into another crate.
            return;
        }
        if let Some((head, group)) = tree.split_once('{') {
            let path = [before, &words(head)].concat();
            let group = group.rsplit_once('}').map_or(group, |(inside, _)| inside);
            branches(group).into_iter().for_each(|branch| self.tree(&path, branch));
            return;
        }
        let (path, name) =
            tree.split_once(" as ").map_or((tree, None), |(path, name)| (path, Some(name.trim())));
        let mut path = [before, &words(path)].concat();
        match path.last().map(String::as_str) {
            Some("*") => {
                path.pop();
                self.globs.push(path.clone());
            }
            Some("self") if path.len() > 1 => drop(path.pop()),
            _ => {}
        }
        if let Some(name) = name.map(str::to_owned).or_else(|| path.last().cloned()) {
            self.bound.insert(name, path.clone());
        }
        self.paths.insert(path);
    }
}

/// The text before a `use` at the end of a statement, and its tree.
fn use_in(statement: &str) -> Option<(&str, &str)> {
    let start = statement.rfind("use ").filter(|&at| {
        let line = statement[..at].rsplit('\n').next().unwrap_or_default().trim();
        line.is_empty() || line.starts_with("pub")
    })?;
    Some((&statement[..start], statement[start + 4..].trim_end_matches(';')))
}

/// Splits a group at its top-level commas.
fn branches(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&group[start..]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// Every `a::b::c` of a text.
fn paths_in(text: &str) -> impl Iterator<Item = Vec<String>> {
    let pieces = text.split(|c: char| !is_name(c) && c != ':');
    pieces.filter(|piece| piece.contains("::") && !piece.starts_with("::")).map(words)
}

impl Crate {
    fn read(folder: &Path) -> Self {
        let (mut modules, mut tests) = (Self::default(), Vec::new());
        modules.collect(folder, &mut Vec::new(), &mut tests);
        modules.without(&tests)
    }

    fn without(mut self, tests: &[Module]) -> Self {
        self.0.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
        self
    }

    fn collect(&mut self, folder: &Path, at: &mut Module, tests: &mut Vec<Module>) {
        for entry in std::fs::read_dir(folder).expect("a folder of sources").flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            let Some(name) = name.strip_suffix(".rs") else {
                if path.is_dir() {
                    at.push(name);
                    self.collect(&path, at, tests);
                    at.pop();
                }
                continue;
            };
            let mut module = at.clone();
            if !["mod", "lib", "main"].contains(&name) {
                module.push(name.to_owned());
            }
            self.add(module, &std::fs::read_to_string(&path).expect("a source"), tests);
        }
    }

    fn add(&mut self, module: Module, text: &str, tests: &mut Vec<Module>) {
        let (text, only_tests) = product(text);
        tests.extend(only_tests.into_iter().map(|test| [module.clone(), vec![test]].concat()));
        self.0.insert(module, Source::read(&text));
    }

    /// The module that defines the target of a path; `None` if it is not in this crate.
    fn resolve(&self, from: &[String], path: &[String], depth: usize) -> Option<Module> {
        let (first, rest) = path.split_first()?;
        let source = self.0.get(from)?;
        let child = || [from, std::slice::from_ref(first)].concat();
        match first.as_str() {
            "crate" => self.walk(Vec::new(), rest, depth),
            "self" => self.walk(from.to_vec(), rest, depth),
            "super" => self.walk_up(from, path, depth),
            _ if self.0.contains_key(&child()) => self.walk(child(), rest, depth),
            // A name bound to itself is a crate.
            _ => {
                let bound = source.bound.get(first).filter(|bound| bound[0] != *first && depth > 0)?;
                self.resolve(from, &[bound.as_slice(), rest].concat(), depth - 1)
            }
        }
    }

    fn walk_up(&self, from: &[String], path: &[String], depth: usize) -> Option<Module> {
        let ups = path.iter().take_while(|word| *word == "super").count();
        self.walk(from.get(..from.len().checked_sub(ups)?)?.to_vec(), &path[ups..], depth)
    }

    fn walk(&self, mut at: Module, path: &[String], depth: usize) -> Option<Module> {
        for (place, word) in path.iter().enumerate() {
            let child = [at.as_slice(), std::slice::from_ref(word)].concat();
            if self.0.contains_key(&child) {
                at = child;
                continue;
            }
            let source = self.0.get(&at)?;
            if source.items.contains(word) || depth == 0 {
                break;
            }
            let rest = &path[place..];
            if let Some(bound) = source.bound.get(word) {
                let path = [bound.as_slice(), &rest[1..]].concat();
                return self.resolve(&at, &path, depth - 1).or(Some(at));
            }
            let elsewhere = source.globs.iter().find_map(|glob| {
                let module = self.resolve(&at, glob, depth - 1)?;
                let defined = self.0.get(&module).is_some_and(|source| source.items.contains(word));
                defined.then_some(module)
            });
            return elsewhere.or(Some(at));
        }
        Some(at)
    }

    /// The dependencies of each module, without parents and children.
    fn graph(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let known = |from: &Module, source: &Source| -> BTreeSet<Module> {
            let targets = source.paths.iter().filter_map(|path| self.resolve(from, path, 8));
            targets.filter(|to| !to.starts_with(from) && !from.starts_with(to)).collect()
        };
        self.0.iter().map(|(from, source)| (from, known(from, source))).collect()
    }

    fn circles(&self) -> BTreeSet<BTreeSet<Module>> {
        let graph = self.graph();
        let reached = |from: &Module| {
            let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
            while let Some(module) = next.pop() {
                for to in graph.get(module).into_iter().flatten() {
                    if seen.insert(to.clone()) {
                        next.push(to);
                    }
                }
            }
            seen
        };
        let reach: BTreeMap<&Module, BTreeSet<Module>> =
            self.0.keys().map(|from| (from, reached(from))).collect();
        let circle = |module: &Module| -> BTreeSet<Module> {
            let others = reach[module].iter();
            others
                .filter(|other| reach.get(other).is_some_and(|back| back.contains(module)))
                .cloned()
                .collect()
        };
        self.0.keys().map(circle).filter(|circle| !circle.is_empty()).collect()
    }
}

fn crates() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = std::fs::read_dir(root.join("crates")).expect("crates").flatten();
    let mut crates: Vec<_> = folders
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path().join("src")))
        .collect();
    crates.push(("benches".to_owned(), root.join("benches/src")));
    crates.sort();
    crates
}

fn shown(name: &str, circle: &BTreeSet<Module>) -> String {
    let modules: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
    format!("{name}: {}", modules.join(", "))
}

#[test]
fn modules_form_no_circle() {
    let found: Vec<String> = crates()
        .iter()
        .flat_map(|(name, folder)| {
            let circles = Crate::read(folder).circles();
            circles.iter().map(|circle| shown(name, circle)).collect::<Vec<_>>()
        })
        .collect();
    assert!(found.is_empty(), "modules know each other in a circle:\n{found:#?}");
}

fn circles_of(sources: &[(&str, &str)]) -> Vec<String> {
    let (mut modules, mut tests) = (Crate::default(), Vec::new());
    sources.iter().for_each(|(module, text)| modules.add(words(module), text, &mut tests));
    modules.without(&tests).circles().iter().map(|circle| shown("x", circle)).collect()
}

#[test]
fn circles_are_seen_however_they_are_written() {
    let a_uses_b = ("a", "use crate::b::B;\npub struct A;");
    let seen: [(&str, &[(&str, &str)]); 9] = [
        ("crate", &[a_uses_b, ("b", "pub struct B(crate::a::A);")]),
        ("super", &[a_uses_b, ("b", "use super::a::{self, A as Other};\npub struct B;")]),
        ("a group", &[a_uses_b, ("b", "use crate::{c, a::{A, D}};\npub struct B;"), ("c", "")]),
        (
            "a handed on name",
            &[("", "mod a;\npub use a::A;"), a_uses_b, ("b", "use crate::A;\npub struct B;")],
        ),
        ("a name of the parent", &[("", "use a::A;"), a_uses_b, ("b", "use super::A;\npub struct B;")]),
        ("all names", &[("", "pub use a::*;"), a_uses_b, ("b", "pub struct B(crate::A);")]),
        (
            "an imported module",
            &[
                ("a", "use crate::c;\nfn f() { c::B::new(); }"),
                ("b", "use crate::a;\npub struct B;"),
                ("c", "pub use crate::b::B;"),
            ],
        ),
        ("in a function", &[a_uses_b, ("b", "pub struct B;\nfn f() {\n    use crate::a::A;\n}")]),
        (
            "by way of a third",
            &[
                ("a", "use crate::b::B;\npub struct A;"),
                ("b", "use crate::c::C;\npub struct B;"),
                ("c", "use crate::a::A;\npub struct C;"),
            ],
        ),
    ];
    for (how, sources) in seen {
        assert_eq!(circles_of(sources).len(), 1, "{how}");
    }
    let none: [(&str, &[(&str, &str)]); 6] = [
        ("one way", &[a_uses_b, ("b", "pub struct B;")]),
        (
            "parent and child",
            &[("a", "mod c;\nuse c::C;\npub struct A;"), ("a::c", "use super::A;\npub struct C;")],
        ),
        ("a comment", &[a_uses_b, ("b", "/// See [`crate::a::A`].\npub struct B;")]),
        ("a test", &[a_uses_b, ("b", "pub struct B;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}")]),
        (
            "a test's file",
            &[a_uses_b, ("b", "pub struct B;\n#[cfg(test)]\nmod tests;"), ("b::tests", "use crate::a::A;")],
        ),
        ("another crate", &[a_uses_b, ("b", "use ::a::A;\nuse a::A as Other;\npub struct B;")]),
    ];
    for (how, sources) in none {
        assert_eq!(circles_of(sources), [""; 0], "{how}");
    }
}
