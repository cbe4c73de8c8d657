//! pgbench's script language: parser, evaluator, random streams.
//!
//! [`Scripts`] holds the weighted scripts of a run; each [`Script`] is a list of [`ScriptCommand`]s. A client keeps
//! its [`Variables`], its random stream ([`Random`], from [`Streams`]) and a [`Cursor`] for its position. The crate does
//! no I/O: the caller passes text in and gets bytes out, sends the SQL, sleeps, runs shell commands and prints.
//!
//! Results agree with pgbench 15 and later to the last bit: the same seed gives the same values, statements and
//! messages. Deliberate differences (no 32-bit overflow of `\sleep`, a limit on nesting) are documented at the item.
//!
//! ```
//! use std::sync::Arc;
//! use script::{Action, Scripts, Streams, Value, Variables};
//!
//! let mut scripts = Scripts::new();
//! scripts.add("my.sql", b"\\set id random(1, 10)\nselect * from t where id = :id;", 1)?;
//! let mut streams = Streams::new(5432, 1, 1, false);
//! let mut variables = Variables::new(Arc::new(scripts.symbols().clone()));
//! let mut sql = Vec::new();
//! for command in &scripts.scripts()[0].commands {
//!     match &command.action {
//!         Action::Set { target, expression } => {
//!             let value = expression.eval(&mut variables, &mut streams.clients[0], &mut |_| {})?;
//!             assert!(matches!(value, Value::Int(1..=10)));
//!             target.store(&mut variables, "set", value)?;
//!         }
//!         Action::Sql(statement) => statement.append_simple(&variables, &mut sql),
//!         _ => {}
//!     }
//! }
//! assert!(sql.starts_with(b"select * from t where id = "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod builtin;
mod command;
mod cursor;
mod error;
mod expression;
mod hash;
mod lexer;
mod literals;
mod meta;
mod number;
mod random;
mod render;
mod script;
mod scripts;
mod seed;
mod shell;
mod sleep;
mod streams;
mod symbols;
mod value;
mod variables;
mod weight;

pub use builtin::{BUILTINS, Builtin, BuiltinError};
pub use command::{Action, AssignmentTarget, ScriptCommand};
pub use cursor::Cursor;
pub use error::{ConditionProblem, EvalError, ParseError, SyntaxError};
pub use expression::Expression;
pub use hash::{fnv1a, murmur2, permute};
pub use literals::without_literals;
pub use random::Random;
pub use render::{Capture, Statement};
pub use script::Script;
pub use scripts::Scripts;
pub use seed::{Seed, SeedError};
pub use shell::{Shell, shell_result};
pub use sleep::{Sleep, SleepUnit};
pub use streams::{ScriptChooser, Streams, ThreadRandom};
pub use symbols::{Slot, Symbols, is_valid_name};
pub use value::{DebugLine, Value};
pub use variables::Variables;
pub use weight::{WeightError, Weighted};
