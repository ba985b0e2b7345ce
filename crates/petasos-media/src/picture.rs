//! Pictures: what a header says is checked before a pixel is decoded, and whatever goes on has
//! been written anew, so that nothing but pixels is in it.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder as _, ImageFormat, ImageReader, Limits};

use crate::fault::MediaError;
use crate::sniff::{Kind, PictureKind, sniff};
use crate::svg;

/// The largest file that is looked at.
pub const FILE_BYTES_MAX: usize = 50 << 20;
/// The most pixels that are decoded.
pub const PIXELS_MAX: u64 = 100_000_000;
/// The longest side that is decoded.
const SIDE_MAX: u32 = 65_000;
/// What a decoder may ask for: 100 megapixels of four bytes, and its own tables.
const DECODER_BYTES_MAX: u64 = 512 << 20;
/// How often a picture that is still too heavy is made smaller.
const SHRINKS_MAX: u32 = 12;
const JPEG_QUALITY: u8 = 88;

/// How large a picture may be that goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fit {
    /// Its bytes.
    pub bytes_max: usize,
    /// Its longer side.
    pub side_max: u32,
}

impl Fit {
    /// Into a tool's result.
    pub const RESULT: Self = Self { bytes_max: 4 << 20, side_max: 7_900 };
    /// Beside a person's words.
    pub const MESSAGE: Self = Self { bytes_max: 4 << 20, side_max: 2_048 };
    /// One of several frames of a film.
    pub const FRAME: Self = Self { bytes_max: 300 << 10, side_max: 1_024 };
    /// For a model that found the first one too large.
    pub const SECOND_TRY: Self = Self { bytes_max: 1 << 20, side_max: 1_568 };
}

/// What the header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Survey {
    /// The format, by content.
    pub kind: PictureKind,
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
}

impl Survey {
    /// Millions of pixels, at least one.
    pub(crate) fn megapixels(self) -> u32 {
        let pixels = u64::from(self.width) * u64::from(self.height);
        u32::try_from(pixels / 1_000_000).unwrap_or(u32::MAX).max(1)
    }
}

/// A picture that may go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// PNG or JPEG.
    pub bytes: Vec<u8>,
    /// `image/png` or `image/jpeg`.
    pub mime: &'static str,
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// What was done to it that a reader should know.
    pub notes: Vec<String>,
}

impl Picture {
    /// As a `data:` address.
    pub fn data_url(&self) -> String {
        use base64::Engine as _;
        let data = base64::engine::general_purpose::STANDARD.encode(&self.bytes);
        format!("data:{};base64,{data}", self.mime)
    }
}

/// Reads the header alone, and refuses what is not to be decoded.
pub fn survey(bytes: &[u8]) -> Result<Survey, MediaError> {
    if bytes.len() > FILE_BYTES_MAX {
        let megabytes = bytes.len() / 1_000_000;
        let told = format!("the picture has {megabytes} MB, more than 50: make it smaller first");
        return Err(MediaError::new("too_large", told));
    }
    let kind = match sniff(bytes) {
        Kind::Picture(kind) => kind,
        Kind::Film(mime, _) => return Err(other(&format!("a film ({mime})"))),
        Kind::Sound(mime, _) => return Err(other(&format!("a recording ({mime})"))),
        Kind::Other if bytes.is_empty() => return Err(other("empty")),
        Kind::Other => return Err(other("no known picture")),
    };
    let (width, height) = match kind {
        PictureKind::Svg => svg::survey(bytes)?,
        PictureKind::Heic | PictureKind::Avif => {
            let told = format!(
                "{} pictures cannot be decoded here: convert it to PNG or JPEG first",
                kind.name()
            );
            return Err(MediaError::new("unsupported", told));
        }
        _ => reader(bytes, kind)?.into_dimensions().map_err(|error| broken(kind, &error))?,
    };
    if width == 0 || height == 0 {
        return Err(MediaError::new("bad_argument", "the picture has no pixels"));
    }
    let pixels = u64::from(width) * u64::from(height);
    if pixels > PIXELS_MAX || width > SIDE_MAX || height > SIDE_MAX {
        let told = format!(
            "the {} picture says that it has {width} x {height} pixels, more than the 100 \
             megapixels that are decoded: make it smaller first",
            kind.name()
        );
        return Err(MediaError::new("too_large", told));
    }
    Ok(Survey { kind, width, height })
}

/// Decodes and writes anew: first frame, turned as its camera meant, without metadata, within the
/// size. Computes; call it where that is allowed.
pub fn normalise(bytes: &[u8], survey: Survey, fit: Fit) -> Result<Picture, MediaError> {
    let mut notes = Vec::new();
    if is_animated(bytes, survey.kind) {
        notes.push("animated: the first frame is shown".to_owned());
    }
    let (mut image, is_photo) = match survey.kind {
        PictureKind::Svg => (svg::draw(bytes, &mut notes)?, false),
        kind => (decode(bytes, kind)?, kind == PictureKind::Jpeg),
    };
    let before = (image.width(), image.height());
    if image.width().max(image.height()) > fit.side_max {
        image = image.resize(fit.side_max, fit.side_max, FilterType::Triangle);
    }
    let picture = encode(image, is_photo, fit)?;
    if (picture.width, picture.height) != before {
        notes.push(format!(
            "made smaller: {} x {} of {} x {}",
            picture.width, picture.height, before.0, before.1
        ));
    }
    Ok(Picture { notes, ..picture })
}

fn decode(bytes: &[u8], kind: PictureKind) -> Result<DynamicImage, MediaError> {
    let mut decoder = reader(bytes, kind)?.into_decoder().map_err(|error| broken(kind, &error))?;
    // A camera's turn that cannot be read is none.
    let turn = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let mut image = DynamicImage::from_decoder(decoder).map_err(|error| broken(kind, &error))?;
    image.apply_orientation(turn);
    // Sixteen bits a channel are more than any model looks at, and twice the memory.
    Ok(match image {
        DynamicImage::ImageRgb8(_)
        | DynamicImage::ImageRgba8(_)
        | DynamicImage::ImageLuma8(_)
        | DynamicImage::ImageLumaA8(_) => image,
        deep if deep.color().has_alpha() => DynamicImage::ImageRgba8(deep.into_rgba8()),
        deep => DynamicImage::ImageRgb8(deep.into_rgb8()),
    })
}

fn reader(bytes: &[u8], kind: PictureKind) -> Result<ImageReader<Cursor<&[u8]>>, MediaError> {
    let format = match kind {
        PictureKind::Png => ImageFormat::Png,
        PictureKind::Jpeg => ImageFormat::Jpeg,
        PictureKind::Gif => ImageFormat::Gif,
        PictureKind::Webp => ImageFormat::WebP,
        PictureKind::Bmp => ImageFormat::Bmp,
        PictureKind::Tiff => ImageFormat::Tiff,
        PictureKind::Svg | PictureKind::Heic | PictureKind::Avif => {
            return Err(other("no picture of dots"));
        }
    };
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::default();
    limits.max_image_width = Some(SIDE_MAX);
    limits.max_image_height = Some(SIDE_MAX);
    limits.max_alloc = Some(DECODER_BYTES_MAX);
    reader.limits(limits);
    Ok(reader)
}

/// PNG for drawings, JPEG for photographs and for whatever is too heavy as PNG.
fn encode(mut image: DynamicImage, is_photo: bool, fit: Fit) -> Result<Picture, MediaError> {
    if !is_photo {
        let bytes = png(&image)?;
        if bytes.len() <= fit.bytes_max {
            return Ok(of(bytes, "image/png", &image));
        }
    }
    image = on_white(image);
    for _ in 0..SHRINKS_MAX {
        let mut bytes = Vec::new();
        let encoder = JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY);
        image.write_with_encoder(encoder).map_err(|error| unwritten(&error))?;
        if bytes.len() <= fit.bytes_max {
            return Ok(of(bytes, "image/jpeg", &image));
        }
        let smaller = |side: u32| (side / 4 * 3).max(1);
        let (width, height) = (smaller(image.width()), smaller(image.height()));
        image = image.resize(width, height, FilterType::Triangle);
    }
    Err(MediaError::new("too_large", "the picture cannot be made small enough"))
}

fn of(bytes: Vec<u8>, mime: &'static str, image: &DynamicImage) -> Picture {
    Picture { bytes, mime, width: image.width(), height: image.height(), notes: Vec::new() }
}

/// An image as PNG.
pub(crate) fn png(image: &DynamicImage) -> Result<Vec<u8>, MediaError> {
    let mut bytes = Vec::new();
    image
        .write_to(&mut Cursor::new(&mut bytes), ImageFormat::Png)
        .map_err(|error| unwritten(&error))?;
    Ok(bytes)
}

/// Without transparency, which JPEG does not have.
fn on_white(image: DynamicImage) -> DynamicImage {
    if !image.color().has_alpha() {
        return match image {
            DynamicImage::ImageLuma8(_) | DynamicImage::ImageRgb8(_) => image,
            other => DynamicImage::ImageRgb8(other.into_rgb8()),
        };
    }
    let seen = image.into_rgba8();
    let mut flat = image::RgbImage::new(seen.width(), seen.height());
    for (from, to) in seen.pixels().zip(flat.pixels_mut()) {
        let [red, green, blue, alpha] = from.0.map(u32::from);
        let mix = |part: u32| (part * alpha + 255 * (255 - alpha)) / 255;
        to.0 = [mix(red), mix(green), mix(blue)].map(|part| u8::try_from(part).unwrap_or(u8::MAX));
    }
    DynamicImage::ImageRgb8(flat)
}

/// Whether more than one frame is announced.
fn is_animated(bytes: &[u8], kind: PictureKind) -> bool {
    let head = bytes.get(..bytes.len().min(1 << 16)).unwrap_or_default();
    match kind {
        PictureKind::Png => head.windows(4).any(|word| word == b"acTL"),
        PictureKind::Webp => head
            .get(..64.min(head.len()))
            .is_some_and(|head| head.windows(4).any(|word| word == b"ANIM")),
        // A second graphic control block, or a looping extension.
        PictureKind::Gif => bytes.windows(3).filter(|word| *word == b"\x21\xf9\x04").count() > 1,
        _ => false,
    }
}

fn other(what: &str) -> MediaError {
    MediaError::new(
        "unsupported",
        format!("this is {what}: PNG, JPEG, WebP, GIF, BMP, TIFF and SVG pictures are read"),
    )
}

fn broken(kind: PictureKind, error: &image::ImageError) -> MediaError {
    let name = kind.name();
    match error {
        image::ImageError::Limits(_) => MediaError::new(
            "too_large",
            format!("the {name} picture needs more memory than is given to one: make it smaller"),
        ),
        image::ImageError::Unsupported(_) => {
            MediaError::new("unsupported", format!("this variant of {name} is not read: {error}"))
        }
        _ => MediaError::new("bad_argument", format!("the {name} picture is broken: {error}")),
    }
}

fn unwritten(error: &image::ImageError) -> MediaError {
    MediaError::new("upstream", format!("the picture could not be written anew: {error}"))
}
