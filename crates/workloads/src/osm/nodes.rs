//! The file of node locations (`flat_nodes`). The database records which load made it, as for its tables:
//! only such a file is removed when a load fails or is killed, and replaced when the same is loaded again.

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::UNIX_EPOCH;

use protocol::postgres::sql::{Sql, quote_literal};
use spec::Error;

use crate::error;
use crate::jobs::other_account;

/// Path, and what identifies the file: another one may have that path by now, or on another machine.
pub(super) const REGISTRY: &str = "CREATE TABLE IF NOT EXISTS pgdyno.loaded_file \
     (path text PRIMARY KEY, known_by text NOT NULL, prefix text NOT NULL, load text NOT NULL, complete boolean NOT NULL)";

/// The file in which a load stores node locations.
#[derive(Debug, Clone, Copy)]
pub(super) struct NodesFile<'a> {
    pub(super) path: &'a Path,
    /// Prefix of its tables.
    pub(super) prefix: &'a str,
}

impl NodesFile<'_> {
    /// Whether a non-empty file exists that no load of this prefix made.
    pub(super) fn is_of_others(&self, sql: &mut dyn Sql) -> Result<bool, Error> {
        Ok(self.has_something() && !self.is_own(sql)?)
    }

    /// Before osm2pgsql begins: removes the file of an earlier load, whose locations would otherwise remain.
    /// Returns whether the file is this load's alone; otherwise it existed, and may be replaced.
    pub(super) fn begin(&self, sql: &mut dyn Sql, load: &str) -> Result<bool, Error> {
        if self.has_something() {
            if !self.is_own(sql)? {
                return Ok(false);
            }
            self.remove();
        }
        // Empty, so that it can be recorded; if that fails, osm2pgsql will report why.
        let _ = match other_account() {
            Some(account) => run_as(account, "touch", self.path),
            None => {
                std::fs::OpenOptions::new().write(true).create(true).truncate(false).open(self.path).map(drop)
            }
        };
        self.note(sql, load, false)?;
        Ok(true)
    }

    /// The load finished, and the file belongs to it.
    pub(super) fn complete(&self, sql: &mut dyn Sql, load: &str) -> Result<(), Error> {
        self.note(sql, load, true)
    }

    /// Removes it, unless it is not a regular file (a device).
    pub(super) fn remove(&self) {
        // A link stays a link.
        let place = std::fs::canonicalize(self.path).unwrap_or_else(|_| self.path.to_owned());
        if std::fs::metadata(&place).is_ok_and(|found| found.is_file()) {
            let _ = match other_account() {
                Some(account) => run_as(account, "rm", &place),
                None => std::fs::remove_file(place),
            };
        }
    }

    fn has_something(&self) -> bool {
        std::fs::metadata(self.path).is_ok_and(|found| found.len() > 0)
    }

    fn is_own(&self, sql: &mut dyn Sql) -> Result<bool, Error> {
        let Some(known_by) = known_by(self.path) else { return Ok(false) };
        let ask = format!(
            "SELECT count(*) FROM pgdyno.loaded_file WHERE path = {} AND known_by = {} AND prefix = {}",
            place(self.path),
            quote_literal(&known_by),
            quote_literal(self.prefix)
        );
        let found = sql.scalar(&ask).map_err(error::sql_error(DOING))?;
        Ok(found.is_some_and(|count| count != "0"))
    }

    /// Records it, or that it is gone (`--drop`).
    fn note(&self, sql: &mut dyn Sql, load: &str, complete: bool) -> Result<(), Error> {
        let path = place(self.path);
        let forget = format!("DELETE FROM pgdyno.loaded_file WHERE path = {path}");
        let note = known_by(self.path).map(|known_by| {
            let [known_by, prefix, load] = [&known_by, self.prefix, load].map(quote_literal);
            format!(
                "; INSERT INTO pgdyno.loaded_file VALUES ({path}, {known_by}, {prefix}, {load}, {complete})"
            )
        });
        sql.execute(&(forget + &note.unwrap_or_default())).map_err(error::sql_error(DOING))
    }
}

/// Touches or removes a file as the user that loads: its name comes from an experiment file, or from a table
/// of the database.
fn run_as((user, group): (u32, u32), tool: &str, file: &Path) -> std::io::Result<()> {
    let mut command = Command::new(tool);
    command.arg("--").arg(file).uid(user).gid(group).current_dir("/");
    // A program that shares root's terminal can type into it.
    // SAFETY: the closure makes one system call and touches no memory of the parent.
    unsafe {
        command.pre_exec(|| rustix::process::setsid().map(drop).map_err(Into::into));
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().map(drop)
}

/// Removes a file of a failed load, if it is `given` as the file of this load, and still the same. A row of
/// the database alone removes nothing: other roles may be able to write it.
pub(super) fn remove(sql: &mut dyn Sql, load: &str, given: Option<&Path>) -> Result<(), Error> {
    let Some(given) = given else { return Ok(()) };
    let own = format!(
        "FROM pgdyno.loaded_file WHERE NOT complete AND load = {} AND path = {}",
        quote_literal(load),
        place(given)
    );
    let noted = sql.scalar(&format!("SELECT known_by {own}")).map_err(error::sql_error(DOING))?;
    if noted.is_some() && known_by(given) == noted {
        NodesFile { path: given, prefix: "" }.remove();
    }
    sql.execute(&format!("DELETE {own}")).map_err(error::sql_error(DOING))
}

const DOING: &str = "looking whose a file of node locations is";

/// Identifies a file: its inode, which may be reused, and its creation time. `None` where there is no file,
/// or the filesystem has no creation time.
fn known_by(path: &Path) -> Option<String> {
    let found = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    let made = found.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{}-{}", found.ino(), made.as_nanos()))
}

fn place(path: &Path) -> String {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    quote_literal(&whole.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sql::FakeSql;

    #[test]
    fn only_files_are_removed_and_links_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("nodes"), folder.path().join("link"));
        std::fs::write(&path, "x").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let of = |path| NodesFile { path, prefix: "p" };
        of(folder.path()).remove();
        of(&link).remove();
        assert!(!path.exists() && link.is_symlink());
        of(&link).remove();
        assert!(link.is_symlink());
    }

    #[test]
    fn a_file_that_has_the_place_of_one_that_was_made_is_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nodes");
        let file = NodesFile { path: &path, prefix: "p" };
        let mut sql = FakeSql::new();
        assert!(file.begin(&mut sql, "load").unwrap() && path.exists());
        let noted = sql.asked.pop().unwrap();
        let known = known_by(&path).unwrap();
        assert!(noted.contains(&known) && noted.contains("false)"), "{noted}");
        std::fs::remove_file(&path).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::write(&path, "of somebody").unwrap();
        assert_ne!(known_by(&path).unwrap(), known);
        sql.answer("SELECT known_by", &[&[&known]]);
        remove(&mut sql, "load", Some(&path)).unwrap();
        assert!(path.exists(), "it is not the load's");
        assert!(file.is_of_others(&mut sql).unwrap());
    }
}
