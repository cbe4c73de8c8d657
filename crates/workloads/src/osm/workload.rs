//! The workload for `lab`: a load in each run.

use std::path::Path;

use spec::{Artifact, Error, TextKind, given};

use super::job::LoadJob;
use super::made::{self, NodesOwner};
use super::options::OsmOptions;
use crate::error;
use crate::hash::sha256_hex;
use crate::jobs::{Job, file_name};
use crate::place::Site;
use crate::workload::{Guarded, JobWorkload, Prepared, RequestText, ScriptInfo, Workload};

/// Loads of an extract, one in each run.
#[derive(Debug)]
pub struct Loads {
    options: OsmOptions,
    load: LoadJob,
    /// Its style, under the requested name.
    style: Option<RequestText>,
}

impl Loads {
    /// A workload with these options; files are relative to `folder`.
    ///
    /// # Errors
    /// When options are out of range, or the extract is invalid.
    pub fn open(options: &OsmOptions, folder: &Path) -> Result<Self, Error> {
        options.validate()?;
        let (written, options) = (options, options.in_folder(folder));
        if options.has_extract() {
            osm::extract::check(&options.extract)?;
        }
        let mut style = None;
        if let (Some(path), Some(name)) = (&options.style, &written.style) {
            let text = given::read(path)
                .map_err(|error| error::file_error(path, format!("cannot be read: {error}")))?;
            style = Some(RequestText { name: name.display().to_string(), kind: TextKind::File, text });
        }
        Ok(Self { load: LoadJob::new(options.clone(), true), options, style })
    }
}

impl Workload for Loads {
    fn scripts(&self) -> Vec<ScriptInfo> {
        let portable = self.options.portable();
        let options = serde_json::to_string(&portable).expect("options are plain data");
        let name = format!("osm2pgsql {}", file_name(&portable.extract));
        vec![ScriptInfo { name, text_hash: sha256_hex(options.as_bytes()), weight: 1, part: None }]
    }

    fn texts(&self) -> Vec<RequestText> {
        self.style.iter().cloned().collect()
    }

    fn writes(&self) -> bool {
        true
    }

    /// Checks before the first load that no other tables would be replaced.
    fn check(&mut self, site: &mut Site<'_>) -> Result<(), Error> {
        let sql = site.sql()?;
        // The rest of a killed load is not prepared data.
        if made::is_there(sql)? {
            made::open(sql, self.options.flat_nodes.as_deref())?;
        }
        self.load.look(sql).map(drop)
    }

    fn prepare(&mut self, _site: &mut Site<'_>, _seed: u64) -> Result<Prepared, Error> {
        Ok(Prepared::default())
    }

    /// Removes what earlier runs loaded.
    fn reset(&mut self, site: &mut Site<'_>) -> Result<Vec<String>, Error> {
        let sql = site.sql()?;
        made::open(sql, self.options.flat_nodes.as_deref())?;
        made::remove(sql, NodesOwner::Measured).map(drop)?;
        Ok(Vec::new())
    }

    /// Missing nodes of the extract; only a load itself can show anything else.
    fn guard(&mut self, _site: &mut Site<'_>, _seed: u64) -> Result<Guarded, Error> {
        let missing = self.load.missing(&self.options.extract);
        Ok(Guarded { notes: missing.into_iter().collect(), ..Guarded::default() })
    }

    fn artifacts(&mut self, _site: &mut Site<'_>) -> Result<Vec<Artifact>, Error> {
        Ok(Vec::new())
    }

    fn conclude(&mut self, site: &mut Site<'_>) -> Result<(), Error> {
        self.reset(site).map(drop)
    }
}

impl JobWorkload for Loads {
    fn job(&self) -> &dyn Job {
        &self.load
    }
}
