//! How the PostgreSQL of each arm was built: once where the arms are alike, and what differs otherwise.

use std::collections::BTreeSet;

use results::ReportData;
use spec::{BuildRecord, MeasuredTarget, build_options};

/// The server of an arm; all arms without a separate server share one.
struct Server<'a> {
    arms: Vec<&'a str>,
    target: &'a MeasuredTarget,
}

type Fact = fn(&MeasuredTarget) -> Option<String>;
type FactWords = fn(&BuildRecord) -> Option<Vec<String>>;

/// Facts that are compared as a whole, in the order of a mail.
const FACTS: [(&str, Fact); 6] = [
    ("version", |target| {
        let version = target.build.as_ref().map(|build| build.version.clone());
        version.filter(|version| !version.is_empty()).or_else(|| Some(target.server_version.clone()))
    }),
    ("PostGIS", |target| target.postgis_version.clone()),
    ("commit", |target| build(target)?.commit.clone()),
    ("SHA-256 of all its files", |target| build(target)?.tree.clone()),
    ("assertions", |target| Some(if build(target)?.assertions { "on" } else { "off" }.to_owned())),
    ("CC", |target| build(target)?.cc.clone()),
];

/// Facts that are lists of words: only the words that differ are printed for each arm.
const WORDS: [(&str, FactWords); 2] = [
    ("configure", |build| build.configure.as_deref().map(build_options::words)),
    ("CFLAGS", |build| build.cflags.as_deref().map(build_options::words)),
];

fn build(target: &MeasuredTarget) -> Option<&BuildRecord> {
    target.build.as_ref()
}

/// Which options and flags are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    All,
    /// Without folders, tools and warnings, which do not change how fast a server is.
    OfSpeed,
}

impl Detail {
    fn has(self, word: &str) -> bool {
        self == Self::All || build_options::affects_speed(word)
    }
}

/// A line each: `configure: '--with-icu'`, or `configure (patched): --enable-cassert`.
pub(crate) fn lines(data: &ReportData, detail: Detail) -> Vec<String> {
    let servers = servers(data);
    let facts = FACTS.iter().flat_map(|(name, of)| fact(name, &servers, *of));
    let words = WORDS.iter().flat_map(|(name, of)| words(name, &servers, *of, detail));
    let missing = servers.iter().filter(|server| server.target.build.is_none()).map(|server| {
        let what = "how it was built is not available: the results were stored without it";
        format!("{}: {what}", called(&server.arms, "the server"))
    });
    facts.chain(words).chain(missing).collect()
}

/// By arm in file order; arms with one target are one server.
fn servers(data: &ReportData) -> Vec<Server<'_>> {
    let mut servers: Vec<Server<'_>> = Vec::new();
    for arm in &data.experiment.arms {
        let target = arm.target.as_ref().unwrap_or(&data.target);
        match servers.iter_mut().find(|known| known.target == target) {
            Some(known) => known.arms.push(&arm.name),
            None => servers.push(Server { arms: vec![&arm.name], target }),
        }
    }
    match servers.is_empty() {
        true => vec![Server { arms: Vec::new(), target: &data.target }],
        false => servers,
    }
}

fn called(arms: &[&str], otherwise: &str) -> String {
    if arms.is_empty() { otherwise.to_owned() } else { arms.join(", ") }
}

fn fact(name: &str, servers: &[Server<'_>], of: Fact) -> Vec<String> {
    let mut values: Vec<(Option<String>, Vec<&str>)> = Vec::new();
    for server in servers {
        let value = of(server.target).filter(|value| !value.is_empty());
        match values.iter_mut().find(|(known, _)| *known == value) {
            Some((_, arms)) => arms.extend(&server.arms),
            None => values.push((value, server.arms.clone())),
        }
    }
    if let [(value, _)] = &values[..] {
        return value.iter().map(|value| format!("{name}: {value}")).collect();
    }
    let line = |(value, arms): &(Option<String>, Vec<&str>)| {
        format!("{name} ({}): {}", arms.join(", "), value.as_deref().unwrap_or("not known"))
    };
    values.iter().map(line).collect()
}

fn words(name: &str, servers: &[Server<'_>], of: FactWords, detail: Detail) -> Vec<String> {
    let listed = |words: Vec<String>| words.into_iter().filter(|word| detail.has(word)).collect();
    let each: Vec<Option<Vec<String>>> =
        servers.iter().map(|server| of(server.target.build.as_ref()?).map(listed)).collect();
    let known: Vec<&Vec<String>> = each.iter().flatten().collect();
    let Some(first) = known.first() else { return Vec::new() };
    let is_in_all = |word: &&String| each.iter().flatten().all(|own| own.contains(word));
    let common: Vec<&String> = match known.len() == each.len() {
        true => first.iter().filter(is_in_all).collect(),
        false => Vec::new(),
    };
    let is_common: BTreeSet<&String> = common.iter().copied().collect();
    let written = |words: &[&String]| {
        let words: Vec<_> = words.iter().map(|word| spec::shell::word(word)).collect();
        if words.is_empty() { "none".to_owned() } else { words.join(" ") }
    };
    let differs = servers.len() > 1 && each.iter().any(|own| own.as_ref() != Some(first));
    if !differs {
        return vec![format!("{name}: {}", written(&first.iter().collect::<Vec<_>>()))];
    }
    let alike = (!common.is_empty()).then(|| format!("{name}, alike: {}", written(&common)));
    let own = servers.iter().zip(&each).map(|(server, own)| {
        let said = match own {
            Some(own) => written(&own.iter().filter(|word| !is_common.contains(word)).collect::<Vec<_>>()),
            None => "not known".to_owned(),
        };
        let more = if common.is_empty() { "" } else { ", also" };
        format!("{name} ({}{more}): {said}", server.arms.join(", "))
    });
    alike.into_iter().chain(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(build: Option<BuildRecord>) -> MeasuredTarget {
        MeasuredTarget {
            kind: "managed".into(),
            dsn_redacted: String::new(),
            server_version: "19devel".into(),
            postgis_version: None,
            versions: Default::default(),
            build,
        }
    }

    fn built(configure: &str, cflags: &str, commit: &str) -> MeasuredTarget {
        target(Some(BuildRecord {
            version: "PostgreSQL 19devel on x86_64-pc-linux-gnu".into(),
            configure: Some(configure.into()),
            cc: Some("gcc".into()),
            cflags: Some(cflags.into()),
            commit: Some(commit.into()),
            ..BuildRecord::default()
        }))
    }

    fn told(targets: [&MeasuredTarget; 2]) -> Vec<String> {
        let arms = ["master", "patched"];
        let servers: Vec<Server<'_>> =
            arms.iter().zip(targets).map(|(arm, target)| Server { arms: vec![*arm], target }).collect();
        let facts = FACTS.iter().flat_map(|(name, of)| fact(name, &servers, *of));
        facts.chain(WORDS.iter().flat_map(|(name, of)| words(name, &servers, *of, Detail::All))).collect()
    }

    #[test]
    fn what_is_alike_is_printed_once_and_what_differs_by_arm() {
        let master = built("'--with-icu' '--prefix=/a' 'CFLAGS=-O2 -g'", "-O2 -g", "aaaa");
        let patched = built("'--with-icu' '--prefix=/b' 'CFLAGS=-O2 -g'", "-O2 -g", "bbbb-dirty");
        let wanted = [
            "version: PostgreSQL 19devel on x86_64-pc-linux-gnu",
            "commit (master): aaaa",
            "commit (patched): bbbb-dirty",
            "assertions: off",
            "CC: gcc",
            "configure, alike: --with-icu 'CFLAGS=-O2 -g'",
            "configure (master, also): --prefix=/a",
            "configure (patched, also): --prefix=/b",
            "CFLAGS: -O2 -g",
        ];
        assert_eq!(told([&master, &patched]), wanted);
    }

    #[test]
    fn folders_tools_and_warnings_are_left_out_of_a_mail() {
        for (word, is_kept) in [
            ("--with-icu", true),
            ("CFLAGS=-O2 -g", true),
            ("-O2", true),
            ("-Wl,-z,now", true),
            ("-Wall", false),
            ("--prefix=/usr", false),
            ("--mandir=${prefix}/share/man", false),
            ("TAR=/bin/tar", false),
        ] {
            assert_eq!(Detail::OfSpeed.has(word), is_kept, "{word}");
            assert!(Detail::All.has(word));
        }
    }

    #[test]
    fn a_build_that_one_arm_does_not_tell_is_not_known() {
        let wanted = [
            "version (master): PostgreSQL 19devel on x86_64-pc-linux-gnu",
            "version (patched): 19devel",
            "commit (master): aaaa",
            "commit (patched): not known",
            "assertions (master): off",
            "assertions (patched): not known",
            "CC (master): gcc",
            "CC (patched): not known",
            "configure (master): --with-icu",
            "configure (patched): not known",
        ];
        let found = told([&built("--with-icu", "-O2", "aaaa"), &target(None)]);
        assert_eq!(found[..wanted.len()], wanted);
    }
}
