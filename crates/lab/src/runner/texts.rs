//! Scripts, queries and SQL files of an experiment, stored unchanged.

use std::path::Path;

use sha2::{Digest, Sha256};
use spec::{Text, TextKind, given};
use workloads::{Preparation, Workload};

/// Of longer texts only the hash is stored: they are data rather than queries.
const LONGEST: usize = 1 << 20;

fn kept(used_by: &str, name: &str, kind: TextKind, bytes: &[u8]) -> Text {
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= LONGEST && !text.contains('\0'));
    Text {
        used_by: used_by.to_owned(),
        name: name.to_owned(),
        kind,
        hash: spec::hex(&Sha256::digest(bytes)),
        bytes: bytes.len() as u64,
        text: text.map(str::to_owned),
        replaced: Vec::new(),
    }
}

pub(crate) fn of_workload(used_by: &str, workload: &dyn Workload) -> Vec<Text> {
    workload.texts().iter().map(|asked| kept(used_by, &asked.name, asked.kind, &asked.text)).collect()
}

/// The texts of a preparation; file names are relative to this folder. The job that needs an unreadable one
/// reports it.
pub(crate) fn of_preparation(jobs: &Preparation, folder: &Path) -> Vec<Text> {
    let one = |(used_by, path): (&'static str, &Path)| {
        let bytes = given::read(path).ok()?;
        let name = path.strip_prefix(folder).unwrap_or(path).display().to_string();
        Some(kept(used_by, &name, TextKind::File, &bytes))
    };
    jobs.texts().into_iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_kept_as_it_was_used_unless_it_is_long_or_binary() {
        let used = b"SELECT dblink_connect('host=h password=geheim');\n";
        let text = kept("prepare.sql", "a.sql", TextKind::File, used);
        assert_eq!(text.text.as_deref().map(str::as_bytes), Some(&used[..]));
        assert_eq!(text.bytes, used.len() as u64);
        assert_eq!(text.hash, spec::hex(&Sha256::digest(used)));
        for not_kept in [&[0xff, b'a'][..], b"a\0b", &vec![b'a'; LONGEST + 1]] {
            let text = kept("prepare.sql", "a.sql", TextKind::File, not_kept);
            assert_eq!((text.text, text.bytes), (None, not_kept.len() as u64));
        }
    }
}
