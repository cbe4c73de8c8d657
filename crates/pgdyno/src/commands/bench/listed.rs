//! Options that take one value for a run, and may list several for a comparison: `-c 1,4,16`.

use std::fmt::Display;
use std::str::FromStr;

use clap::ValueEnum;

use super::query_protocol::QueryProtocolArg;
use super::usage_with;

/// Different values in the order typed; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands) struct Listed<T>(Vec<T>);

impl<T: Copy + PartialEq + Display> Listed<T> {
    /// `what` a value must be; `read` gives `None` for an invalid one.
    fn read(text: &str, what: &str, read: impl Fn(&str) -> Option<T>) -> Result<Self, String> {
        let values: Option<Vec<T>> = text.split(',').map(|one| read(one.trim())).collect();
        let values = values.ok_or_else(|| format!("must be {what}"))?;
        let again = values.iter().enumerate().find(|(at, value)| values[..*at].contains(value));
        match again {
            Some((_, value)) => Err(format!("has {value} twice: each stands once")),
            None => Ok(Self(values)),
        }
    }

    pub(in crate::commands) fn each(&self) -> &[T] {
        &self.0
    }

    /// The first one; where lists are refused, the only one.
    pub(super) fn first(&self) -> T {
        self.0[0]
    }

    pub(super) fn is_several(&self) -> bool {
        self.0.len() > 1
    }

    /// Refuses a list where one value is needed.
    ///
    /// # Errors
    /// Names the option, and what takes a list.
    pub(in crate::commands) fn only(&self, option: &str, hint: &str) -> anyhow::Result<T> {
        if !self.is_several() {
            return Ok(self.first());
        }
        let all: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        Err(usage_with(
            &format!("{option} {} lists several values, and one run has one", all.join(",")),
            hint,
        ))
    }
}

pub(super) fn clients(text: &str) -> Result<Listed<u32>, String> {
    let number = |one: &str| u32::from_str(one).ok().filter(|clients| *clients >= 1);
    Listed::read(text, "a number of clients, at least 1, or several with --against, such as 1,4,16", number)
}

pub(super) fn modes(text: &str) -> Result<Listed<QueryProtocolArg>, String> {
    let what = "simple, extended or prepared, or several with --against, such as simple,prepared";
    Listed::read(text, what, |one| QueryProtocolArg::from_str(one, false).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_or_several_each_once() {
        assert_eq!(clients("4").unwrap().each(), [4]);
        assert_eq!(clients("1, 4,16").unwrap().each(), [1, 4, 16]);
        for (text, said) in
            [("0", "at least 1"), ("4,", "at least 1"), ("4;8", "1,4,16"), ("4,1,4", "has 4 twice")]
        {
            let error = clients(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
        assert_eq!(
            modes("simple,prepared").unwrap().each(),
            [QueryProtocolArg::Simple, QueryProtocolArg::Prepared]
        );
        assert!(modes("fast").unwrap_err().contains("simple, extended or prepared"));
    }

    #[test]
    fn a_list_is_refused_where_one_value_is_needed() {
        assert_eq!(clients("4").unwrap().only("-c", "").unwrap(), 4);
        let error = clients("1,4").unwrap().only("-c", "x").unwrap_err().to_string();
        assert_eq!(error, "-c 1,4 lists several values, and one run has one");
    }
}
