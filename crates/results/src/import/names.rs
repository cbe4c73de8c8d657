//! Which log files belong to one run: `PREFIX.PID`, `PREFIX.PID.1`, `PREFIX.PID.2`, … are its threads.

use std::path::{Path, PathBuf};

/// Groups log files by run, in the given order. Adds existing files of other threads.
pub(super) fn by_run(files: &[PathBuf], exists: impl Fn(&Path) -> bool) -> Vec<Vec<PathBuf>> {
    let there = |path: &Path| files.iter().any(|file| file == path) || exists(path);
    let mut runs: Vec<(PathBuf, Vec<PathBuf>)> = Vec::new();
    for file in files {
        let first = first_of(file).filter(|first| there(first)).unwrap_or_else(|| file.clone());
        let run = match runs.iter_mut().find(|(known, _)| *known == first) {
            Some((_, run)) => run,
            None => {
                let run = with_threads(&first, &there);
                runs.push((first, run));
                &mut runs.last_mut().expect("just pushed").1
            }
        };
        // A thread after a gap: its file was named explicitly.
        if !run.contains(file) {
            run.push(file.clone());
        }
    }
    runs.into_iter().map(|(_, run)| run).collect()
}

/// The first thread's file, for any thread's file.
fn first_of(file: &Path) -> Option<PathBuf> {
    let name = file.file_name()?.to_str()?;
    let (first, thread) = name.rsplit_once('.')?;
    (is_number(thread) && ends_with_pid(first)).then(|| file.with_file_name(first))
}

fn with_threads(first: &Path, there: &impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut run = vec![first.to_owned()];
    let Some(name) = first.file_name().and_then(|name| name.to_str()).filter(|name| ends_with_pid(name))
    else {
        return run;
    };
    let threads = (1u32..).map(|thread| first.with_file_name(format!("{name}.{thread}")));
    run.extend(threads.take_while(|file| there(file)));
    run
}

fn ends_with_pid(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(prefix, pid)| !prefix.is_empty() && is_number(pid))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grouped(files: &[&str], beside: &[&str]) -> Vec<Vec<String>> {
        let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        let runs = by_run(&files, |path| beside.iter().any(|file| Path::new(file) == path));
        runs.into_iter().map(|run| run.iter().map(|file| file.display().to_string()).collect()).collect()
    }

    #[test]
    fn threads_of_a_run_come_together() {
        type Case<'a> = (&'a [&'a str], &'a [&'a str], &'a [&'a [&'a str]]);
        let cases: &[Case<'_>] = &[
            (&["l.12", "l.12.1", "l.9"], &[], &[&["l.12", "l.12.1"], &["l.9"]]),
            (&["d/l.12.1", "d/l.12"], &[], &[&["d/l.12", "d/l.12.1"]]),
            (&["l.12"], &["l.12.1", "l.12.2", "l.12.4"], &[&["l.12", "l.12.1", "l.12.2"]]),
            (&["l.12.2"], &["l.12", "l.12.1"], &[&["l.12", "l.12.1", "l.12.2"]]),
            (&["l.12", "l.12.7"], &[], &[&["l.12", "l.12.7"]]),
            (&["l.1", "l.2", "l.1.1"], &[], &[&["l.1", "l.1.1"], &["l.2"]]),
            (&["l.12.1"], &[], &[&["l.12.1"]]),
            (&["log", "other.log"], &["log.1"], &[&["log"], &["other.log"]]),
            (&["/dev/fd/63", "-"], &[], &[&["/dev/fd/63"], &["-"]]),
        ];
        for (files, beside, wanted) in cases {
            assert_eq!(grouped(files, beside), *wanted, "{files:?} beside {beside:?}");
        }
    }
}
