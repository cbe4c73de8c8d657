//! Rows kept for `\gset` and `\aset`.

use std::ops::Range;

use protocol::postgres::{DataRow, RowDescription};
use script::{EvalError, Variables};

/// The last row of the current result, in reused memory.
#[derive(Debug, Default)]
pub(super) struct Captured {
    /// Names and values, concatenated.
    text: Vec<u8>,
    names: Vec<Range<usize>>,
    values: Vec<Option<Range<usize>>>,
    pub(super) rows: u64,
    /// Start of the values in `text`.
    values_start: usize,
    /// The current result has columns.
    described: bool,
}

impl Captured {
    /// Before a statement, and between its results.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.names.clear();
        self.values.clear();
        self.rows = 0;
        self.values_start = 0;
        self.described = false;
    }

    /// A result ended; one without columns replaces the one before it.
    pub(super) fn end(&mut self) {
        if !std::mem::take(&mut self.described) {
            self.clear();
        }
    }

    /// A result with these columns begins.
    pub(super) fn columns(&mut self, description: &RowDescription<'_>) {
        self.clear();
        self.described = true;
        for column in description.iter() {
            let start = self.text.len();
            self.text.extend_from_slice(column.name);
            self.names.push(start..self.text.len());
        }
        self.values_start = self.text.len();
    }

    /// A row came; only the last one is kept.
    pub(super) fn row(&mut self, row: &DataRow<'_>) {
        self.rows += 1;
        self.text.truncate(self.values_start);
        self.values.clear();
        for value in row.iter() {
            let start = self.text.len();
            let range = value.map(|value| {
                self.text.extend_from_slice(value);
                start..self.text.len()
            });
            self.values.push(range);
        }
    }

    /// Stores the row into variables named after its columns; the error names the variable.
    pub(super) fn store(
        &self,
        command: &'static str,
        prefix: &[u8],
        variables: &mut Variables,
    ) -> Result<(), (EvalError, String)> {
        for (name, value) in self.names.iter().zip(&self.values) {
            let (name, value) = (&self.text[name.clone()], value.clone().map(|value| &self.text[value]));
            variables.store_column(command, prefix, name, value).map_err(|error| {
                let full = [prefix, name].concat();
                (error, String::from_utf8_lossy(&full).into_owned())
            })?;
        }
        Ok(())
    }
}
