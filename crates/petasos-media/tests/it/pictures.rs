//! Pictures that are well: every format comes out as pixels alone.

use std::io::Cursor;

use image::{DynamicImage, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage};
use petasos_media::Media;
use petasos_media::picture::{Fit, Picture, normalise, survey};

/// Left half red, right half blue.
pub(crate) fn halves(width: u32, height: u32) -> DynamicImage {
    DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, |x, _| {
        if x < width / 2 { Rgb([220, 10, 10]) } else { Rgb([10, 10, 220]) }
    }))
}

pub(crate) fn written(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Vec::new();
    image.write_to(&mut Cursor::new(&mut bytes), format).unwrap();
    bytes
}

fn shown(bytes: &[u8]) -> (Picture, DynamicImage) {
    let picture = normalise(bytes, survey(bytes).unwrap(), Fit::RESULT).unwrap();
    let image = image::load_from_memory(&picture.bytes).unwrap();
    (picture, image)
}

fn is_red(image: &DynamicImage, x: u32, y: u32) -> bool {
    let [red, _, blue] = image.to_rgb8().get_pixel(x, y).0;
    red > 150 && blue < 100
}

/// A JPEG with an EXIF block that says "turn right" and names a place.
fn turned() -> Vec<u8> {
    let mut exif = b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x02".to_vec();
    exif.extend(b"\x01\x12\0\x03\0\0\0\x01\0\x06\0\0");
    exif.extend(b"\x01\x0e\0\x02\0\0\0\x0c\0\0\0\x26");
    exif.extend(b"\0\0\0\0SECRETPLACE\0");
    let plain = written(&halves(40, 20), ImageFormat::Jpeg);
    let mut bytes = plain[..2].to_vec();
    bytes.extend([0xff, 0xe1]);
    bytes.extend(u16::try_from(exif.len() + 2).unwrap().to_be_bytes());
    bytes.extend(exif);
    bytes.extend(&plain[2..]);
    bytes
}

#[test]
fn e126_seven_formats_are_read_whatever_they_are_called() {
    let image = halves(40, 20);
    for format in [
        ImageFormat::Png,
        ImageFormat::Jpeg,
        ImageFormat::Gif,
        ImageFormat::WebP,
        ImageFormat::Bmp,
        ImageFormat::Tiff,
    ] {
        let (picture, seen) = shown(&written(&image, format));
        assert_eq!((picture.width, picture.height), (40, 20), "{format:?}");
        assert!(is_red(&seen, 5, 10) && !is_red(&seen, 35, 10), "{format:?}");
        assert!(picture.mime == "image/png" || picture.mime == "image/jpeg");
    }
    let svg = br##"<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20">
        <rect width="20" height="20" fill="#dc0a0a"/><rect x="20" width="20" height="20" fill="blue"/></svg>"##;
    let (picture, seen) = shown(svg);
    assert_eq!((picture.width, picture.height), (512, 256));
    assert!(is_red(&seen, 50, 100) && !is_red(&seen, 400, 100));
}

#[test]
fn e126_a_camera_is_obeyed_and_what_it_wrote_is_gone() {
    let bytes = turned();
    assert!(bytes.windows(11).any(|word| word == b"SECRETPLACE"));
    let (picture, seen) = shown(&bytes);
    assert_eq!((picture.width, picture.height), (20, 40));
    assert!(is_red(&seen, 10, 5) && !is_red(&seen, 10, 35));
    assert!(!picture.bytes.windows(11).any(|word| word == b"SECRETPLACE"));
    assert!(!picture.bytes.windows(4).any(|word| word == b"Exif"));
}

#[test]
fn e126_the_first_frame_of_an_animation_is_shown_and_told() {
    let mut bytes = Vec::new();
    let mut encoder = image::codecs::gif::GifEncoder::new(&mut bytes);
    let frame = |colour| image::Frame::new(RgbaImage::from_pixel(8, 8, Rgba(colour)));
    encoder.encode_frame(frame([220, 10, 10, 255])).unwrap();
    encoder.encode_frame(frame([10, 10, 220, 255])).unwrap();
    drop(encoder);
    let (picture, seen) = shown(&bytes);
    assert!(is_red(&seen, 4, 4));
    assert_eq!(picture.notes, ["animated: the first frame is shown"]);
}

#[test]
fn e126_a_large_picture_is_made_to_fit_and_transparency_is_white() {
    let noise = RgbaImage::from_fn(900, 700, |x, y| {
        let mixed = (x.wrapping_mul(2_654_435_761) ^ y.wrapping_mul(40_503)).to_le_bytes();
        Rgba([mixed[0], mixed[1], mixed[2], if y < 10 { 0 } else { 255 }])
    });
    let bytes = written(&DynamicImage::ImageRgba8(noise), ImageFormat::Png);
    let fit = Fit { bytes_max: 60_000, side_max: 800 };
    let picture = normalise(&bytes, survey(&bytes).unwrap(), fit).unwrap();
    assert!(picture.bytes.len() <= 60_000 && picture.width <= 800, "{}", picture.bytes.len());
    assert_eq!(picture.mime, "image/jpeg");
    assert!(picture.notes[0].starts_with("made smaller"), "{:?}", picture.notes);
    let top = image::load_from_memory(&picture.bytes).unwrap().to_rgb8();
    assert!(top.get_pixel(picture.width / 2, 0).0.iter().all(|part| *part > 200));
}

#[tokio::test]
async fn many_pictures_at_once_wait_for_each_other_and_all_come() {
    let media = std::sync::Arc::new(Media::default());
    let bytes = written(&halves(60, 40), ImageFormat::Png);
    let all = (0..40).map(|_| {
        let (media, bytes) = (std::sync::Arc::clone(&media), bytes.clone());
        async move { media.picture(bytes, Fit::MESSAGE).await }
    });
    for picture in futures::future::join_all(all).await {
        assert_eq!(picture.unwrap().width, 60);
    }
}
