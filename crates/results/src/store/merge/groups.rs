//! Which experiments of the merged files are one: the same experiment in several files, or the parts of a divided one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use spec::{Class, Error, ExperimentPart};

/// An experiment in one of the files.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// Index of the file.
    pub(super) source: usize,
    pub(super) file: PathBuf,
    /// Its number there.
    pub(super) id: i64,
    pub(super) uuid: String,
    pub(super) hash: String,
    pub(super) name: String,
    pub(super) seed: String,
    /// Of the pgdyno that measured it; empty if unknown.
    pub(super) version: String,
    pub(super) created_at: String,
    pub(super) rounds: u32,
    /// How far it went: invocations and runs.
    pub(super) progress: (i64, i64),
    /// Each with the identity of the experiment in the part's own file.
    pub(super) parts: Vec<(ExperimentPart, String)>,
}

/// One experiment of the merged file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    /// Indexes of the experiments that it is made of; the record of the first is kept.
    pub(super) members: Vec<usize>,
    /// Numbers of the parts that no file has.
    pub(super) missing: Vec<u32>,
    /// Number of parts; 0 if it was not divided.
    pub(super) of: u32,
    /// If parts are missing: the newest later group of the same plan that lacks none.
    pub(super) whole_later: Option<usize>,
}

/// The experiments of the merged file, oldest first.
///
/// The parts of one experiment have the same plan. Whole experiments with the same plan are several measurements, so
/// parts are joined only until the experiment is whole.
///
/// # Errors
/// When a part was measured twice, or parts do not belong together.
pub(super) fn groups(known: &[Known]) -> Result<Vec<Group>, Error> {
    let mut clusters = same(known);
    for cluster in &clusters {
        refuse_twice(known, cluster)?;
    }
    // Measuring again (`--again`) draws another seed, the same one in each part.
    let mut open: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    clusters.retain(|cluster| {
        let is_open = !missing(known, cluster).0.is_empty();
        if is_open {
            let Known { hash, seed, .. } = &known[cluster[0]];
            open.entry((hash, seed)).or_default().extend(cluster);
        }
        !is_open
    });
    for members in open.into_values() {
        refuse_strangers(known, &members)?;
        refuse_twice(known, &members)?;
        clusters.push(members);
    }
    refuse_other_plans(known, &clusters)?;
    let mut groups: Vec<Group> = clusters
        .into_iter()
        .map(|mut members| {
            // The record of the lowest part, and of an experiment in several states that of the latest.
            members.sort_by_key(|member| {
                let Known { parts, progress: (invocations, runs), source, id, .. } = &known[*member];
                let lowest = parts.iter().map(|(part, _)| part.number).min();
                (lowest, -invocations, -runs, *source, *id)
            });
            let (missing, of) = missing(known, &members);
            Group { members, missing, of, whole_later: None }
        })
        .collect();
    groups.sort_by_key(|group| {
        let Known { created_at, source, id, .. } = &known[group.members[0]];
        (created_at.clone(), *source, *id)
    });
    let mut whole: HashMap<&str, usize> = HashMap::new();
    for (at, group) in groups.iter_mut().enumerate().rev() {
        let hash = known[group.members[0]].hash.as_str();
        match group.missing.is_empty() {
            true => _ = whole.entry(hash).or_insert(at),
            false => group.whole_later = whole.get(hash).copied(),
        }
    }
    Ok(groups)
}

/// Experiments that have an identity in common, of themselves or of a part.
fn same(known: &[Known]) -> Vec<Vec<usize>> {
    let mut clusters: Vec<Vec<usize>> = Vec::new();
    let mut of: HashMap<&str, usize> = HashMap::new();
    for (index, own) in known.iter().enumerate() {
        let identities: BTreeSet<&str> =
            own.parts.iter().map(|(_, uuid)| uuid.as_str()).chain([own.uuid.as_str()]).collect();
        let joined: BTreeSet<usize> = identities.iter().filter_map(|uuid| of.get(uuid).copied()).collect();
        let into = joined.first().copied().unwrap_or_else(|| {
            clusters.push(Vec::new());
            clusters.len() - 1
        });
        for other in joined.into_iter().skip(1) {
            let members = std::mem::take(&mut clusters[other]);
            clusters[into].extend(members);
            of.values_mut().filter(|cluster| **cluster == other).for_each(|cluster| *cluster = into);
        }
        clusters[into].push(index);
        of.extend(identities.into_iter().map(|uuid| (uuid, into)));
    }
    clusters.retain(|cluster| !cluster.is_empty());
    clusters
}

/// Numbers of the parts that none of these has, and the number of parts.
fn missing(known: &[Known], members: &[usize]) -> (Vec<u32>, u32) {
    let parts: BTreeSet<ExperimentPart> = parts(known, members).map(|(part, ..)| part).collect();
    let of = parts.iter().map(|part| part.of).max().unwrap_or(0);
    let has: BTreeSet<u32> = parts.iter().map(|part| part.number).collect();
    ((1..=of).filter(|number| !has.contains(number)).collect(), of)
}

fn parts<'k>(
    known: &'k [Known],
    members: &'k [usize],
) -> impl Iterator<Item = (ExperimentPart, &'k str, &'k Known)> {
    let own = members.iter().map(|member| &known[*member]);
    own.flat_map(|own| own.parts.iter().map(move |(part, uuid)| (*part, uuid.as_str(), own)))
}

fn refused(what: String, hint: &str) -> Error {
    Error::new(Class::BadInput, what).with_hint(hint)
}

/// A part that was measured twice is in none of the results for certain.
fn refuse_twice(known: &[Known], members: &[usize]) -> Result<(), Error> {
    let mut first: BTreeMap<u32, (&str, &Known)> = BTreeMap::new();
    for (part, uuid, own) in parts(known, members) {
        let (had, of) = *first.entry(part.number).or_insert((uuid, own));
        if had != uuid {
            let files = files([of, own]);
            return Err(refused(
                format!("{} of experiment {} was measured twice: {files}", part.words(), own.name),
                "leave out one of the two; whole measurements of the same plan can be merged after the parts of each were \
                 merged on their own",
            ));
        }
    }
    Ok(())
}

/// Parts of one plan that were not measured as parts of the same experiment.
fn refuse_strangers(known: &[Known], members: &[usize]) -> Result<(), Error> {
    let mut first: Option<(ExperimentPart, &Known)> = None;
    for (part, _, own) in parts(known, members) {
        let (other, of) = *first.get_or_insert((part, own));
        let way = |part: ExperimentPart| if part.shared { "the load of each run" } else { "the cells" };
        let or_unknown = |version: &str| if version.is_empty() { "unknown" } else { version }.to_owned();
        let differs = [
            ("number of parts", other.of.to_string(), part.of.to_string()),
            ("what is divided", way(other).to_owned(), way(part).to_owned()),
            ("seed", of.seed.clone(), own.seed.clone()),
            ("version of pgdyno", or_unknown(&of.version), or_unknown(&own.version)),
        ];
        if let Some((what, one, two)) = differs.into_iter().find(|(_, one, two)| one != two) {
            return Err(refused(
                format!(
                    "parts of experiment {} do not belong together: {what} is {one} in {}, and {two} in {}",
                    own.name,
                    of.file.display(),
                    own.file.display()
                ),
                "measure all parts with the same file, seed, pgdyno and --part K/N",
            ));
        }
    }
    Ok(())
}

/// Incomplete experiments of one name whose parts complete each other, and whose plans or seeds differ.
fn refuse_other_plans(known: &[Known], clusters: &[Vec<usize>]) -> Result<(), Error> {
    let mut open: BTreeMap<&str, Vec<&Vec<usize>>> = BTreeMap::new();
    for cluster in clusters.iter().filter(|cluster| !missing(known, cluster).0.is_empty()) {
        open.entry(&known[cluster[0]].name).or_default().push(cluster);
    }
    for (name, clusters) in open {
        let Some((one, others)) = clusters.split_first() else { continue };
        let has = |cluster: &[usize]| {
            parts(known, cluster).map(|(part, ..)| part.number).collect::<BTreeSet<u32>>()
        };
        if let Some(other) = others.iter().find(|other| has(one).is_disjoint(&has(other))) {
            if known[one[0]].hash == known[other[0]].hash {
                refuse_strangers(known, &[one.as_slice(), other].concat())?;
            }
            let files = files([&known[one[0]], &known[other[0]]]);
            return Err(refused(
                format!("parts of experiment {name} are of different plans: {files}"),
                "measure all parts with the same experiment file, options and input files; shares such as \"25% of memory\" \
                 differ between hosts",
            ));
        }
    }
    Ok(())
}

fn files(of: [&Known; 2]) -> String {
    let [one, other] = of.map(|own| own.file.display().to_string());
    match one == other {
        true => format!("experiments {} and {} in {one}", of[0].id, of[1].id),
        false => format!("in {one} and in {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(uuid: &str, hash: &str, number: u32, of: u32) -> Known {
        let part = ExperimentPart { number, of, shared: false };
        Known { parts: vec![(part, uuid.into())], ..whole(uuid, hash) }
    }

    fn whole(uuid: &str, hash: &str) -> Known {
        Known {
            file: format!("{uuid}.sqlite").into(),
            uuid: uuid.into(),
            hash: hash.into(),
            name: "demo".into(),
            ..Known::default()
        }
    }

    /// As if each came from a separate file, in order of time.
    fn listed(known: impl IntoIterator<Item = Known>) -> Vec<Known> {
        let known = known.into_iter().enumerate();
        known.map(|(at, own)| Known { source: at, created_at: format!("{at}"), ..own }).collect()
    }

    fn members(known: impl IntoIterator<Item = Known>) -> Vec<Vec<usize>> {
        groups(&listed(known)).unwrap().into_iter().map(|group| group.members).collect()
    }

    fn refusal(known: impl IntoIterator<Item = Known>) -> String {
        groups(&listed(known)).unwrap_err().to_string()
    }

    #[test]
    fn measurements_of_the_same_plan_stay_apart_and_copies_are_one() {
        assert_eq!(members([whole("a", "x"), whole("b", "x"), whole("a", "x")]), [vec![0, 2], vec![1]]);
        let later = Known { progress: (2, 9), ..whole("a", "x") };
        assert_eq!(members([whole("a", "x"), later]), [[1, 0]], "the later state's record is kept");
    }

    #[test]
    fn parts_of_one_plan_are_one_experiment() {
        let parts = [part("b", "x", 2, 3), part("c", "x", 3, 3), part("a", "x", 1, 3)];
        assert_eq!(members(parts.clone()), [[2, 0, 1]], "the lowest part is the first");
        let merged =
            Known { parts: parts.iter().flat_map(|own| own.parts.clone()).collect(), ..whole("a", "x") };
        assert_eq!(members(parts.into_iter().chain([merged])), [[2, 3, 0, 1]]);
    }

    #[test]
    fn whole_measurements_of_divided_experiments_stay_apart() {
        let merged = |uuids: [&str; 2]| Known {
            parts: uuids
                .iter()
                .zip(1..)
                .flat_map(|(uuid, number)| part(uuid, "x", number, 2).parts)
                .collect(),
            ..whole(uuids[0], "x")
        };
        assert_eq!(members([merged(["a", "b"]), merged(["c", "d"])]), [[0], [1]]);
        let february = [part("c", "x", 1, 2), part("d", "x", 2, 2)];
        assert_eq!(members([merged(["a", "b"])].into_iter().chain(february)), [vec![0], vec![1, 2]]);
    }

    #[test]
    fn parts_that_were_measured_again_are_joined_by_their_seed() {
        let own = |uuid, number, seed: &str| Known { seed: seed.into(), ..part(uuid, "x", number, 2) };
        let twice = [own("a", 1, "s"), own("c", 1, "t"), own("b", 2, "s"), own("d", 2, "t")];
        assert_eq!(members(twice.clone()), [[0, 2], [1, 3]]);
        let [first, second] =
            &groups(&listed([twice[0].clone(), twice[1].clone(), twice[3].clone()])).unwrap()[..]
        else {
            panic!("two experiments")
        };
        assert_eq!((first.missing.as_slice(), first.whole_later), (&[2][..], Some(1)));
        assert_eq!((second.missing.len(), second.whole_later), (0, None));
    }

    #[test]
    fn a_missing_part_is_named() {
        let [group] = &groups(&[part("a", "x", 1, 4), part("b", "x", 4, 4)]).unwrap()[..] else {
            panic!("one experiment")
        };
        assert_eq!((group.missing.as_slice(), group.of), (&[2, 3][..], 4));
        assert_eq!(groups(&[whole("a", "x")]).unwrap()[0].missing, [0; 0]);
    }

    #[test]
    fn a_part_that_was_measured_twice_is_named_with_both_files() {
        let refused = refusal([part("a", "x", 1, 2), part("b", "x", 1, 2)]);
        assert_eq!(refused, "part 1 of 2 of experiment demo was measured twice: in a.sqlite and in b.sqlite");
        let again = Known { file: "a.sqlite".into(), id: 3, ..part("b", "x", 1, 2) };
        assert!(refusal([part("a", "x", 1, 2), again]).ends_with("experiments 0 and 3 in a.sqlite"));
    }

    #[test]
    fn parts_that_do_not_belong_together_are_refused() {
        let other = part("b", "x", 2, 2);
        let shared = ExperimentPart { number: 2, of: 2, shared: true };
        let cases = [
            (part("b", "x", 2, 3), "number of parts is 2 in a.sqlite, and 3 in b.sqlite"),
            (Known { seed: "7".into(), ..other.clone() }, "seed is  in a.sqlite, and 7 in b.sqlite"),
            (
                Known { version: "9".into(), ..other.clone() },
                "version of pgdyno is unknown in a.sqlite, and 9 in b.sqlite",
            ),
            (
                Known { parts: vec![(shared, "b".into())], ..other },
                "what is divided is the cells in a.sqlite, and the load of each run in b.sqlite",
            ),
            (part("b", "y", 2, 2), "of different plans: in a.sqlite and in b.sqlite"),
        ];
        for (own, wanted) in cases {
            let refused = refusal([part("a", "x", 1, 2), own]);
            assert!(refused.ends_with(wanted), "{refused}");
        }
    }
}
