//! How the PostgreSQL of each arm was built: once where the arms are alike, and what differs otherwise.

use std::collections::BTreeSet;

use results::ReportData;
use spec::{BuildRecord, MeasuredTarget, build_options};

use crate::numbers;

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

/// A line each: `configure: '--with-icu'`, or `configure (patched): --enable-cassert`.
pub(crate) fn lines(data: &ReportData) -> Vec<String> {
    let servers = servers(data);
    let facts = FACTS.iter().flat_map(|(name, of)| fact(name, &servers, *of));
    let words = WORDS.iter().flat_map(|(name, of)| words(name, &servers, *of));
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

fn words(name: &str, servers: &[Server<'_>], of: FactWords) -> Vec<String> {
    let each: Vec<Option<Vec<String>>> = servers.iter().map(|server| of(build(server.target)?)).collect();
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

/// First characters of a commit and of a hash: enough to find it.
const COMMIT: usize = 12;
const HASH: usize = 10;
/// Options that only one server has: of more, those that do not tell builds apart are counted.
const MOST_OWN: usize = 6;

/// For a mail: what all servers have in common in one paragraph, then a paragraph for each server that differs. Of
/// options only the few that tell builds apart are listed, and all that differ; the others are counted.
pub(crate) fn in_short(data: &ReportData) -> Vec<String> {
    short(&servers(data))
}

fn short(servers: &[Server<'_>]) -> Vec<String> {
    let mut alike: Vec<String> = Vec::new();
    let mut own: Vec<Vec<ShortFact>> = vec![Vec::new(); servers.len()];
    for of in SHORT_FACTS {
        let values: Vec<Option<ShortFact>> = servers.iter().map(|server| of(server.target)).collect();
        if values.iter().all(|value| *value == values[0]) {
            alike.extend(values.into_iter().next().flatten().map(|fact| fact.words()));
        } else {
            own.iter_mut().zip(values).for_each(|(own, value)| own.extend(value));
        }
    }
    for (name, of) in WORDS {
        let (common, each) = short_words(name, servers, of);
        alike.extend(common);
        own.iter_mut().zip(each).for_each(|(own, words)| own.extend(words.map(ShortFact::alone)));
    }
    for (own, server) in own.iter_mut().zip(servers) {
        let missing = "how it was built is not available";
        own.extend(build(server.target).is_none().then(|| ShortFact::alone(missing.to_owned())));
    }
    let all = match servers.len() {
        1 => "",
        2 => "both: ",
        _ => "all: ",
    };
    let alike = (!alike.is_empty()).then(|| format!("{all}{}", alike.join("; ")));
    alike.into_iter().chain(differing(servers, &own)).collect()
}

/// A paragraph for each server; one for all if they differ in a single fact.
fn differing(servers: &[Server<'_>], own: &[Vec<ShortFact>]) -> Vec<String> {
    let only = own.iter().map(|facts| if let [fact] = &facts[..] { Some(fact) } else { None });
    let only: Option<Vec<&ShortFact>> = only.collect();
    let of = |server: &Server<'_>| server.arms.join(", ");
    if let Some(only) =
        only.filter(|only| only.len() > 1 && only.iter().all(|fact| fact.name == only[0].name))
        && !only[0].name.is_empty()
    {
        let each = servers.iter().zip(&only).map(|(server, fact)| format!("{} {}", of(server), fact.value));
        return vec![format!("{}: {}", only[0].name, each.collect::<Vec<_>>().join("; "))];
    }
    let each = servers.iter().zip(own).filter(|(_, own)| !own.is_empty());
    let each = each.map(|(server, own)| {
        let facts = own.iter().map(ShortFact::words).collect::<Vec<_>>().join("; ");
        if servers.len() < 2 { facts } else { format!("{}: {facts}", of(server)) }
    });
    each.collect()
}

/// `commit a1a1a1a1a1a1`; the name may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ShortFact {
    name: &'static str,
    value: String,
}

impl ShortFact {
    fn alone(value: String) -> Self {
        Self { name: "", value }
    }

    fn words(&self) -> String {
        if self.name.is_empty() { self.value.clone() } else { format!("{} {}", self.name, self.value) }
    }
}

type ShortFactOf = fn(&MeasuredTarget) -> Option<ShortFact>;

const SHORT_FACTS: [ShortFactOf; 4] = [
    |target| {
        Some(ShortFact::alone(match build(target) {
            Some(_) => FACTS[0].1(target)?,
            None => format!("PostgreSQL {}", target.server_version),
        }))
    },
    // Its first part is its own version; the others are those of its libraries.
    |target| {
        let full = target.postgis_version.as_ref()?;
        let own = full.split('"').nth(1).unwrap_or(full);
        Some(ShortFact { name: "PostGIS", value: own.to_owned() })
    },
    |target| {
        let build = build(target)?;
        let cut = |text: &str, most: usize| text.chars().take(most).collect::<String>();
        let Some(commit) = &build.commit else {
            let tree = build.tree.as_ref()?;
            return Some(ShortFact { name: "files SHA-256", value: cut(tree, HASH) });
        };
        let (id, changed) = commit.split_once('-').map_or((commit.as_str(), ""), |(id, _)| (id, "-dirty"));
        Some(ShortFact { name: "commit", value: cut(id, COMMIT) + changed })
    },
    |target| {
        let words = if build(target)?.assertions { "assertions ON" } else { "no assertions" };
        Some(ShortFact::alone(words.to_owned()))
    },
];

/// Words that all servers have, and those that each has beyond them.
fn short_words(name: &str, servers: &[Server<'_>], of: FactWords) -> (Option<String>, Vec<Option<String>>) {
    let is_flags = name == WORDS[1].0;
    let each: Vec<Option<Vec<String>>> = servers.iter().map(|server| of(build(server.target)?)).collect();
    let known: Vec<&Vec<String>> = each.iter().flatten().collect();
    let Some(first) = known.first().filter(|_| known.len() == each.len()) else {
        return (None, vec![None; servers.len()]);
    };
    let is_common = |word: &&String| known.iter().all(|own| own.contains(word));
    let tells = |word: &&String| {
        if is_flags { build_options::is_flag_of_speed(word) } else { build_options::is_of_speed(word) }
    };
    let written = |words: &[&String]| {
        words.iter().map(|word| spec::shell::word(word).into_owned()).collect::<Vec<_>>().join(" ")
    };
    let common: Vec<&String> = first.iter().filter(is_common).collect();
    let shown: Vec<&String> = common.iter().copied().filter(tells).collect();
    let rest = common.len() - shown.len();
    let counted = match (rest, is_flags) {
        (0, _) | (_, true) => String::new(),
        (rest, false) if shown.is_empty() => {
            format!("with {}, none about speed", numbers::counted(rest, "option"))
        }
        (rest, false) => format!(" and {}", numbers::counted(rest, "other option")),
    };
    let alike = Some(written(&shown) + &counted).filter(|text| !text.is_empty());
    // The flags of the compiler that are in force are a separate fact.
    let is_own = |word: &&String| {
        !is_common(word)
            && if is_flags {
                tells(word)
            } else {
                build_options::affects_speed(word) && !word.contains("FLAGS=")
            }
    };
    let own = each.iter().flatten().map(|words| {
        let words: Vec<&String> = words.iter().filter(is_own).collect();
        let few = words.len() <= MOST_OWN;
        let shown: Vec<&String> = words.iter().copied().filter(|word| few || tells(word)).collect();
        let rest = words.len() - shown.len();
        let rest = if rest > 0 { format!(" and {}", numbers::counted(rest, "other")) } else { String::new() };
        (!words.is_empty()).then(|| format!("{name} also {}{rest}", written(&shown)))
    });
    (alike.map(|text| format!("{name} {text}")), own.collect())
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
        facts.chain(WORDS.iter().flat_map(|(name, of)| words(name, &servers, *of))).collect()
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
    fn a_mail_tells_what_is_alike_once() {
        let master = built(
            "'--with-icu' '--with-perl' '--prefix=/a' 'CFLAGS=-O2 -g'",
            "-Wall -fwrapv -O2 -g",
            &"a".repeat(40),
        );
        let patched = built(
            "'--with-icu' '--with-perl' '--prefix=/b' --enable-cassert",
            "-Wall -fwrapv -O3 -g",
            "bbbb-dirty",
        );
        let shown = |targets: [&MeasuredTarget; 2]| {
            let arms = ["master", "patched"];
            short(
                &arms
                    .iter()
                    .zip(targets)
                    .map(|(arm, target)| Server { arms: vec![*arm], target })
                    .collect::<Vec<_>>(),
            )
        };
        let wanted = [
            "both: PostgreSQL 19devel on x86_64-pc-linux-gnu; no assertions; configure --with-icu and 1 other option",
            "master: commit aaaaaaaaaaaa; CFLAGS also -O2",
            "patched: commit bbbb-dirty; configure also --enable-cassert; CFLAGS also -O3",
        ];
        assert_eq!(shown([&master, &patched]), wanted);
        assert_eq!(shown([&master, &master]).len(), 1);
        // A single difference is one line.
        let other =
            built("'--with-icu' '--with-perl' '--prefix=/a' 'CFLAGS=-O2 -g'", "-Wall -fwrapv -O2 -g", "bbbb");
        let found = shown([&master, &other]);
        assert_eq!(found.last().unwrap(), "commit: master aaaaaaaaaaaa; patched bbbb");
        let unknown = target(None);
        let found = shown([&master, &unknown]);
        assert!(
            found.last().unwrap().ends_with("patched: PostgreSQL 19devel; how it was built is not available"),
            "{found:?}"
        );
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
