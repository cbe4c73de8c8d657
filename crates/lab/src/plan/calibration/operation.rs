//! The operations of a calibration, and their targets.

use spec::Error;
use workloads::pgbench::{self, Pgbench, QueryProtocol, ScriptSource};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Nothing: the schedule is kept, and no byte is sent.
    Nothing,
    /// One Query message, answered at once by a process that does nothing else.
    SinkSimple,
    /// The same with Bind and Execute of a prepared statement.
    SinkPrepared,
    SelectOne,
    /// pgbench's select-only, prepared.
    PointRead,
}

impl Operation {
    /// Operations with a cost, in the order they are measured.
    pub(crate) const COSTLY: [Self; 4] =
        [Self::SinkSimple, Self::SinkPrepared, Self::SelectOne, Self::PointRead];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing to do",
            Self::SinkSimple => "null sink, simple",
            Self::SinkPrepared => "null sink, prepared",
            Self::SelectOne => "SELECT 1",
            Self::PointRead => "prepared point read",
        }
    }

    /// The operation of a run.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::COSTLY.into_iter().chain([Self::Nothing]).find(|operation| operation.name() == name)
    }

    /// Whether a real server is used; else the sink.
    pub(crate) fn is_server(self) -> bool {
        matches!(self, Self::SelectOne | Self::PointRead)
    }

    pub(crate) fn workload(self) -> Result<Pgbench, Error> {
        let mode = match self {
            Self::Nothing | Self::SinkSimple | Self::SelectOne => QueryProtocol::Simple,
            Self::SinkPrepared | Self::PointRead => QueryProtocol::Prepared,
        };
        let options = pgbench::PgbenchOptions { mode, vacuum: false, ..pgbench::PgbenchOptions::default() };
        let text =
            |text: &[u8]| ScriptSource::Text { name: self.name().to_owned(), text: text.to_vec(), weight: 1 };
        let source = match self {
            Self::PointRead => ScriptSource::Builtin("select-only".to_owned()),
            Self::Nothing => text(b"\\set nothing 0"),
            _ => text(b"SELECT 1;"),
        };
        Pgbench::with_scripts(&options, &[source])
    }
}
