//! The variables a client starts with.

use std::sync::Arc;

use script::{Symbols, Value, Variables};

use super::prepare::Program;

/// What the automatic variables hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Automatic {
    pub(super) client: usize,
    pub(super) scale: u64,
    pub(super) seed: u64,
    pub(super) default_seed: Option<i64>,
}

/// Variables with `-D`'s values and, where they are not among those, the automatic ones.
pub(super) fn starting(program: &Program, symbols: &Arc<Symbols>, automatic: Automatic) -> Variables {
    let mut variables = Variables::new(Arc::clone(symbols));
    for (name, value) in &program.options.define {
        // Names were checked when the options were read.
        let _ = variables.define("option", name.as_bytes(), value.as_bytes());
    }
    variables.set_default(Symbols::CLIENT_ID, Value::Int(automatic.client as i64));
    variables.set_default(Symbols::SCALE, Value::Int(automatic.scale as i64));
    variables.set_default(Symbols::RANDOM_SEED, Value::Int(automatic.seed as i64));
    if let Some(seed) = automatic.default_seed {
        variables.set_default(Symbols::DEFAULT_SEED, Value::Int(seed));
    }
    variables
}

/// Whether `-D` sets the seed of the hash functions, so that none is drawn for it.
pub(super) fn default_seed_given(program: &Program) -> bool {
    program.options.define.contains_key("default_seed")
}
