//! The watchdog's arguments: the program, its account and folder, and how to stop it.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::{Account, Program, StopWay};

/// A watchdog's order. The program inherits the watchdog's environment.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) program: Program,
    /// Start the program, report its pid, and exit.
    pub(super) detached: bool,
}

impl Order {
    pub(super) fn to_args(&self) -> Vec<OsString> {
        let mut args: Vec<OsString> = Vec::new();
        let stop = match self.program.stop {
            StopWay::Postgres => "postgres",
            StopWay::Terminate => "terminate",
            StopWay::Quit => "quit",
        };
        args.extend(["--stop".into(), stop.into()]);
        if let Some(account) = &self.program.account {
            args.extend(["--account".into(), format!("{}:{}", account.uid, account.gid).into()]);
        }
        if let Some(folder) = &self.program.folder {
            args.extend(["--folder".into(), folder.clone().into()]);
        }
        for folder in &self.program.leaves {
            args.extend(["--leaves".into(), folder.clone().into()]);
        }
        if self.program.whole {
            args.push("--whole".into());
        }
        if self.program.descendants {
            args.push("--descendants".into());
        }
        if self.detached {
            args.push("--detached".into());
        }
        args.push("--".into());
        args.push(self.program.path.clone().into());
        args.extend(self.program.args.iter().cloned());
        args
    }

    /// The error names the invalid argument.
    pub(super) fn parse(args: &[OsString]) -> Result<Self, String> {
        let mut words = args.iter();
        let mut order = Self { program: Program::new(PathBuf::new()), detached: false };
        loop {
            let word = words.next().ok_or("the program to watch is missing")?;
            match word.to_str() {
                Some("--stop") => order.program.stop = stop_way(value(&mut words, word)?)?,
                Some("--account") => order.program.account = Some(account(value(&mut words, word)?)?),
                Some("--folder") => order.program.folder = Some(PathBuf::from(value(&mut words, word)?)),
                Some("--leaves") => order.program.leaves.push(value(&mut words, word)?.into()),
                Some("--whole") => order.program.whole = true,
                Some("--descendants") => order.program.descendants = true,
                Some("--detached") => order.detached = true,
                Some("--") => break,
                _ => return Err(format!("unknown argument {}", word.display())),
            }
        }
        order.program.path = words.next().ok_or("the program to watch is missing")?.into();
        order.program.args = words.cloned().collect();
        Ok(order)
    }
}

fn value<'a>(words: &mut impl Iterator<Item = &'a OsString>, name: &OsStr) -> Result<&'a OsStr, String> {
    words.next().map(OsString::as_os_str).ok_or_else(|| format!("{} needs a value", name.display()))
}

fn stop_way(word: &OsStr) -> Result<StopWay, String> {
    match word.to_str() {
        Some("postgres") => Ok(StopWay::Postgres),
        Some("terminate") => Ok(StopWay::Terminate),
        Some("quit") => Ok(StopWay::Quit),
        _ => Err(format!("unknown way to stop {}", word.display())),
    }
}

fn account(word: &OsStr) -> Result<Account, String> {
    let parsed = word.to_str().and_then(|word| {
        let (uid, gid) = word.split_once(':')?;
        Some(Account { name: uid.to_owned(), uid: uid.parse().ok()?, gid: gid.parse().ok()? })
    });
    parsed.ok_or_else(|| format!("account {} is not uid:gid", word.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn orders_survive_the_way() {
        for text in [
            "--stop postgres --account 101:104 --folder /data --detached -- /bin/postgres -D --stop",
            "--stop terminate --leaves /run/a --leaves /b -- sleep 5",
            "--stop terminate --whole -- sleep 5",
            "--stop terminate --whole --descendants -- sleep 5",
            "--stop terminate -- sleep 5",
            "--stop quit -- sleep 5",
        ] {
            assert_eq!(Order::parse(&words(text)).unwrap().to_args(), words(text));
        }
    }

    #[test]
    fn wrong_orders_are_named() {
        let cases = [
            ("--stop gently -- x", "unknown way to stop gently"),
            ("--account 101 -- x", "account 101 is not uid:gid"),
            ("--folder", "--folder needs a value"),
            ("--frobnicate", "unknown argument --frobnicate"),
            ("--detached --", "the program to watch is missing"),
        ];
        for (text, wanted) in cases {
            assert_eq!(Order::parse(&words(text)).unwrap_err(), wanted);
        }
    }
}
