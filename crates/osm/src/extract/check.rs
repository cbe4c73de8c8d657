//! Checks before a load that the extract is complete.

use std::io;
use std::path::Path;

use spec::{Class, Error, given};

use super::object::ObjectKind;
use super::pbf::{Blob, last_kind};
use super::read::read_header;

/// An extract that can be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extract {
    /// Why it may be incomplete, if its header shows that.
    pub doubt: Option<String>,
}

/// Checks that a file is an OSM extract in PBF with contents: the first block is the header, and every block
/// is complete.
///
/// A file that was cut between two blocks looks complete. Only where the header says that objects are sorted
/// by kind can missing kinds be noticed. That is a doubt and not an error: an extract may have none.
///
/// # Errors
/// With the position where it ends, or because there are no objects.
pub fn check(path: &Path) -> Result<Extract, Error> {
    examine(path).map_err(|problem| Error::new(Class::BadInput, format!("{}: {problem}", path.display())))
}

/// As [`check`]; an error is the problem, and what to try, without the path.
pub(crate) fn examine(path: &Path) -> Result<Extract, String> {
    let not_opened = |error: io::Error| format!("cannot be opened: {error}");
    let mut file = given::open(path).map_err(not_opened)?;
    let length = file.metadata().map_err(not_opened)?.len();
    if length == 0 {
        return Err("is empty; get the extract again".to_owned());
    }
    let (mut at, mut header, mut last) = (0, None, None);
    while at < length {
        let blob = Blob::at(&mut file, at, length).map_err(|error| error.in_words(at, length))?;
        at = blob.end;
        if header.is_none() {
            header = Some(blob);
        } else if blob.is_data {
            last = Some(blob);
        }
    }
    let Some(last) = last else {
        return Err("holds no objects, nothing but a header; get the extract again".to_owned());
    };
    let header = header.and_then(|blob| read_header(&blob.read(&mut file)?));
    let sorted =
        header.is_some_and(|header| header.optional_features.iter().any(|it| it == "Sort.Type_then_ID"));
    let kind = last.read(&mut file).and_then(|block| last_kind(&block)).filter(|_| sorted);
    let doubt = match kind {
        Some(ObjectKind::Nodes) => {
            Some("its objects are sorted by kind, and it ends with nodes: no way and no relation")
        }
        Some(ObjectKind::Ways) => Some("its objects are sorted by kind, and it ends with ways: no relation"),
        Some(ObjectKind::Relations) | None => None,
    };
    let doubt = doubt.map(|why| format!("{} ends early, as far as its header tells: {why}", path.display()));
    Ok(Extract { doubt })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// A blob with `kind` in its header and `data` zeros.
    fn blob(kind: &str, data: u8) -> Vec<u8> {
        blob_of(kind, &vec![0; usize::from(data)])
    }

    fn blob_of(kind: &str, data: &[u8]) -> Vec<u8> {
        let mut header = vec![0x0a, u8::try_from(kind.len()).unwrap()];
        header.extend_from_slice(kind.as_bytes());
        header.extend_from_slice(&[0x18, u8::try_from(data.len()).unwrap()]);
        let mut bytes = u32::try_from(header.len()).unwrap().to_be_bytes().to_vec();
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(data);
        bytes
    }

    fn verdict(bytes: &[u8]) -> String {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        match examine(file.path()) {
            Ok(Extract { doubt: None }) => "whole".to_owned(),
            Ok(Extract { doubt: Some(doubt) }) => doubt.split_once(" ends ").unwrap().1.to_owned(),
            Err(problem) => problem,
        }
    }

    #[test]
    fn extracts_are_told_from_other_files() {
        let whole = [blob("OSMHeader", 5), blob("OSMData", 9)].concat();
        let cut = &whole[..whole.len() - 1];
        let damaged = [blob("OSMHeader", 5), vec![0xff; 40]].concat();
        let cases: [(&[u8], &str); 7] = [
            (&whole, "whole"),
            (b"", "is empty"),
            (b"<?xml version='1.0'?><osm>", "is not an OSM extract in PBF"),
            (&blob("OSMData", 3), "is not an OSM extract in PBF"),
            (&[0, 0], "is cut short"),
            (cut, "is cut short: the block at byte 22"),
            (&damaged, "is damaged at byte 22"),
        ];
        for (bytes, wanted) in cases {
            let found = verdict(bytes);
            assert!(found.starts_with(wanted), "{found:?} for {wanted:?}");
        }
    }

    /// Both were loaded with exit code 0 and without an error.
    #[test]
    fn a_header_alone_and_an_extract_cut_between_blocks_are_told() {
        use super::super::pbf::tests::{bytes, packed};
        let header = |sorted: bool| {
            let features = if sorted { bytes(5, b"Sort.Type_then_ID") } else { bytes(4, b"DenseNodes") };
            blob_of("OSMHeader", &packed(&features, true))
        };
        let data = |kinds: &[u8]| {
            let groups: Vec<u8> = kinds.iter().flat_map(|kind| bytes(2, &bytes(*kind, b"x"))).collect();
            blob_of("OSMData", &packed(&groups, true))
        };
        let [nodes, ways, relations] = [data(&[2]), data(&[2, 3]), data(&[4])];
        assert!(verdict(&header(true)).starts_with("holds no objects"), "{}", verdict(&header(true)));
        let cases = [
            (vec![header(true), nodes.clone(), ways.clone(), relations], "whole"),
            (
                vec![header(true), nodes.clone(), ways],
                "early, as far as its header tells: its objects are sorted by kind, and it ends with ways",
            ),
            (
                vec![header(true), nodes.clone()],
                "early, as far as its header tells: its objects are sorted by kind, and it ends with nodes",
            ),
            // Cannot be known.
            (vec![header(false), nodes], "whole"),
        ];
        for (blobs, wanted) in cases {
            let found = verdict(&blobs.concat());
            assert!(found.starts_with(wanted), "{found:?} for {wanted:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = verdict(&bytes);
        }
    }
}
