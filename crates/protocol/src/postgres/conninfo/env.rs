//! What the connection rules read from the process: variables, user, home, a few files.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::fmt;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The environment in which a connection is described: the process's, or a test's.
#[derive(Clone, Default)]
pub struct Env {
    variables: BTreeMap<String, String>,
    home: Option<PathBuf>,
    user: Option<String>,
    files: Files,
}

/// Where files are read from.
#[derive(Clone)]
enum Files {
    Disk,
    Given(BTreeMap<PathBuf, File>),
}

impl Default for Files {
    fn default() -> Self {
        Files::Given(BTreeMap::new())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) content: Vec<u8>,
    pub(crate) mode: u32,
    /// False for pipes, devices and folders, which are not read.
    pub(crate) plain: bool,
}

impl Env {
    /// This process: its current variables, its effective user, the files on disk.
    #[must_use]
    pub fn process() -> Env {
        let variables: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| {
                Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
            })
            .collect();
        let account = account();
        let home = variables.get("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        Env {
            variables,
            home: home.or_else(|| account.as_ref().map(|account| account.home.clone())),
            user: account.map(|account| account.name),
            files: Files::Disk,
        }
    }

    /// An environment without variables, home, user and files.
    #[must_use]
    pub fn empty() -> Env {
        Env::default()
    }

    /// Sets a variable.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Env {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Sets the home folder.
    #[must_use]
    pub fn with_home(mut self, home: impl Into<PathBuf>) -> Env {
        self.home = Some(home.into());
        self
    }

    /// Sets the operating system user.
    #[must_use]
    pub fn with_user(mut self, user: &str) -> Env {
        self.user = Some(user.to_owned());
        self
    }

    /// Adds a file with this content and these permission bits; files on disk are then ignored.
    #[must_use]
    pub fn with_file(mut self, path: impl Into<PathBuf>, content: impl Into<Vec<u8>>, mode: u32) -> Env {
        let file = File { content: content.into(), mode, plain: true };
        let mut files = match self.files {
            Files::Disk => BTreeMap::new(),
            Files::Given(files) => files,
        };
        files.insert(path.into(), file);
        self.files = Files::Given(files);
        self
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    pub(crate) fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    pub(crate) fn in_home(&self, path: &str) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(path))
    }

    pub(crate) fn exists(&self, path: &Path) -> bool {
        match &self.files {
            Files::Disk => path.exists(),
            Files::Given(files) => files.contains_key(path),
        }
    }

    /// Reads a file; `None` when there is none.
    pub(crate) fn read(&self, path: &Path) -> io::Result<Option<File>> {
        match &self.files {
            Files::Disk => read_from_disk(path),
            Files::Given(files) => Ok(files.get(path).cloned()),
        }
    }
}

impl fmt::Debug for Env {
    /// Names only: values may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Env")
            .field("variables", &self.variables.keys())
            .field("home", &self.home)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

fn read_from_disk(path: &Path) -> io::Result<Option<File>> {
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let plain = metadata.is_file();
    let content = if plain { std::fs::read(path)? } else { Vec::new() };
    Ok(Some(File { content, mode: metadata.mode() & 0o7777, plain }))
}

struct Account {
    name: String,
    home: PathBuf,
}

/// The effective user's account, from the system's user database.
fn account() -> Option<Account> {
    let mut buffer = vec![0_u8; 16 * 1024];
    let mut entry = std::mem::MaybeUninit::<libc::passwd>::uninit();
    let mut found = std::ptr::null_mut();
    // SAFETY: entry, buffer and found live through the call and their sizes are as stated.
    let status = unsafe {
        libc::getpwuid_r(
            libc::geteuid(),
            entry.as_mut_ptr(),
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            &raw mut found,
        )
    };
    if status != 0 || found.is_null() {
        return None;
    }
    // SAFETY: the call succeeded, so `found` points to `entry`, whose strings lie in `buffer` and end with NUL.
    let (name, home) = unsafe { (CStr::from_ptr((*found).pw_name), CStr::from_ptr((*found).pw_dir)) };
    Some(Account { name: name.to_str().ok()?.to_owned(), home: PathBuf::from(home.to_str().ok()?) })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn files_are_read_with_what_matters_about_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        std::fs::write(&path, "text").expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("changed");
        let read = |path: &Path| read_from_disk(path).expect("readable");
        assert_eq!(read(&path), Some(File { content: b"text".to_vec(), mode: 0o640, plain: true }));
        assert_eq!(read(&folder.path().join("none")), None);
        assert_eq!(read(&path.join("below a file")), None);
        assert_eq!(read(folder.path()).map(|file| file.plain), Some(false));
    }

    #[test]
    fn the_process_has_a_path_variable_and_nothing_is_shown_of_it() {
        let env = Env::process();
        assert_eq!(env.variable("PATH"), std::env::var("PATH").ok().as_deref());
        assert!(!format!("{env:?}").contains("/bin:"));
    }
}
