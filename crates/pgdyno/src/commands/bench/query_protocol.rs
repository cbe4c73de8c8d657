//! How statements are sent: `-M`.

use std::fmt::{self, Display};

use clap::ValueEnum;

/// Query protocol, as in pgbench.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::commands) enum QueryProtocolArg {
    /// Variables are substituted in the text
    Simple,
    /// Parse, bind and execute each time
    Extended,
    /// Parse once per connection
    Prepared,
}

impl QueryProtocolArg {
    /// pgbench's name of it.
    pub(in crate::commands) fn name(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Extended => "extended",
            Self::Prepared => "prepared",
        }
    }
}

impl Display for QueryProtocolArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
