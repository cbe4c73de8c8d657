//! A rectangle as a GeoPackage stores it: a header with its bounds, then well-known binary.

/// The web map's reference system.
pub(super) const SRS: i32 = 3857;

const VERSION: u8 = 0;
const FLAGS: u8 = 0b0000_0011;

/// Well-known binary: little-endian, a polygon of one ring of five points.
const LITTLE_ENDIAN: u8 = 1;
const POLYGON: u32 = 3;

/// West, south, east and north as a polygon, counter-clockwise from the south-west.
pub(super) fn polygon([west, south, east, north]: [f64; 4]) -> Vec<u8> {
    let mut blob = b"GP".to_vec();
    blob.extend([VERSION, FLAGS]);
    blob.extend(SRS.to_le_bytes());
    blob.extend([west, east, south, north].into_iter().flat_map(f64::to_le_bytes));
    blob.push(LITTLE_ENDIAN);
    blob.extend([POLYGON, 1, 5].into_iter().flat_map(u32::to_le_bytes));
    let ring = [[west, south], [east, south], [east, north], [west, north], [west, south]];
    blob.extend(ring.into_iter().flatten().flat_map(f64::to_le_bytes));
    blob
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_polygon_is_written_as_the_specification_says() {
        let blob = polygon([1.0, 2.0, 3.0, 4.0]);
        assert_eq!(blob.len(), 8 + 4 * 8 + 1 + 3 * 4 + 5 * 16);
        assert_eq!(&blob[..8], [0x47, 0x50, 0, 3, 0x11, 0x0f, 0, 0]);
        let number = |at: usize| f64::from_le_bytes(blob[at..at + 8].try_into().expect("8 bytes"));
        assert_eq!([8, 16, 24, 32].map(number), [1.0, 3.0, 2.0, 4.0]);
        assert_eq!(&blob[40..53], [1, 3, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0]);
        let ring: Vec<_> = (0..10).map(|place| number(53 + 8 * place)).collect();
        assert_eq!(ring, [1.0, 2.0, 3.0, 2.0, 3.0, 4.0, 1.0, 4.0, 1.0, 2.0]);
    }
}
