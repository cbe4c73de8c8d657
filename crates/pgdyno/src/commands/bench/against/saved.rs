//! `--save FILE`: writes the experiment file of a comparison, but not over changes made by hand.

use std::io::{Error, ErrorKind};
use std::path::Path;

use sha2::{Digest, Sha256};
use spec::{given, shell, written};

use super::usage;
use crate::exit::{CommandFailure, INPUT_OUTPUT};
use crate::print::talk;

/// Start of the line with a hash, which shows whether the file was changed.
const SEAL: &str = "# As --save wrote it: ";

pub(in crate::commands) fn check_name(path: &Path) -> anyhow::Result<()> {
    match path.as_os_str() == "-" {
        true => Err(usage("--save writes a file, not standard output", "name a file: --save compare.toml")),
        false => Ok(()),
    }
}

/// Writes the file, unless it exists and was changed or not written by `--save`; `dry` only checks.
pub(in crate::commands) fn save(text: &str, path: &Path, dry: bool) -> anyhow::Result<()> {
    let failed = |error: Error| {
        CommandFailure::with_code(INPUT_OUTPUT, format!("cannot write {}: {error}", path.display()), None)
    };
    let shown = path.display();
    let typed = shell::word(&path.to_string_lossy()).into_owned();
    match given::read_text(path) {
        Ok(found) if without_seal(&found) == text => {}
        Ok(found) if !is_as_written(&found) => {
            let made_here = seal_in(&found).is_some();
            let how = if made_here { "was changed since --save wrote it" } else { "was not made by --save" };
            let what = format!("{shown} is there already, and {how}");
            let hint = match made_here {
                true => format!("pgdyno run {typed} does what it says; or --save to another name"),
                false => "name another file, or remove it".to_owned(),
            };
            return Err(usage(&what, &hint));
        }
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
        _ if dry => {}
        _ => written::replace(path, sealed(text).as_bytes()).map_err(failed)?,
    }
    talk(&match dry {
        true => format!("experiment: {shown} (not written by --dry-run)"),
        false => format!("experiment: {shown} (pgdyno run does the same with it)"),
    });
    Ok(())
}

/// Inserts the hash line below the first line, which names the command.
fn sealed(text: &str) -> String {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    format!("{first}\n{SEAL}{}\n{rest}", seal_of(text))
}

fn seal_of(text: &str) -> String {
    spec::hex(&Sha256::digest(text.as_bytes())[..8])
}

fn seal_in(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix(SEAL))
}

fn without_seal(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.starts_with(SEAL)).collect()
}

fn is_as_written(text: &str) -> bool {
    seal_in(text).is_some_and(|seal| seal == seal_of(&without_seal(text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::bench::against::SAVED_BY;

    /// Changes made by hand were overwritten, by `--dry-run` too.
    #[test]
    fn only_what_is_as_it_was_written_is_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.toml");
        let read = || std::fs::read_to_string(&path).unwrap();
        let text = |rounds: u32| format!("# {SAVED_BY}\nquestion = \"?\"\nrounds = {rounds}\n");
        save(&text(4), &path, true).unwrap();
        assert!(!path.exists(), "a dry run writes nothing");
        save(&text(4), &path, false).unwrap();
        assert_eq!(without_seal(&read()), text(4));
        let four = read();
        save(&text(8), &path, true).unwrap();
        assert_eq!(read(), four);
        // The same command with more rounds.
        save(&text(8), &path, false).unwrap();
        assert_eq!(without_seal(&read()), text(8));
        let own = [
            read().replace("rounds = 8", "rounds = 8\nduration = \"1s\""),
            read() + "# a note\n",
            text(6),
            "question = \"mine\"\n".to_owned(),
        ];
        for changed in own {
            std::fs::write(&path, &changed).unwrap();
            for dry in [true, false] {
                let error = save(&text(8), &path, dry).unwrap_err().to_string();
                assert!(error.contains("is there already, and was "), "{error}");
            }
            assert_eq!(read(), changed);
        }
        // A file with the same content stays.
        std::fs::write(&path, text(8)).unwrap();
        save(&text(8), &path, false).unwrap();
        assert_eq!(read(), text(8));
    }
}
