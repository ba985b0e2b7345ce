//! What a file is, by its first bytes; names and declared types are not believed.

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A picture.
    Picture(PictureKind),
    /// A film: its media type and ending.
    Film(&'static str, &'static str),
    /// A recording: its media type and ending.
    Sound(&'static str, &'static str),
    /// Something else.
    Other,
}

/// Kinds of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureKind {
    /// PNG, perhaps animated.
    Png,
    /// JPEG.
    Jpeg,
    /// GIF, perhaps animated.
    Gif,
    /// WebP, perhaps animated.
    Webp,
    /// Windows bitmap.
    Bmp,
    /// TIFF.
    Tiff,
    /// SVG text.
    Svg,
    /// HEIC or HEIF.
    Heic,
    /// AVIF.
    Avif,
}

impl PictureKind {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Png => "PNG",
            Self::Jpeg => "JPEG",
            Self::Gif => "GIF",
            Self::Webp => "WebP",
            Self::Bmp => "BMP",
            Self::Tiff => "TIFF",
            Self::Svg => "SVG",
            Self::Heic => "HEIC",
            Self::Avif => "AVIF",
        }
    }
}

/// How far the beginning of an SVG document is looked for.
const TEXT_BYTES: usize = 4096;

/// Judges by content.
pub fn sniff(bytes: &[u8]) -> Kind {
    let at = |from: usize, magic: &[u8]| {
        bytes.get(from..from + magic.len()).is_some_and(|found| found == magic)
    };
    match () {
        () if at(0, b"\x89PNG\r\n\x1a\n") => Kind::Picture(PictureKind::Png),
        () if at(0, b"\xff\xd8\xff") => Kind::Picture(PictureKind::Jpeg),
        () if at(0, b"GIF87a") || at(0, b"GIF89a") => Kind::Picture(PictureKind::Gif),
        () if at(0, b"RIFF") => riff(bytes.get(8..12).unwrap_or_default()),
        () if at(0, b"BM") && bytes.len() > 26 => Kind::Picture(PictureKind::Bmp),
        () if at(0, b"II\x2a\0") || at(0, b"MM\0\x2a") => Kind::Picture(PictureKind::Tiff),
        () if at(4, b"ftyp") => brand(bytes.get(8..12).unwrap_or_default()),
        () if at(0, b"\x1a\x45\xdf\xa3") => matroska(bytes),
        () if at(0, b"\0\0\x01\xba") || at(0, b"\0\0\x01\xb3") => Kind::Film("video/mpeg", "mpeg"),
        () if at(0, b"OggS") => Kind::Sound("audio/ogg", "ogg"),
        () if at(0, b"fLaC") => Kind::Sound("audio/flac", "flac"),
        () if at(0, b"ID3") => Kind::Sound("audio/mpeg", "mp3"),
        () if is_frame(bytes) => mpeg_audio(bytes),
        () if is_svg(bytes) => Kind::Picture(PictureKind::Svg),
        () => Kind::Other,
    }
}

fn riff(form: &[u8]) -> Kind {
    match form {
        b"WEBP" => Kind::Picture(PictureKind::Webp),
        b"WAVE" => Kind::Sound("audio/wav", "wav"),
        b"AVI " => Kind::Film("video/x-msvideo", "avi"),
        _ => Kind::Other,
    }
}

fn brand(brand: &[u8]) -> Kind {
    match brand {
        b"heic" | b"heix" | b"heim" | b"heis" | b"mif1" | b"msf1" => {
            Kind::Picture(PictureKind::Heic)
        }
        b"avif" | b"avis" => Kind::Picture(PictureKind::Avif),
        b"M4A " | b"M4B " => Kind::Sound("audio/mp4", "m4a"),
        b"qt  " => Kind::Film("video/quicktime", "mov"),
        _ => Kind::Film("video/mp4", "mp4"),
    }
}

fn matroska(bytes: &[u8]) -> Kind {
    let head = bytes.get(..64.min(bytes.len())).unwrap_or_default();
    if head.windows(4).any(|word| word == b"webm") {
        Kind::Film("video/webm", "webm")
    } else {
        Kind::Film("video/x-matroska", "mkv")
    }
}

/// The eleven bits that begin a frame of MPEG audio.
fn is_frame(bytes: &[u8]) -> bool {
    matches!(bytes, [0xff, second, ..] if second & 0xe0 == 0xe0 && *second != 0xff)
}

fn mpeg_audio(bytes: &[u8]) -> Kind {
    match bytes {
        [_, second, ..] if second & 0x06 == 0 => Kind::Sound("audio/aac", "aac"),
        _ => Kind::Sound("audio/mpeg", "mp3"),
    }
}

fn is_svg(bytes: &[u8]) -> bool {
    let head = bytes.get(..bytes.len().min(TEXT_BYTES)).unwrap_or_default();
    let head = String::from_utf8_lossy(head);
    let head = head.trim_start_matches('\u{feff}').trim_start();
    head.starts_with('<') && head.contains("<svg")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_tells_and_names_do_not() {
        for (bytes, kind) in [
            (&b"\x89PNG\r\n\x1a\n...."[..], Kind::Picture(PictureKind::Png)),
            (b"\xff\xd8\xff\xe0", Kind::Picture(PictureKind::Jpeg)),
            (b"RIFF\0\0\0\0WEBPVP8 ", Kind::Picture(PictureKind::Webp)),
            (b"RIFF\0\0\0\0WAVEfmt ", Kind::Sound("audio/wav", "wav")),
            (b"\0\0\0\x18ftypheic", Kind::Picture(PictureKind::Heic)),
            (b"\0\0\0\x18ftypisom", Kind::Film("video/mp4", "mp4")),
            (b"\0\0\0\x18ftypqt  ", Kind::Film("video/quicktime", "mov")),
            (b"\x1a\x45\xdf\xa3\x01\x42\x82\x84webm", Kind::Film("video/webm", "webm")),
            (b"OggS\0\x02", Kind::Sound("audio/ogg", "ogg")),
            (b"\xff\xfb\x90\x44", Kind::Sound("audio/mpeg", "mp3")),
            (b"\xff\xf1\x50\x80", Kind::Sound("audio/aac", "aac")),
            (b"<?xml version='1.0'?>\n<svg/>", Kind::Picture(PictureKind::Svg)),
            (b"<html><body>", Kind::Other),
            (b"", Kind::Other),
        ] {
            assert_eq!(sniff(bytes), kind, "{bytes:?}");
        }
    }
}
