//! The merged file: made next to its place, and renamed when it is whole.

use std::fs::{File, Permissions};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use spec::{Class, written};
use tempfile::{TempDir, TempPath};

use crate::error::not_results;
use crate::store::schema::{COPIED, SchemaState};
use crate::store::{ExperimentLock, Store, companion};

#[derive(Debug)]
pub(super) struct Output {
    /// As the user named it.
    named: PathBuf,
    /// With links resolved.
    place: PathBuf,
    folder: TempDir,
    replaced: Option<Replaced>,
}

/// The results file that is replaced. No pgdyno measures into it meanwhile.
#[derive(Debug)]
struct Replaced {
    permissions: Permissions,
    _locks: Vec<ExperimentLock>,
}

impl Output {
    /// # Errors
    /// When the file is there and is not to be replaced, is no results file, is in use, or nothing can be written there.
    pub(super) fn of(named: &Path, replace: bool) -> Result<Self, spec::Error> {
        let failed = |error: Error| unwritable(named, &error);
        let place = written::resolve(named).map_err(failed)?;
        let replaced = match std::fs::symlink_metadata(&place) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
            Ok(_) if !replace => {
                return Err(failed(ErrorKind::AlreadyExists.into()));
            }
            Ok(found) => Some(Replaced::of(named, &found)?),
        };
        let folder = place.parent().unwrap_or(Path::new("/"));
        let folder = tempfile::Builder::new().prefix(".pgdyno-merge-").tempdir_in(folder).map_err(failed)?;
        Ok(Self { named: named.to_owned(), place, folder, replaced })
    }

    fn made(&self) -> PathBuf {
        self.folder.path().join("merged.sqlite")
    }

    /// The new file, for writing. Its errors name the place.
    pub(super) fn store(&self) -> Result<Store, spec::Error> {
        let mut store = Store::create_or_open(&self.made())?;
        self.named.clone_into(&mut store.path);
        // It is thrown away if anything fails, and written to the disk at the end.
        store
            .execute("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536")?;
        Ok(store)
    }

    /// Writes the file to the disk and puts it into its place.
    pub(super) fn finish(self, store: Store) -> Result<(), spec::Error> {
        let failed = |error: Error| unwritable(&self.named, &error);
        store.use_log()?;
        drop(store);
        let made = self.made();
        let file = File::open(&made).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        match &self.replaced {
            None => {
                let made = TempPath::try_from_path(&made).map_err(failed)?;
                made.persist_noclobber(&self.place).map_err(|error| failed(error.error))
            }
            Some(Replaced { permissions, .. }) => {
                refuse_used(&self.place)?;
                file.set_permissions(permissions.clone()).map_err(failed)?;
                std::fs::rename(&made, &self.place).map_err(failed)
            }
        }
    }
}

fn unwritable(path: &Path, error: &Error) -> spec::Error {
    let (why, hint) = match error.kind() {
        ErrorKind::NotFound => ("there is no such folder".to_owned(), "make its folder first"),
        ErrorKind::AlreadyExists => ("it exists already".to_owned(), "name another file, or add --replace"),
        ErrorKind::StorageFull => (error.to_string(), "make room, or name a file on another disk"),
        _ => (error.to_string(), "name a file in a folder you may write to"),
    };
    let what = format!("{} cannot be written: {why}", path.display());
    spec::Error::new(Class::Io, what).with_hint(hint)
}

/// The log of a file in use would be applied to the file that replaces it.
fn refuse_used(path: &Path) -> Result<(), spec::Error> {
    if !companion(path, "-wal").exists() {
        return Ok(());
    }
    let what = format!("{} cannot be replaced: another program uses it", path.display());
    Err(spec::Error::new(Class::Io, what).with_hint("wait for that program, or name another file"))
}

impl Replaced {
    fn of(path: &Path, found: &std::fs::Metadata) -> Result<Self, spec::Error> {
        let (store, state) = Store::open_existing(path)?;
        match state {
            SchemaState::Present => {}
            SchemaState::Earlier(version) if COPIED.contains(&version) => {}
            other => {
                other.check(path)?;
                return Err(not_results(path));
            }
        }
        let mut hashes: Vec<String> =
            store.rows("SELECT DISTINCT hash FROM experiment", [], |row| row.get(0))?;
        hashes.sort_unstable();
        let locks = hashes.iter().map(|hash| store.alone_with(hash)).collect::<Result<_, _>>()?;
        drop(store);
        if state == SchemaState::Present {
            // What is still in its log would be applied to the new file.
            drop(Store::create_or_open(path)?);
        }
        refuse_used(path)?;
        let permissions = match found.uid() == rustix::process::geteuid().as_raw() {
            true => Permissions::from_mode(found.mode() & 0o777),
            false => Permissions::from_mode(0o600),
        };
        Ok(Self { permissions, _locks: locks })
    }
}
