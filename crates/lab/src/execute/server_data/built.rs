//! How two builds of PostgreSQL differ besides their source: that would be taken for an effect of a patch.

use std::collections::BTreeSet;

use spec::{BuildRecord, build_options};

use super::Names;

/// Flags and options that are named.
const NAMED: usize = 5;

/// What differs, in words; `None` if nothing does, or nothing is known.
pub(in crate::execute) fn build_words(
    base: &BuildRecord,
    other: &BuildRecord,
    names: Names<'_>,
) -> Option<String> {
    let Names { base: of_base, other: of_other } = names;
    let only = |has_base: bool, has_other: bool, words: &str, not: &str| {
        let (with, without) = if has_base { (of_base, of_other) } else { (of_other, of_base) };
        (has_base != has_other).then(|| format!("{with} {words}, and {without} {not}"))
    };
    let flags = |one: &Option<String>, other: &Option<String>| {
        let words = |line: &Option<String>| -> Option<BTreeSet<String>> {
            let words = build_options::words(line.as_deref()?).into_iter();
            Some(words.filter(|word| build_options::affects_speed(word)).collect())
        };
        let (one, other) = (words(one)?, words(other)?);
        let [only_one, only_other] = [one.difference(&other), other.difference(&one)].map(few);
        let told = [(of_base, only_one), (of_other, only_other)];
        let told: Vec<String> = told
            .into_iter()
            .filter(|(_, only)| !only.is_empty())
            .map(|(name, only)| format!("{name} {only}"))
            .collect();
        (!told.is_empty()).then(|| told.join(", "))
    };
    let found = [
        only(
            base.assertions,
            other.assertions,
            "has assertions, which make it several times slower",
            "has none",
        ),
        only(is_packed(base), is_packed(other), "is a distribution's package", "is not"),
        compilers(base, other).map(|compilers| format!("other compilers: {compilers}")),
        flags(&base.cflags, &other.cflags).map(|flags| format!("other compiler flags: {flags}")),
        flags(&base.configure, &other.configure).map(|options| format!("other configure options: {options}")),
    ];
    let found: Vec<String> = found.into_iter().flatten().collect();
    (!found.is_empty()).then(|| found.join("; "))
}

/// The first words, and how many others there are.
fn few<'w>(words: impl Iterator<Item = &'w String>) -> String {
    let words: Vec<&str> = words.map(String::as_str).collect();
    let more = words.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", words[..words.len().min(NAMED)].join(" "))
}

/// `PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on …`.
fn is_packed(build: &BuildRecord) -> bool {
    build.version.split(" on ").next().is_some_and(|version| version.contains('('))
}

/// The compilers in `version()`: `compiled by gcc (Debian 12.2.0-14) 12.2.0, 64-bit`.
fn compilers(base: &BuildRecord, other: &BuildRecord) -> Option<String> {
    let compiler = |build: &BuildRecord| {
        let (_, by) = build.version.split_once("compiled by ")?;
        Some(by.rsplit_once(',').map_or(by, |(by, _)| by).trim().to_owned())
    };
    let (base, other) = (compiler(base)?, compiler(other)?);
    (base != other).then(|| format!("{base} and {other}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: Names<'_> = Names { base: "master", other: "v3-0002" };

    fn build(version: &str, cflags: &str, configure: &str) -> BuildRecord {
        BuildRecord {
            version: format!("PostgreSQL {version}"),
            cflags: Some(cflags.to_owned()),
            configure: Some(configure.to_owned()),
            ..BuildRecord::default()
        }
    }

    #[test]
    fn what_differs_besides_the_source_is_told() {
        let of_gcc = "19devel on x86_64, compiled by gcc (Debian 12.2.0-14) 12.2.0, 64-bit";
        let base = build(of_gcc, "-O2 -g", "'--prefix=/a b/inst' '--with-icu'");
        let same = build(of_gcc, "-g -O2", "'--with-icu' '--prefix=/other'");
        assert_eq!(build_words(&base, &same, NAMES), None, "only places and order differ");
        let slow =
            BuildRecord { assertions: true, ..build(of_gcc, "-O0 -g", "'--enable-cassert' '--with-icu'") };
        assert_eq!(
            build_words(&base, &slow, NAMES).unwrap(),
            "v3-0002 has assertions, which make it several times slower, and master has none; \
             other compiler flags: master -O2, v3-0002 -O0; other configure options: v3-0002 --enable-cassert"
        );
        let packed = build(
            "18.1 (Debian 18.1-1) on x86_64, compiled by clang version 19, 64-bit",
            "-O2 -g",
            "'--with-icu'",
        );
        assert_eq!(
            build_words(&packed, &base, NAMES).unwrap(),
            "master is a distribution's package, and v3-0002 is not; other compilers: clang version 19 and gcc (Debian 12.2.0-14) 12.2.0"
        );
        assert_eq!(
            build_words(&BuildRecord::default(), &slow, NAMES).map(|_| ()),
            Some(()),
            "assertions are always known"
        );
    }
}
