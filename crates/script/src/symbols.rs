//! Names of variables, numbered once for all scripts of a run.

use std::collections::HashMap;

/// The number of a variable's name, valid for the [`Symbols`] that assigned it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u32);

impl Slot {
    #[inline]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// All variable names in the scripts of a run, each with its [`Slot`].
///
/// Other names cannot be read, so they need no slot: storing to them only checks the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbols {
    slots: HashMap<Box<[u8]>, Slot>,
    names: Vec<Box<[u8]>>,
}

impl Symbols {
    /// `:client_id`, the client's number from 0.
    pub const CLIENT_ID: Slot = Slot(0);
    /// `:scale`, the scale factor.
    pub const SCALE: Slot = Slot(1);
    /// `:random_seed`, the seed of the run.
    pub const RANDOM_SEED: Slot = Slot(2);
    /// `:default_seed`, the default seed of the hash functions and `permute`.
    pub const DEFAULT_SEED: Slot = Slot(3);

    /// The automatic variables only.
    pub fn new() -> Self {
        let mut symbols = Self { slots: HashMap::new(), names: Vec::new() };
        for name in ["client_id", "scale", "random_seed", "default_seed"] {
            symbols.intern(name);
        }
        symbols
    }

    /// The slot of a name, a new one if it has none.
    pub fn intern(&mut self, name: impl AsRef<[u8]>) -> Slot {
        let name = name.as_ref();
        if let Some(&slot) = self.slots.get(name) {
            return slot;
        }
        let slot = Slot(self.names.len() as u32);
        self.names.push(name.into());
        self.slots.insert(name.into(), slot);
        slot
    }

    /// The slot of a name, if a script mentions it.
    pub fn find(&self, name: impl AsRef<[u8]>) -> Option<Slot> {
        self.slots.get(name.as_ref()).copied()
    }

    /// The name of a slot, as written.
    pub fn name(&self, slot: Slot) -> &[u8] {
        self.names.get(slot.index()).map_or(b"", |name| name)
    }

    /// The name of a slot for messages.
    pub fn display_name(&self, slot: Slot) -> String {
        String::from_utf8_lossy(self.name(slot)).into_owned()
    }

    /// Number of names, including the automatic ones.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.names.len()
    }
}

impl Default for Symbols {
    fn default() -> Self {
        Self::new()
    }
}

/// A letter, `_` or a byte above 127, followed by these or digits.
pub fn is_valid_name(name: &[u8]) -> bool {
    name_len(name) == name.len() && !name.is_empty()
}

/// Length of the variable name at the start; 0 if there is none.
pub(crate) fn name_len(text: &[u8]) -> usize {
    match text.first() {
        Some(&first) if is_name_start(first) => text.iter().take_while(|byte| is_name_part(**byte)).count(),
        _ => 0,
    }
}

pub(crate) fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || !byte.is_ascii()
}

pub(crate) fn is_name_part(byte: u8) -> bool {
    is_name_start(byte) || byte.is_ascii_digit()
}
