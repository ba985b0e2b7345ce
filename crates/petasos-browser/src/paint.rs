//! Numbers painted onto a picture of a page, so that what is seen can be named. The page itself is
//! not touched.

use std::io::Cursor;

use image::{ImageFormat, Rgba, RgbaImage};

/// A box on the picture, in its pixels, with the number of a reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Label {
    pub(crate) number: u32,
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

const INK: Rgba<u8> = Rgba([255, 255, 255, 255]);
const COLOURS: [Rgba<u8>; 6] = [
    Rgba([200, 30, 30, 255]),
    Rgba([20, 90, 200, 255]),
    Rgba([20, 130, 60, 255]),
    Rgba([150, 60, 170, 255]),
    Rgba([180, 100, 0, 255]),
    Rgba([0, 120, 130, 255]),
];
/// Five columns of seven dots, the lowest bit at the top: `0`–`9`, `@`, `e`.
const GLYPHS: [[u8; 5]; 12] = [
    [0x3e, 0x51, 0x49, 0x45, 0x3e],
    [0x00, 0x42, 0x7f, 0x40, 0x00],
    [0x42, 0x61, 0x51, 0x49, 0x46],
    [0x21, 0x41, 0x45, 0x4b, 0x31],
    [0x18, 0x14, 0x12, 0x7f, 0x10],
    [0x27, 0x45, 0x45, 0x45, 0x39],
    [0x3c, 0x4a, 0x49, 0x49, 0x30],
    [0x01, 0x71, 0x09, 0x05, 0x03],
    [0x36, 0x49, 0x49, 0x49, 0x36],
    [0x06, 0x49, 0x49, 0x29, 0x1e],
    [0x3e, 0x41, 0x5d, 0x55, 0x1e],
    [0x38, 0x54, 0x54, 0x54, 0x18],
];
const WIDE: i64 = 6;
const HIGH: i64 = 9;

/// Paints the labels; the picture comes back as PNG. `None` when it cannot be read.
pub(crate) fn paint(picture: &[u8], labels: &[Label]) -> Option<Vec<u8>> {
    let mut canvas = image::load_from_memory(picture).ok()?.to_rgba8();
    for label in labels {
        let colour = usize::try_from(label.number).ok()? % COLOURS.len();
        one(&mut canvas, label, *COLOURS.get(colour)?);
    }
    let mut bytes = Cursor::new(Vec::new());
    canvas.write_to(&mut bytes, ImageFormat::Png).ok()?;
    Some(bytes.into_inner())
}

fn one(canvas: &mut RgbaImage, label: &Label, colour: Rgba<u8>) {
    let (left, top) = (whole(label.x), whole(label.y));
    let (right, bottom) = (whole(label.x + label.width), whole(label.y + label.height));
    for x in left..=right {
        dot(canvas, x, top, colour);
        dot(canvas, x, bottom, colour);
    }
    for y in top..=bottom {
        dot(canvas, left, y, colour);
        dot(canvas, right, y, colour);
    }
    let text = format!("@e{}", label.number);
    let width = i64::try_from(text.len()).unwrap_or(0) * WIDE + 1;
    // Above the box where there is room, else inside it.
    let at = if top >= HIGH { top - HIGH } else { top };
    for y in at..at + HIGH {
        for x in left..left + width {
            dot(canvas, x, y, colour);
        }
    }
    let mut x = left + 1;
    for letter in text.bytes() {
        let glyph = match letter {
            b'0'..=b'9' => usize::from(letter - b'0'),
            b'@' => 10,
            _ => 11,
        };
        for (column, dots) in (0_i64..).zip(GLYPHS.get(glyph).copied().unwrap_or_default()) {
            for row in 0..7 {
                if dots >> row & 1 == 1 {
                    dot(canvas, x + column, at + 1 + row, INK);
                }
            }
        }
        x += WIDE;
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a float is cut to the range by the cast")]
fn whole(side: f64) -> i64 {
    side.round().clamp(-10_000.0, 100_000.0) as i64
}

fn dot(canvas: &mut RgbaImage, x: i64, y: i64, colour: Rgba<u8>) {
    if let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y))
        && let Some(pixel) = canvas.get_pixel_mut_checked(x, y)
    {
        *pixel = colour;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_frames_its_box_and_bad_pictures_are_left_alone() {
        let mut bytes = Cursor::new(Vec::new());
        RgbaImage::from_pixel(60, 60, INK).write_to(&mut bytes, ImageFormat::Png).unwrap();
        let label = Label { number: 12, x: 20.0, y: 30.0, width: 20.0, height: 10.0 };
        let painted = paint(bytes.get_ref(), &[label]).unwrap();
        let painted = image::load_from_memory(&painted).unwrap().to_rgba8();
        for (x, y) in [(20, 30), (40, 40), (30, 30), (20, 22)] {
            assert_eq!(painted.get_pixel(x, y), &COLOURS[0], "{x} {y}");
        }
        assert_eq!(painted.get_pixel(30, 35), &INK);
        let outside = Label { x: -50.0, y: 900.0, ..label };
        assert!(paint(bytes.get_ref(), &[outside]).is_some());
        assert_eq!(paint(b"no picture", &[label]), None);
    }
}
