//! Pictures, films and recordings that go out carry no metadata: where, when and with what they were
//! made is nobody's business but their owner's. Nothing is decoded and no pixel changes; how a
//! photograph is to be turned is kept, because it is seen.

mod film;
mod sound;
mod still;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
/// Parts of a PNG that say something about it instead of showing it.
const PNG_WORDS: [&[u8]; 5] = [b"tEXt", b"zTXt", b"iTXt", b"eXIf", b"tIME"];
/// In the head of a WebP file, the signs that it has EXIF and XMP.
const WEBP_FLAGS: u8 = 0x0c;

/// The file without metadata; a file of another kind, or one that cannot be followed, as it is.
pub(crate) fn bare(bytes: Vec<u8>) -> Vec<u8> {
    let stripped = match bytes.as_slice() {
        [0xff, 0xd8, 0xff, ..] => jpeg(&bytes),
        known if known.starts_with(PNG) => png(&bytes),
        known if known.starts_with(b"RIFF") && known.get(8..12) == Some(b"WEBP") => webp(&bytes),
        known if film::is_picture(known) => still::items(bytes.clone()),
        known if known.get(4..8) == Some(b"ftyp") => film::boxes(bytes.clone()),
        known if known.starts_with(b"GIF8") => still::gif(&bytes),
        known if known.starts_with(b"OggS") => sound::ogg(bytes.clone()),
        known if known.starts_with(b"fLaC") => sound::flac(bytes.clone()),
        [0x1a, 0x45, 0xdf, 0xa3, ..] => film::elements(bytes.clone()),
        known if known.starts_with(b"RIFF") && known.get(8..12) == Some(b"WAVE") => {
            film::wave(bytes.clone())
        }
        known if known.starts_with(b"ID3") => film::tagged(&bytes),
        _ => None,
    };
    stripped.unwrap_or(bytes)
}

fn jpeg(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = vec![0xff, 0xd8];
    let (mut at, mut turn) = (2, None);
    loop {
        let [0xff, marker] = *bytes.get(at..at + 2)? else { return None };
        if marker == 0xff {
            at += 1;
            continue;
        }
        let length = usize::from(u16::from_be_bytes(bytes.get(at + 2..at + 4)?.try_into().ok()?));
        let end = at + 2 + length.max(2);
        let segment = bytes.get(at..end)?;
        match marker {
            // The picture itself follows.
            0xda => {
                out.extend(bytes.get(at..)?);
                return Some(out);
            }
            0xe1 => {
                if let Some(turned) = turn.is_none().then(|| orientation(segment)).flatten() {
                    turn = Some(turned);
                    out.extend(turned_only(turned));
                }
            }
            // Comments, and what programs add; colours (2) and the transform (14) are seen.
            0xe3..=0xed | 0xef | 0xfe => {}
            _ => out.extend(segment),
        }
        at = end;
    }
}

/// How a photograph is to be turned, where that is not as it stands.
fn orientation(segment: &[u8]) -> Option<u16> {
    let tiff = segment.get(4..)?.strip_prefix(b"Exif\0\0")?;
    let is_little = tiff.starts_with(b"II");
    let two = |at: usize| {
        let pair: [u8; 2] = tiff.get(at..at + 2)?.try_into().ok()?;
        Some(if is_little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) })
    };
    let four = |at: usize| {
        let word: [u8; 4] = tiff.get(at..at + 4)?.try_into().ok()?;
        Some(if is_little { u32::from_le_bytes(word) } else { u32::from_be_bytes(word) })
    };
    let first = usize::try_from(four(4)?).ok()?;
    let entries = (0..usize::from(two(first)?)).map(|number| first + 2 + number * 12);
    let found = entries.into_iter().find(|entry| two(*entry) == Some(0x0112))?;
    two(found + 8).filter(|turned| (2..=8).contains(turned))
}

/// A segment that says this and nothing else.
fn turned_only(turned: u16) -> Vec<u8> {
    let mut segment =
        b"\xff\xe1\0\x22Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01".to_vec();
    segment.extend(turned.to_be_bytes());
    segment.extend([0; 6]);
    segment
}

fn png(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = PNG.to_vec();
    let mut at = PNG.len();
    loop {
        let length = u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?);
        let end = at.checked_add(12)?.checked_add(usize::try_from(length).ok()?)?;
        let chunk = bytes.get(at..end)?;
        let kind = chunk.get(4..8)?;
        if !PNG_WORDS.contains(&kind) {
            out.extend(chunk);
        }
        if kind == b"IEND" {
            return Some(out);
        }
        at = end;
    }
}

fn webp(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = bytes.get(..12)?.to_vec();
    let mut at = 12;
    while at < bytes.len() {
        let length = u32::from_le_bytes(bytes.get(at + 4..at + 8)?.try_into().ok()?);
        let padded = usize::try_from(length).ok()?.checked_next_multiple_of(2)?;
        let chunk = bytes.get(at..at.checked_add(8)?.checked_add(padded)?)?;
        match chunk.get(..4)? {
            b"EXIF" | b"XMP " => {}
            b"VP8X" => {
                let mut head = chunk.to_vec();
                *head.get_mut(8)? &= !WEBP_FLAGS;
                out.extend(head);
            }
            _ => out.extend(chunk),
        }
        at += 8 + padded;
    }
    let size = u32::try_from(out.len() - 8).ok()?;
    out.get_mut(4..8)?.copy_from_slice(&size.to_le_bytes());
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(marker: u8, body: &[u8]) -> Vec<u8> {
        let length = u16::try_from(body.len() + 2).unwrap().to_be_bytes();
        [&[0xff, marker][..], &length, body].concat()
    }

    fn chunk(kind: &[u8], body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len()).unwrap().to_be_bytes();
        [&length[..], kind, body, &[0; 4]].concat()
    }

    #[test]
    fn a_photograph_loses_its_place_and_keeps_how_it_is_turned() {
        let mut exif = b"Exif\0\0II\x2a\0\x08\0\0\0\x02\0".to_vec();
        exif.extend(b"\x12\x01\x03\0\x01\0\0\0\x06\0\0\0");
        exif.extend(b"\x25\x88\x04\0\x01\0\0\0\x26\0\0\0GPS 52.5 N 13.4 E");
        let photo = [
            vec![0xff, 0xd8],
            segment(0xe0, b"JFIF\0"),
            segment(0xe1, &exif),
            segment(0xe1, b"http://ns.adobe.com/xap/1.0/\0<xmp>Ada</xmp>"),
            segment(0xe2, b"ICC_PROFILE\0"),
            segment(0xfe, b"made by Ada"),
            segment(0xdb, &[1; 65]),
            segment(0xda, &[1; 10]),
            b"pixels\xff\xd9".to_vec(),
        ]
        .concat();
        let sent = bare(photo);
        let text = String::from_utf8_lossy(&sent).into_owned();
        assert!(!text.contains("GPS") && !text.contains("Ada"), "{text}");
        assert!(text.contains("JFIF") && text.contains("ICC_PROFILE") && text.contains("pixels"));
        let own = sent.windows(6).position(|six| six == b"Exif\0\0").unwrap();
        assert_eq!(orientation(&sent[own - 4..]), Some(6));
        assert_eq!(bare(sent.clone()), sent, "what is bare stays as it is");
    }

    #[test]
    fn drawings_lose_their_words() {
        let drawing = [
            PNG.to_vec(),
            chunk(b"IHDR", &[0; 13]),
            chunk(b"tEXt", b"Author\0Ada"),
            chunk(b"eXIf", b"GPS"),
            chunk(b"IDAT", b"pixels"),
            chunk(b"IEND", b""),
            b"more of Ada".to_vec(),
        ]
        .concat();
        let sent = bare(drawing);
        let text = String::from_utf8_lossy(&sent).into_owned();
        assert!(
            !text.contains("Ada") && !text.contains("GPS") && text.contains("pixels"),
            "{text}"
        );
        let part = |kind: &[u8], body: &[u8]| {
            let length = u32::try_from(body.len()).unwrap().to_le_bytes();
            [kind, &length, body].concat()
        };
        let inner = [
            part(b"VP8X", &[0x0c, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
            part(b"VP8 ", b"pixels"),
            part(b"EXIF", b"GPS "),
            part(b"XMP ", b"by Ada"),
        ]
        .concat();
        let sent = bare([b"RIFF\0\0\0\0WEBP".to_vec(), inner].concat());
        let text = String::from_utf8_lossy(&sent).into_owned();
        assert!(
            !text.contains("Ada") && !text.contains("GPS") && text.contains("pixels"),
            "{text}"
        );
        assert_eq!(sent[20], 0, "it does not say that it has any");
        assert_eq!(&sent[4..8], &u32::try_from(sent.len() - 8).unwrap().to_le_bytes());
    }

    #[test]
    fn what_cannot_be_followed_goes_as_it_is() {
        for odd in [&b"\xff\xd8\xff\xe1\xff\xff"[..], b"\x89PNG\r\n\x1a\n\xff\xff\xff\xff", b"text"]
        {
            assert_eq!(bare(odd.to_vec()), odd);
        }
    }
}
