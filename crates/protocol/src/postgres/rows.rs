//! Rows and their description, borrowed from the receive buffer.

use super::frame::{FrameError, Reader};

/// Format of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ValueFormat {
    /// Text, as psql shows it.
    #[default]
    Text,
    /// The type's binary form.
    Binary,
}

impl ValueFormat {
    /// The protocol's number.
    #[must_use]
    pub fn code(self) -> i16 {
        match self {
            ValueFormat::Text => 0,
            ValueFormat::Binary => 1,
        }
    }
}

/// One row. Values are slices of the receive buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataRow<'a> {
    columns: u16,
    /// For each column a length (-1 for NULL) and that many bytes; validated on construction.
    body: &'a [u8],
}

impl<'a> DataRow<'a> {
    pub(crate) fn read(tag: u8, body: &'a [u8]) -> Result<Self, FrameError> {
        let mut reader = Reader::new(tag, body);
        let columns = reader.u16()?;
        let values = reader.rest();
        for _ in 0..columns {
            if let Ok(length) = usize::try_from(reader.i32()?) {
                reader.take(length)?;
            }
        }
        match reader.rest() {
            [] => Ok(DataRow { columns, body: values }),
            _ => Err(reader.malformed("longer than its columns")),
        }
    }

    /// Number of columns.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.columns)
    }

    /// True for a row without columns (`SELECT;` gives such rows).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.columns == 0
    }

    /// Bytes of all values together, without lengths.
    #[must_use]
    pub fn payload(&self) -> usize {
        self.body.len().saturating_sub(4 * self.len())
    }

    /// The value of column `index`, counted from 0; `None` for NULL and beyond the last column.
    #[must_use]
    pub fn column(&self, index: usize) -> Option<&'a [u8]> {
        self.iter().nth(index).flatten()
    }

    /// The values from left to right; NULL is `None`.
    #[must_use]
    pub fn iter(&self) -> Values<'a> {
        Values { left: self.columns, rest: self.body }
    }
}

impl<'a> IntoIterator for DataRow<'a> {
    type Item = Option<&'a [u8]>;
    type IntoIter = Values<'a>;

    fn into_iter(self) -> Values<'a> {
        self.iter()
    }
}

/// The values of a [`DataRow`].
#[derive(Debug, Clone)]
pub struct Values<'a> {
    left: u16,
    rest: &'a [u8],
}

impl<'a> Iterator for Values<'a> {
    type Item = Option<&'a [u8]>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let (length, rest) = self.rest.split_first_chunk::<4>()?;
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else {
            self.rest = rest;
            return Some(None);
        };
        let (value, rest) = rest.split_at_checked(length)?;
        self.rest = rest;
        Some(Some(value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::from(self.left), Some(usize::from(self.left)))
    }
}

impl ExactSizeIterator for Values<'_> {}

/// One column of a [`RowDescription`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column<'a> {
    /// In the client encoding.
    pub name: &'a [u8],
    /// OID of the table, 0 if none.
    pub table: u32,
    /// Number in that table, 0 if none.
    pub attribute: i16,
    pub type_oid: u32,
    /// Bytes of the type, negative when it varies.
    pub type_size: i16,
    /// -1 if none.
    pub type_modifier: i32,
    /// Text when only a statement was described.
    pub format: ValueFormat,
}

/// The columns of the rows that follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowDescription<'a> {
    columns: u16,
    body: &'a [u8],
}

impl<'a> RowDescription<'a> {
    pub(crate) fn read(tag: u8, body: &'a [u8]) -> Result<Self, FrameError> {
        let mut reader = Reader::new(tag, body);
        let columns = reader.u16()?;
        let description = RowDescription { columns, body: reader.rest() };
        for _ in 0..columns {
            column(&mut reader)?;
        }
        match reader.rest() {
            [] => Ok(description),
            _ => Err(reader.malformed("longer than its columns")),
        }
    }

    /// Number of columns.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.columns)
    }

    /// True when the rows have no columns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.columns == 0
    }

    /// The columns from left to right.
    pub fn iter(&self) -> impl Iterator<Item = Column<'a>> + use<'a> {
        let mut reader = Reader::new(b'T', self.body);
        (0..self.columns).map_while(move |_| column(&mut reader).ok())
    }
}

fn column<'a>(reader: &mut Reader<'a>) -> Result<Column<'a>, FrameError> {
    Ok(Column {
        name: reader.cstr()?,
        table: reader.u32()?,
        attribute: reader.i16()?,
        type_oid: reader.u32()?,
        type_size: reader.i16()?,
        type_modifier: reader.i32()?,
        format: if reader.i16()? == 0 { ValueFormat::Text } else { ValueFormat::Binary },
    })
}
