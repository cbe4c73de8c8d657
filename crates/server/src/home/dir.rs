//! A folder of ours, held by descriptor: entries are opened by name, never through a link, and checked after
//! opening. Nobody can swap a file between the check and its use.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid, fchmod, fchown, fstat, mkdirat, openat, readlinkat,
    renameat, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::trust::{Distrust, closed, is, mode, owned_by, us};
use crate::child::Account;

/// Largest file of ours that is read whole, bytes; markers, the largest, have a few kilobytes.
const MOST_READ: u64 = 16 << 20;

/// Levels of folders that are walked recursively; PostgreSQL nests four.
const DEEPEST: u32 = 32;

/// Who may read a file of ours.
#[derive(Debug, Clone, Copy)]
pub enum Readable<'a> {
    /// Mode 0600.
    ByUs,
    /// Also the account for servers, by its group, if it is not the current user: mode 0640.
    By(Option<&'a Account>),
    /// Mode 0644.
    ByAll,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DirEntry {
    Folder,
    File {
        length: u64,
    },
    /// The link's target.
    Link(PathBuf),
    Other,
}

/// An open folder.
#[derive(Debug, Clone)]
pub struct Dir {
    fd: Arc<OwnedFd>,
    path: PathBuf,
    /// Owner of the folder and its entries.
    owner: u32,
}

impl Dir {
    /// Takes an opened folder, which must be owned by us.
    pub(super) fn ours(fd: OwnedFd, path: PathBuf) -> io::Result<Self> {
        let stat = fstat(&fd)?;
        owned_by(&stat, us(), &[]).and_then(|()| closed(&stat)).map_err(Distrust::into_io_error)?;
        // It may be open for looking only.
        let fd = openat(&fd, ".", flags(OFlags::DIRECTORY), Mode::empty())?;
        Ok(Self { fd: Arc::new(fd), path, owner: us() })
    }

    /// A folder above the home, owned by us or root.
    pub(super) fn above(fd: OwnedFd, path: PathBuf) -> Self {
        Self { fd: Arc::new(fd), path, owner: us() }
    }

    /// Opens a folder of ours inside a folder that the user named; `None` if it does not exist. The named
    /// folder may have any owner.
    ///
    /// # Errors
    /// When it is not a folder, another user owns it, or others can write to it.
    pub fn inside(named: &Path, name: impl AsRef<OsStr>) -> io::Result<Option<Self>> {
        Self::named(named)?.open(name)
    }

    /// As [`Self::inside`]; makes the folder if it does not exist.
    ///
    /// # Errors
    /// When it cannot be made, or is not ours.
    pub fn made_inside(named: &Path, name: impl AsRef<OsStr>, mode: u32) -> io::Result<Self> {
        Self::named(named)?.make(name, mode)
    }

    /// Removes an empty folder inside a folder that the user named.
    pub(crate) fn remove_empty_inside(named: &Path, name: &OsStr) -> io::Result<()> {
        unlinkat(&*Self::named(named)?.fd, name, AtFlags::REMOVEDIR).map_err(Into::into)
    }

    /// Opens a folder of any owner, who must also own its entries.
    ///
    /// # Errors
    /// When it is not a folder, or others can write to it.
    pub(crate) fn of_any_owner(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let fd = rustix::fs::open(&path, flags(OFlags::DIRECTORY), Mode::empty())?;
        let stat = fstat(&fd)?;
        closed(&stat).map_err(Distrust::into_io_error)?;
        Ok(Self { fd: Arc::new(fd), path, owner: stat.st_uid })
    }

    fn named(named: &Path) -> io::Result<Self> {
        let how = OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self::above(rustix::fs::open(named, how, Mode::empty())?, named.to_owned()))
    }

    /// Its path, for messages and for programs that take no descriptor.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn owner(&self) -> u32 {
        self.owner
    }

    /// Opens a folder in it that has the same owner; `None` if it does not exist.
    ///
    /// # Errors
    /// When it is not a folder, another user owns it, or others can write to it.
    pub fn open(&self, name: impl AsRef<OsStr>) -> io::Result<Option<Self>> {
        self.open_of(name.as_ref(), self.owner)
    }

    /// As [`Self::open`], for a folder that the account for servers owns (`None`: the current user).
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_for(&self, name: impl AsRef<OsStr>, account: Option<&Account>) -> io::Result<Option<Self>> {
        self.open_of(name.as_ref(), account.map_or_else(us, |account| account.uid))
    }

    fn open_of(&self, name: &OsStr, owner: u32) -> io::Result<Option<Self>> {
        let fd = match openat(&*self.fd, name, flags(OFlags::DIRECTORY), Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(self.not_opened(name, error, Distrust::NotAFolder)),
            Ok(fd) => fd,
        };
        let stat = fstat(&fd)?;
        owned_by(&stat, owner, &[]).and_then(|()| closed(&stat)).map_err(Distrust::into_io_error)?;
        Ok(Some(Self { fd: Arc::new(fd), path: self.path.join(name), owner }))
    }

    /// Turns the kernel's error for a link, or for another kind of entry, into a [`Distrust`].
    fn not_opened(&self, name: &OsStr, error: Errno, other: Distrust) -> io::Error {
        match (error, self.look(name)) {
            (Errno::LOOP | Errno::MLINK | Errno::NOTDIR, Ok(Some(stat))) if is(&stat, FileType::Symlink) => {
                Distrust::Link.into_io_error()
            }
            (Errno::NOTDIR | Errno::ISDIR | Errno::NXIO, _) => other.into_io_error(),
            _ => error.into(),
        }
    }

    /// A folder in it that is ours, made if it does not exist.
    ///
    /// # Errors
    /// As [`Self::open`], or when it cannot be made.
    pub fn make(&self, name: impl AsRef<OsStr>, mode: u32) -> io::Result<Self> {
        let name = name.as_ref();
        let is_new = match mkdirat(&*self.fd, name, Mode::from_raw_mode(mode as _)) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(error) => return Err(error.into()),
        };
        let opened = self.open(name);
        let dir = opened.map_err(|error| if is_new { Distrust::NoOwners.into_io_error() } else { error })?;
        let dir = dir.ok_or(io::ErrorKind::NotFound)?;
        // The umask may have removed bits, and an earlier version may have added some.
        dir.set_mode(mode)?;
        Ok(dir)
    }

    /// Makes a folder, mode 0700, for the account for servers (`None`: the current user). An empty folder of
    /// ours, left by a killed pgdyno, is given to the account.
    ///
    /// # Errors
    /// As [`Self::open_for`], or when it cannot be made or given away.
    pub fn make_for(&self, name: impl AsRef<OsStr>, account: Option<&Account>) -> io::Result<Self> {
        let name = name.as_ref();
        let Some(account) = account else { return self.make(name, 0o700) };
        match mkdirat(&*self.fd, name, Mode::RWXU) {
            Ok(()) => {
                let opened = self.open_of(name, us()).map_err(|_| Distrust::NoOwners.into_io_error())?;
                opened.ok_or(io::ErrorKind::NotFound)?.give(account)
            }
            Err(Errno::EXIST) => match self.open_of(name, us()) {
                Ok(Some(half)) if half.names()?.is_empty() => half.give(account),
                _ => self.open_for(name, Some(account))?.ok_or_else(|| io::ErrorKind::NotFound.into()),
            },
            Err(error) => Err(error.into()),
        }
    }

    /// Gives the folder, without its contents, to an account.
    ///
    /// # Errors
    /// Where the filesystem has no owners.
    pub fn give(mut self, account: &Account) -> io::Result<Self> {
        let given = give(&*self.fd, account);
        if given.is_err() || fstat(&*self.fd)?.st_uid != account.uid {
            return Err(Distrust::NoOwners.into_io_error());
        }
        self.owner = account.uid;
        Ok(self)
    }

    pub(super) fn set_mode(&self, wanted: u32) -> io::Result<()> {
        let is_so = || Ok::<_, io::Error>(mode(&fstat(&*self.fd)?) == wanted);
        if is_so()? {
            return Ok(());
        }
        match fchmod(&*self.fd, Mode::from_raw_mode(wanted as _)) {
            Ok(()) if is_so()? => Ok(()),
            Ok(()) | Err(Errno::PERM | Errno::OPNOTSUPP) => Err(Distrust::NoOwners.into_io_error()),
            Err(error) => Err(error.into()),
        }
    }

    /// An entry's metadata, without opening it or following a link.
    fn look(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match statat(&*self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether an entry of this name exists, even a broken link.
    #[must_use]
    pub fn has(&self, name: impl AsRef<OsStr>) -> bool {
        !matches!(self.look(name.as_ref()), Ok(None))
    }

    /// Whether this name is a link.
    #[must_use]
    pub fn has_link(&self, name: impl AsRef<OsStr>) -> bool {
        matches!(self.look(name.as_ref()), Ok(Some(stat)) if is(&stat, FileType::Symlink))
    }

    /// An entry's kind, without opening it; `None` where there is none.
    pub(crate) fn entry(&self, name: impl AsRef<OsStr>) -> io::Result<Option<DirEntry>> {
        let name = name.as_ref();
        let Some(stat) = self.look(name)? else { return Ok(None) };
        Ok(Some(match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => DirEntry::Folder,
            FileType::RegularFile => DirEntry::File { length: u64::try_from(stat.st_size).unwrap_or(0) },
            FileType::Symlink => DirEntry::Link(self.read_link(name)?),
            _ => DirEntry::Other,
        }))
    }

    /// Names of its entries.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        names(self.fd.as_fd())
    }

    /// Calls `see` for every entry below it, with its path from here and its folder. An entry that disappears
    /// meanwhile is skipped.
    ///
    /// # Errors
    /// When a folder cannot be read or has another owner, or they are nested too deep.
    pub(crate) fn walk(
        &self,
        see: &mut dyn FnMut(&Path, &Self, &DirEntry) -> io::Result<()>,
    ) -> io::Result<()> {
        self.walk_below(Path::new(""), 0, see)
    }

    fn walk_below(
        &self,
        below: &Path,
        depth: u32,
        see: &mut dyn FnMut(&Path, &Self, &DirEntry) -> io::Result<()>,
    ) -> io::Result<()> {
        for name in self.names()? {
            let Some(entry) = self.entry(&name)? else { continue };
            let path = below.join(&name);
            see(&path, self, &entry)?;
            if matches!(entry, DirEntry::Folder)
                && let Some(inner) = self.open(&name)?
            {
                if depth == DEEPEST {
                    let why = format!("{} is nested deeper than {DEEPEST} folders", inner.path.display());
                    return Err(io::Error::other(why));
                }
                inner.walk_below(&path, depth + 1, see)?;
            }
        }
        Ok(())
    }

    /// Opens a regular file owned by its owner or by us; `None` where there is none.
    fn open_file(&self, name: &OsStr, how: OFlags, new: Mode) -> io::Result<Option<File>> {
        // Opening a pipe that nobody reads must not block.
        let fd = match openat(&*self.fd, name, flags(how | OFlags::NONBLOCK), new) {
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(self.not_opened(name, error, Distrust::NotAFile)),
            Ok(fd) => fd,
        };
        let stat = fstat(&fd)?;
        if !is(&stat, FileType::RegularFile) {
            return Err(Distrust::NotAFile.into_io_error());
        }
        owned_by(&stat, self.owner, &[us()]).and_then(|()| closed(&stat)).map_err(Distrust::into_io_error)?;
        if stat.st_nlink > 1 {
            #[allow(clippy::useless_conversion, reason = "its width depends on the system")]
            return Err(Distrust::HardLink(stat.st_nlink.into()).into_io_error());
        }
        Ok(Some(File::from(fd)))
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// `NotFound` where there is none; when it is a link or not a regular file, or somebody else can write to
    /// it.
    pub fn file(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.open_file(name.as_ref(), OFlags::RDONLY, Mode::empty())?
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// As [`Self::file`]; the file may have further names. Its bytes are those of a file of the owner anyway.
    pub(crate) fn linked_file(&self, name: &OsStr) -> io::Result<File> {
        let fd = openat(&*self.fd, name, flags(OFlags::RDONLY | OFlags::NONBLOCK), Mode::empty())?;
        let stat = fstat(&fd)?;
        if !is(&stat, FileType::RegularFile) {
            return Err(Distrust::NotAFile.into_io_error());
        }
        // No other owner, not even us: the owner may link to files of others.
        owned_by(&stat, self.owner, &[]).map_err(Distrust::into_io_error)?;
        Ok(File::from(fd))
    }

    /// Reads a file of at most 16 MiB.
    ///
    /// # Errors
    /// As [`Self::file`], or when it is larger.
    pub fn read(&self, name: impl AsRef<OsStr>) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file(name)?.take(MOST_READ + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MOST_READ {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it has more than 16 MiB"));
        }
        Ok(bytes)
    }

    /// Reads a file as text.
    ///
    /// # Errors
    /// As [`Self::read`], or when it is not UTF-8.
    pub fn read_text(&self, name: impl AsRef<OsStr>) -> io::Result<String> {
        String::from_utf8(self.read(name)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// Makes a new file.
    ///
    /// # Errors
    /// When an entry of this name exists, or the file cannot be made.
    pub fn create(&self, name: impl AsRef<OsStr>, readable: Readable<'_>) -> io::Result<File> {
        let how = flags(OFlags::RDWR | OFlags::CREATE | OFlags::EXCL);
        let file = File::from(openat(&*self.fd, name.as_ref(), how, Mode::RUSR | Mode::WUSR)?);
        match readable {
            Readable::ByUs | Readable::By(None) => {}
            Readable::By(Some(account)) => {
                fchown(&file, None, Some(Gid::from_raw(account.gid)))?;
                fchmod(&file, Mode::from_raw_mode(0o640))?;
            }
            Readable::ByAll => fchmod(&file, Mode::from_raw_mode(0o644))?,
        }
        Ok(file)
    }

    /// Opens a file for appending, made if it does not exist.
    ///
    /// # Errors
    /// As [`Self::file`].
    pub fn append(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.open_file(
            name.as_ref(),
            OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE,
            Mode::RUSR | Mode::WUSR,
        )?
        .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Opens a file to lock, made if it does not exist; its contents stay.
    pub(crate) fn lock_file(&self, name: &str) -> io::Result<File> {
        self.open_file(name.as_ref(), OFlags::RDWR | OFlags::CREATE, Mode::RUSR | Mode::WUSR)?
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Writes a file so that a crash leaves the old or the new one, never half of one.
    ///
    /// # Errors
    /// When it cannot be written; the old file then remains.
    pub fn replace(
        &self,
        name: impl AsRef<OsStr>,
        content: &[u8],
        readable: Readable<'_>,
    ) -> io::Result<File> {
        self.replace_with(name.as_ref(), content, |_| Ok(()), readable)
    }

    /// As [`Self::replace`]; `then` gets the new file before it is renamed.
    pub(crate) fn replace_with(
        &self,
        name: &OsStr,
        content: &[u8],
        then: impl FnOnce(&File) -> io::Result<()>,
        readable: Readable<'_>,
    ) -> io::Result<File> {
        let mut half = name.to_owned();
        half.push(".new");
        // Left by an earlier try.
        self.remove_all(&half)?;
        let written = self.create(&half, readable).and_then(|mut file| {
            file.write_all(content)?;
            file.sync_all()?;
            then(&file)?;
            renameat(&*self.fd, &half, &*self.fd, name)?;
            Ok(file)
        });
        // A partial file would occupy space on a full disk.
        let file = written.inspect_err(|_| drop(self.remove_file(&half)))?;
        self.sync()?;
        Ok(file)
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&*self.fd)?)
    }

    /// Renames a file in it.
    pub fn rename(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(renameat(&*self.fd, from.as_ref(), &*self.fd, to.as_ref())?)
    }

    /// Makes a symbolic link in it.
    ///
    /// # Errors
    /// When an entry of this name exists.
    pub fn link(&self, name: impl AsRef<OsStr>, to: &Path) -> io::Result<()> {
        Ok(symlinkat(to, &*self.fd, name.as_ref())?)
    }

    /// The target of a link in it.
    pub fn read_link(&self, name: impl AsRef<OsStr>) -> io::Result<PathBuf> {
        let to = readlinkat(&*self.fd, name.as_ref(), Vec::new())?;
        Ok(PathBuf::from(OsString::from_vec(to.into_bytes())))
    }

    /// Removes a file, or a link itself. A missing entry is not an error.
    pub fn remove_file(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        match unlinkat(&*self.fd, name.as_ref(), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes an empty folder. A missing entry is not an error.
    pub fn remove_empty(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        match unlinkat(&*self.fd, name.as_ref(), AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a file, a link, or a folder with its contents. A missing entry is not an error.
    pub fn remove_all(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        remove_all(self.fd.as_fd(), name.as_ref())
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn flags(how: OFlags) -> OFlags {
    how | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// Removes an entry. The account can nest its folders arbitrarily, so a level below [`DEEPEST`] is moved to
/// the top and removed from there: descriptors and stack are needed for that many levels only.
fn remove_all(above: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    let Some(top) = removed_or_opened(above, name)? else { return Ok(()) };
    let mut moved = 0_u64;
    loop {
        let before = moved;
        empty(top.as_fd(), top.as_fd(), 0, &mut moved)?;
        match unlinkat(above, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::NOTEMPTY) if moved > before => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Opens a folder; removes anything else.
fn removed_or_opened(above: BorrowedFd<'_>, name: &OsStr) -> io::Result<Option<OwnedFd>> {
    match unlinkat(above, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(None),
        // POSIX has PERM for a folder, Linux ISDIR.
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    match openat(above, name, flags(OFlags::DIRECTORY), Mode::empty()) {
        Err(Errno::NOENT) => Ok(None),
        other => Ok(Some(other?)),
    }
}

fn empty(folder: BorrowedFd<'_>, top: BorrowedFd<'_>, depth: u32, moved: &mut u64) -> io::Result<()> {
    for name in names(folder)? {
        let Some(inner) = removed_or_opened(folder, &name)? else { continue };
        if depth == DEEPEST {
            loop {
                *moved += 1;
                match renameat(folder, &name, top, format!(".pgdyno-removed-{moved}")) {
                    // The name is taken.
                    Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                    other => break other?,
                }
            }
            continue;
        }
        empty(inner.as_fd(), top, depth + 1, moved)?;
        match unlinkat(folder, &name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn names(folder: BorrowedFd<'_>) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(folder)? {
        let name = OsString::from_vec(entry?.file_name().to_bytes().to_vec());
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    Ok(names)
}

/// Gives an open file or folder to an account.
pub(crate) fn give(file: impl AsFd, account: &Account) -> io::Result<()> {
    Ok(fchown(file, Some(Uid::from_raw(account.uid)), Some(Gid::from_raw(account.gid)))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::Home;

    /// Each level held a descriptor and a stack frame.
    #[test]
    fn folders_that_are_nested_deep_are_removed() {
        let top = tempfile::tempdir().unwrap();
        let dir = Home::at(top.path()).open().unwrap().unwrap();
        let mut inner = dir.make("deep", 0o700).unwrap();
        for level in 0..3000 {
            inner.create(format!("file-{level}"), Readable::ByUs).unwrap();
            inner = inner.make("d", 0o700).unwrap();
        }
        let deep = dir.open("deep").unwrap().unwrap();
        assert!(deep.walk(&mut |_, _, _| Ok(())).unwrap_err().to_string().contains("deeper than 32 folders"));
        drop((inner, deep));
        dir.remove_all("deep").unwrap();
        assert!(dir.names().unwrap().is_empty());
    }

    #[test]
    fn a_write_that_fails_leaves_the_old_file_alone() {
        let top = tempfile::tempdir().unwrap();
        let dir = Home::at(top.path()).open().unwrap().unwrap();
        dir.replace("kept", b"old", Readable::ByUs).unwrap();
        let fails = |_: &File| Err(io::ErrorKind::StorageFull.into());
        let error = dir.replace_with("kept".as_ref(), b"new", fails, Readable::ByUs).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!((dir.read("kept").unwrap(), dir.names().unwrap().len()), (b"old".to_vec(), 1));
    }

    #[test]
    fn what_is_no_file_of_ours_is_not_opened() {
        let top = tempfile::tempdir().unwrap();
        let dir = Home::at(top.path()).open().unwrap().unwrap();
        let at = |name: &str| top.path().join(name);
        std::fs::write(at("file"), "x").unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        std::fs::hard_link(at("file"), at("again")).unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        for name in ["link", "again", "folder"] {
            assert!(Distrust::is_in(&dir.read(name).unwrap_err()), "{name}");
            assert!(dir.append(name).is_err() && dir.create(name, Readable::ByUs).is_err(), "{name}");
        }
        assert!(Distrust::is_in(&dir.open("link").unwrap_err()));
    }
}
