//! What is in an extract depends on its seed and its scale, and on nothing else.

use std::collections::HashMap;
use std::process::Command;

use osm::extract::{Object, ObjectKind};
use osm::synth::{SynthError, SynthOptions, SynthProgress, VERSION, write};

use crate::{Extract, not_run, objects};

#[test]
fn threads_change_nothing_and_seeds_all() {
    let one = Extract::new("0.3", 7, 1);
    for threads in [2, 4, 9] {
        let more = Extract::new("0.3", 7, threads);
        assert!(more.bytes == one.bytes, "another file with {threads} threads");
        assert_eq!(more.made, one.made);
    }
    let other = Extract::new("0.3", 8, 1);
    let nodes = |objects: Vec<Object>| {
        let found = objects.into_iter().filter_map(|object| match object {
            Object::Node(node) => Some((node.lat, node.lon)),
            _ => None,
        });
        found.collect::<std::collections::HashSet<_>>()
    };
    let (ours, theirs) = (nodes(one.objects()), nodes(other.objects()));
    assert!(ours.intersection(&theirs).count() * 100 < ours.len(), "two seeds have places in common");
}

/// By content: ids, coordinates, tags, nodes and members.
#[test]
fn every_object_of_a_scale_stands_in_each_larger_one() {
    // Within a municipality, a county, a state, and beyond.
    let scales = ["0.008", "0.02", "0.072", "0.1", "0.66", "0.7"];
    let extracts = scales.map(|scale| Extract::new(scale, 7, 2).objects());
    for (at, pair) in extracts.windows(2).enumerate() {
        let (smaller, larger) = (&pair[0], &pair[1]);
        assert!(larger.len() > smaller.len());
        let by_key: HashMap<(ObjectKind, i64), &Object> =
            larger.iter().map(|object| (object.key(), object)).collect();
        for object in smaller {
            assert_eq!(by_key.get(&object.key()), Some(&object), "of {} in {}", scales[at], scales[at + 1]);
        }
    }
}

#[test]
fn a_file_is_sorted_and_says_so_and_counts_are_right() {
    let extract = Extract::new("0.2", 3, 2);
    let (header, objects) = objects(&extract.bytes);
    assert!(objects.is_sorted_by(|a, b| a.key() < b.key()), "ids are not in order, or not unique");
    assert!(objects.iter().all(|object| object.key().1 > 0));
    assert_eq!(header.required_features, ["OsmSchema-V0.6", "DenseNodes"]);
    assert_eq!(header.optional_features, ["Sort.Type_then_ID"]);
    assert_eq!(header.writing_program, "pgdyno");
    assert_eq!(header.bbox, Some(extract.made.bbox));
    let count = |kind| objects.iter().filter(|object| object.key().0 == kind).count() as u64;
    let made = extract.made;
    let counts = (count(ObjectKind::Nodes), count(ObjectKind::Ways), count(ObjectKind::Relations));
    assert_eq!(counts, (made.nodes, made.ways, made.relations));
    assert_eq!(made.bytes, extract.bytes.len() as u64);
}

#[test]
fn progress_is_told_and_a_stop_is_heard() {
    let options = SynthOptions {
        scale: "0.3".parse().unwrap(),
        seed: 1,
        threads: std::num::NonZeroUsize::new(2).unwrap(),
    };
    let mut told: Vec<SynthProgress> = Vec::new();
    write(&options, &mut Vec::new(), &mut |progress| told.push(progress), &|| false).unwrap();
    assert!(told.is_sorted_by_key(|progress| (progress.kind, progress.cells)));
    for kind in [ObjectKind::Nodes, ObjectKind::Ways, ObjectKind::Relations] {
        let last = told.iter().rfind(|progress| progress.kind == kind).unwrap();
        assert_eq!((last.cells, last.of_cells), (38, 38));
    }
    let asked = std::cell::Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 7
    };
    let stopped = write(&options, &mut Vec::new(), &mut |_| (), &stop);
    assert!(matches!(stopped, Err(SynthError::Stopped)));
}

#[test]
fn a_full_disk_is_an_error() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let options =
        SynthOptions { scale: "0.3".parse().unwrap(), seed: 1, threads: std::num::NonZeroUsize::MIN };
    let full = write(&options, &mut Full(300_000), &mut |_| (), &|| false);
    assert!(matches!(full, Err(SynthError::Io(_))));
}

/// `pgdyno` takes its own files.
#[test]
fn an_extract_is_whole_to_the_check_before_a_load() {
    let extract = Extract::new("0.008", 7, 1);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, &extract.bytes).unwrap();
    assert_eq!(osm::extract::check(file.path()).unwrap().doubt, None);
}

#[test]
fn osmium_finds_every_reference() {
    let mut file = tempfile::Builder::new().suffix(".osm.pbf").tempfile().unwrap();
    std::io::Write::write_all(&mut file, &Extract::new("0.5", 7, 2).bytes).unwrap();
    let Ok(output) = Command::new("osmium").args(["check-refs", "-r"]).arg(file.path()).output() else {
        return not_run("osmium is not installed");
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(said.matches("missing: 0").count(), 4, "{said}");
}

/// The meaning of a stored fingerprint. If this fails because other objects are drawn, increase [`VERSION`].
#[test]
fn this_version_draws_these_objects() {
    let mut sum = md5::Md5::default();
    for object in Extract::new("0.001", 1, 1).objects() {
        md5::Digest::update(&mut sum, format!("{object:?}\n"));
    }
    let sum: String = md5::Digest::finalize(sum).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!((VERSION, sum.as_str()), (2, "28512ed50184b49b43a25c707b28ebdf"));
}
