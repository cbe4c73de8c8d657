//! The files that a measured job reads: their content must be the same for all of its runs.

use std::path::PathBuf;

use spec::{Class, Error};
use workloads::jobs::Job;

use crate::fingerprint::fingerprint;

#[derive(Debug, Default)]
pub(crate) struct Files(Vec<(PathBuf, String)>);

impl Files {
    pub(crate) fn of(job: &dyn Job) -> Result<Self, Error> {
        let files = job.files().into_iter();
        files.map(|(_, path)| Ok((path.to_owned(), fingerprint(path)?))).collect::<Result<_, _>>().map(Self)
    }

    /// Checks that no file has changed.
    ///
    /// # Errors
    /// The changed file: runs before and after must not be compared.
    pub(crate) fn are_unchanged(&self) -> Result<(), Error> {
        for (path, hash) in &self.0 {
            if fingerprint(path)? != *hash {
                return Err(Error::new(Class::BadInput, format!("{} was changed while its loads are measured", path.display())).with_hint("put back what it was, and the same command goes on; what it is now is another experiment"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An extract was replaced and a style edited during an experiment, and all runs stayed valid.
    #[test]
    fn a_file_that_was_changed_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("style.lua");
        std::fs::write(&path, "-- one").unwrap();
        let files = Files(vec![(path.clone(), fingerprint(&path).unwrap())]);
        files.are_unchanged().unwrap();
        std::fs::write(&path, "-- two").unwrap();
        let told = files.are_unchanged().unwrap_err();
        assert!(told.to_string().contains("style.lua was changed"), "{told}");
        std::fs::remove_file(&path).unwrap();
        files.are_unchanged().unwrap_err();
    }
}
