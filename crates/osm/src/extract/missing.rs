//! Ways whose nodes are not in the extract: a cut-out may have some at its edge. A load leaves such nodes out
//! silently.

use std::path::Path;

use spec::given;

use super::object::Object;
use super::read::read;

/// References of an extract to missing objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MissingObjects {
    pub ways: u64,
    /// Ways that lack at least one node.
    pub ways_with_gaps: u64,
    /// Ways with fewer than two remaining nodes: they become no line.
    pub ways_lost: u64,
    /// References to missing nodes.
    pub nodes: u64,
}

impl MissingObjects {
    /// `3 of 20 ways refer to nodes that are not in the extract (7 references; 1 way has too few left to be a
    /// line)`; `None` where nothing is missing.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        let lost = match self.ways_lost {
            0 => String::new(),
            1 => "; 1 way has too few left to be a line".to_owned(),
            many => format!("; {many} ways have too few left to be a line"),
        };
        let (gaps, refer) = (self.ways_with_gaps, if self.ways_with_gaps == 1 { "refers" } else { "refer" });
        let references = spec::count(self.nodes, "reference");
        (gaps > 0).then(|| {
            format!(
                "{gaps} of {} {refer} to nodes that are not in the extract ({references}{lost}), as in cut-outs: those are left out",
                spec::count(self.ways, "way")
            )
        })
    }
}

/// Counts them with 8 bytes of memory per node of the extract. It is read once, and again if ways come before
/// nodes. `None` if it cannot be read.
#[must_use]
pub fn missing(path: &Path) -> Option<MissingObjects> {
    let mut seen = NodeIds::default();
    let mut found = MissingObjects::default();
    let mut is_sorted = true;
    let mut file = given::open(path).ok()?;
    read(&mut file, &mut |object| match object {
        Object::Node(node) => {
            is_sorted &= found.ways == 0;
            seen.add(node.id);
        }
        Object::Way(way) => found.count(&way.nodes, &mut seen),
        Object::Relation(_) => {}
    })?;
    if !is_sorted {
        found = MissingObjects::default();
        read(&mut file, &mut |object| {
            if let Object::Way(way) = object {
                found.count(&way.nodes, &mut seen);
            }
        })?;
    }
    Some(found)
}

impl MissingObjects {
    fn count(&mut self, nodes: &[i64], seen: &mut NodeIds) {
        let gaps = nodes.iter().filter(|id| !seen.has(**id)).count();
        self.ways += 1;
        self.ways_with_gaps += u64::from(gaps > 0);
        self.ways_lost += u64::from(gaps > 0 && nodes.len() - gaps < 2);
        self.nodes += gaps as u64;
    }
}

/// Ids of nodes.
#[derive(Default)]
struct NodeIds {
    ids: Vec<i64>,
    is_sorted: bool,
}

impl NodeIds {
    fn add(&mut self, id: i64) {
        self.ids.push(id);
        self.is_sorted = false;
    }

    fn has(&mut self, id: i64) -> bool {
        if !self.is_sorted {
            // Fast for sorted ids, as most extracts have.
            self.ids.sort();
            self.is_sorted = true;
        }
        self.ids.binary_search(&id).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Bbox, BlobBuilder, Node, ObjectKind, Way, header_blob};
    use super::*;

    fn file(kinds: [ObjectKind; 2]) -> tempfile::NamedTempFile {
        let mut bytes = header_blob(Bbox { west: 0, south: 0, east: 10, north: 10 });
        for kind in kinds {
            let mut block = BlobBuilder::default();
            if kind == ObjectKind::Nodes {
                for id in [1, 2, 4] {
                    block.push(&Object::Node(Node { id, lat: 0, lon: 0, tags: Vec::new() }));
                }
            } else {
                for (id, nodes) in [(1, vec![1, 2, 4]), (2, vec![1, 3, 2]), (3, vec![5, 6, 4])] {
                    block.push(&Object::Way(Way { id, tags: Vec::new(), nodes }));
                }
            }
            bytes.extend(block.take_blob());
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    #[test]
    fn nodes_that_are_not_there_are_counted_in_any_order_of_the_file() {
        let wanted = MissingObjects { ways: 3, ways_with_gaps: 2, ways_lost: 1, nodes: 3 };
        for kinds in [[ObjectKind::Nodes, ObjectKind::Ways], [ObjectKind::Ways, ObjectKind::Nodes]] {
            assert_eq!(missing(file(kinds).path()).unwrap(), wanted);
        }
        let said = "2 of 3 ways refer to nodes that are not in the extract (3 references; 1 way has too few left to be a line), \
                    as in cut-outs: those are left out";
        assert_eq!(wanted.words().as_deref(), Some(said));
        assert_eq!(MissingObjects { ways: 3, ..MissingObjects::default() }.words(), None);
    }
}
