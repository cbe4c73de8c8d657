//! Protobuf's wire format, as far as tiles need it.

use super::Broken;

pub(super) enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Four([u8; 4]),
    Eight([u8; 8]),
}

/// Takes the next field and its number from the front; `bytes` is not empty.
pub(super) fn field<'a>(bytes: &mut &'a [u8]) -> Result<(u64, Field<'a>), Broken> {
    let key = varint(bytes)?;
    let field = match key & 7 {
        0 => Field::Number(varint(bytes)?),
        1 => Field::Eight(fixed(bytes)?),
        2 => {
            let length = varint(bytes)?;
            Field::Bytes(take(bytes, length)?)
        }
        5 => Field::Four(fixed(bytes)?),
        other => return Err(Broken::WireType(other as u8)),
    };
    Ok((key >> 3, field))
}

/// Calls `take` with each field of a message and its number.
pub(super) fn each_field<'a>(
    mut bytes: &'a [u8],
    mut visit: impl FnMut(u64, Field<'a>) -> Result<(), Broken>,
) -> Result<(), Broken> {
    while !bytes.is_empty() {
        let (number, field) = field(&mut bytes)?;
        visit(number, field)?;
    }
    Ok(())
}

fn take<'a>(bytes: &mut &'a [u8], length: u64) -> Result<&'a [u8], Broken> {
    let length = usize::try_from(length).map_err(|_| Broken::Truncated)?;
    let (taken, rest) = bytes.split_at_checked(length).ok_or(Broken::Truncated)?;
    *bytes = rest;
    Ok(taken)
}

fn fixed<const LENGTH: usize>(bytes: &mut &[u8]) -> Result<[u8; LENGTH], Broken> {
    let (taken, rest) = bytes.split_first_chunk().ok_or(Broken::Truncated)?;
    *bytes = rest;
    Ok(*taken)
}

/// Takes a varint from the front.
pub(super) fn varint(bytes: &mut &[u8]) -> Result<u64, Broken> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(Broken::Truncated)?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Broken::Truncated)
}

pub(super) fn skip_varints(bytes: &mut &[u8], count: usize) -> Result<(), Broken> {
    if count == 0 {
        return Ok(());
    }
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte < 0x80);
    let (last, _) = ends
        .take(count)
        .enumerate()
        .find_map(|(number, end)| (number + 1 == count).then_some(end))
        .ok_or(Broken::Truncated)?;
    *bytes = &bytes[last + 1..];
    Ok(())
}

/// A signed number from its zigzag form.
pub(super) fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}
