//! From bytes to pixels. All input is untrusted: sides are limited before pixels are.

use std::io::Cursor;

use image_webp::WebPDecoder;
use png::{ColorType, Decoder, Transformations};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::{Format, MOST_SIDE, Picture};

/// Why bytes cannot be decoded as a picture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BrokenPicture(String);

/// Decodes a picture of any known format.
///
/// # Errors
/// When it is none, is damaged, or is larger than [`MOST_SIDE`].
pub fn decode(bytes: &[u8]) -> Result<Picture, BrokenPicture> {
    let Some(format) = Format::of(bytes) else {
        return Err(BrokenPicture("it is not a PNG, JPEG or WebP picture".to_owned()));
    };
    let (width, height, pixels) = match format {
        Format::Png => png(bytes),
        Format::Jpeg => jpeg(bytes),
        Format::Webp => webp(bytes),
    }?;
    Ok(Picture { format, width, height, pixels })
}

type Pixels = (u32, u32, Vec<[u8; 4]>);

fn png(bytes: &[u8]) -> Result<Pixels, BrokenPicture> {
    let broken = |error: png::DecodingError| BrokenPicture(error.to_string());
    let mut decoder = Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(Transformations::normalize_to_color8() | Transformations::ALPHA);
    let mut reader = decoder.read_info().map_err(broken)?;
    let (width, height) = (reader.info().width, reader.info().height);
    fits(width, height)?;
    let mut buffer = vec![0; reader.output_buffer_size().unwrap_or_default()];
    let frame = reader.next_frame(&mut buffer).map_err(broken)?;
    buffer.truncate(frame.buffer_size());
    let pixels = match frame.color_type {
        ColorType::GrayscaleAlpha => buffer.chunks_exact(2).map(|of| [of[0], of[0], of[0], of[1]]).collect(),
        _ => of_rgba(&buffer),
    };
    Ok((width, height, multiplied(pixels)))
}

fn jpeg(bytes: &[u8]) -> Result<Pixels, BrokenPicture> {
    let most = MOST_SIDE as usize;
    let options = DecoderOptions::default()
        .set_max_width(most)
        .set_max_height(most)
        .jpeg_set_out_colorspace(ColorSpace::RGBA);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    let buffer = decoder.decode().map_err(|error| BrokenPicture(format!("{error:?}")))?;
    let (width, height) = decoder.dimensions().unwrap_or_default();
    Ok((width as u32, height as u32, of_rgba(&buffer)))
}

fn webp(bytes: &[u8]) -> Result<Pixels, BrokenPicture> {
    let broken = |error: image_webp::DecodingError| BrokenPicture(error.to_string());
    let mut decoder = WebPDecoder::new(Cursor::new(bytes)).map_err(broken)?;
    let (width, height) = decoder.dimensions();
    fits(width, height)?;
    let mut buffer = vec![0; decoder.output_buffer_size().unwrap_or_default()];
    decoder.read_image(&mut buffer).map_err(broken)?;
    let pixels = match decoder.has_alpha() {
        true => of_rgba(&buffer),
        false => buffer.chunks_exact(3).map(|of| [of[0], of[1], of[2], u8::MAX]).collect(),
    };
    Ok((width, height, multiplied(pixels)))
}

fn fits(width: u32, height: u32) -> Result<(), BrokenPicture> {
    match width.max(height) {
        ..=MOST_SIDE => Ok(()),
        _ => Err(BrokenPicture(format!("{width} x {height} pixels are more than a tile has"))),
    }
}

fn of_rgba(buffer: &[u8]) -> Vec<[u8; 4]> {
    buffer.chunks_exact(4).map(|of| [of[0], of[1], of[2], of[3]]).collect()
}

/// Colours of transparent pixels are invisible, whatever they are.
fn multiplied(mut pixels: Vec<[u8; 4]>) -> Vec<[u8; 4]> {
    for [red, green, blue, alpha] in &mut pixels {
        for colour in [red, green, blue] {
            *colour = (u16::from(*colour) * u16::from(*alpha) / 255) as u8;
        }
    }
    pixels
}
