//! Just enough of DER to walk through a certificate.

pub(super) const BOOLEAN: u8 = 0x01;
pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OID: u8 = 0x06;
pub(super) const UTC_TIME: u8 = 0x17;
pub(super) const GENERALIZED_TIME: u8 = 0x18;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;

/// The constructed, context-specific tag with this number.
pub(super) const fn context(number: u8) -> u8 {
    0xa0 | number
}

/// A value with its tag.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element<'a> {
    pub(super) tag: u8,
    pub(super) content: &'a [u8],
    /// Tag, length and content.
    pub(super) whole: &'a [u8],
}

/// Values one after the other.
#[derive(Debug, Clone)]
pub(super) struct Der<'a> {
    rest: &'a [u8],
}

impl<'a> Der<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Der { rest: bytes }
    }

    /// The content of the next value, which must have this tag.
    pub(super) fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.element(tag).map(|element| element.content)
    }

    /// The next value, which must have this tag.
    pub(super) fn element(&mut self, tag: u8) -> Option<Element<'a>> {
        self.next().filter(|element| element.tag == tag)
    }

    /// The content of the next value if it has this tag; else it stays.
    pub(super) fn optional(&mut self, tag: u8) -> Option<&'a [u8]> {
        if self.rest.first() == Some(&tag) { self.expect(tag) } else { None }
    }
}

impl<'a> Iterator for Der<'a> {
    type Item = Element<'a>;

    /// The next value; `None` at the end and where the bytes are no DER.
    fn next(&mut self) -> Option<Element<'a>> {
        let (&[tag, length], behind) = self.rest.split_first_chunk::<2>()?;
        let (length, behind) = match length {
            0..=0x7f => (usize::from(length), behind),
            0x81..=0x84 => {
                let (digits, behind) = behind.split_at_checked(usize::from(length & 0x7f))?;
                (digits.iter().fold(0, |sum, &digit| sum << 8 | usize::from(digit)), behind)
            }
            _ => return None,
        };
        let (content, rest) = behind.split_at_checked(length)?;
        let whole = &self.rest[..self.rest.len() - rest.len()];
        self.rest = rest;
        Some(Element { tag, content, whole })
    }
}
