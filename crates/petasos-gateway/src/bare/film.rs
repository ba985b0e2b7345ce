//! Films and recordings without what they say about themselves. Parts that only tell something
//! become empty ones of the same length, so that nothing else moves: places inside a film are
//! counted from its beginning.

use std::ops::Range;

/// Brands of pictures in the same container: theirs hold the picture itself where films have words.
const PICTURES: [&[u8]; 8] =
    [b"heic", b"heix", b"hevc", b"mif1", b"msf1", b"avif", b"avis", b"heim"];
/// How deep boxes are looked into.
const DEPTH_MAX: usize = 6;

/// Whether boxes hold a picture and no film.
pub(super) fn is_picture(bytes: &[u8]) -> bool {
    let brand = bytes.get(8..12).filter(|_| bytes.get(4..8) == Some(b"ftyp"));
    brand.is_some_and(|brand| PICTURES.contains(&brand))
}

/// An MP4, QuickTime or 3GP film: places, names and times go; tracks that only tell something, such
/// as where a camera was, are no tracks any more.
pub(super) fn boxes(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let whole = 0..bytes.len();
    walk(&mut bytes, whole, 0)?;
    Some(bytes)
}

fn walk(bytes: &mut [u8], within: Range<usize>, depth: usize) -> Option<()> {
    let mut at = within.start;
    while at + 8 <= within.end {
        let short = u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?);
        let kind: [u8; 4] = bytes.get(at + 4..at + 8)?.try_into().ok()?;
        let (head, length) = match short {
            0 => (8, within.end - at),
            1 => {
                let long = u64::from_be_bytes(bytes.get(at + 8..at + 16)?.try_into().ok()?);
                (16, usize::try_from(long).ok()?)
            }
            short => (8, usize::try_from(short).ok()?),
        };
        let end = at.checked_add(length).filter(|end| length >= head && *end <= within.end)?;
        match &kind {
            b"udta" | b"meta" | b"uuid" => emptied(bytes, at, at + head..end)?,
            b"trak" if only_tells(bytes.get(at + head..end)?) => {
                emptied(bytes, at, at + head..end)?;
            }
            b"moov" | b"trak" | b"mdia" | b"moof" | b"traf" if depth < DEPTH_MAX => {
                walk(bytes, at + head..end, depth + 1)?;
            }
            b"mvhd" | b"tkhd" | b"mdhd" => timeless(bytes, at + head..end)?,
            _ => {}
        }
        at = end;
    }
    Some(())
}

fn emptied(bytes: &mut [u8], at: usize, body: Range<usize>) -> Option<()> {
    bytes.get_mut(at + 4..at + 8)?.copy_from_slice(b"free");
    bytes.get_mut(body)?.fill(0);
    Some(())
}

/// When it was made and changed.
fn timeless(bytes: &mut [u8], body: Range<usize>) -> Option<()> {
    let version = *bytes.get(body.start)?;
    let times = body.start + 4..body.start + if version == 1 { 20 } else { 12 };
    bytes.get_mut(times.start..times.end.min(body.end))?.fill(0);
    Some(())
}

/// Whether a track has neither picture nor sound: its handler says what it is for.
fn only_tells(track: &[u8]) -> bool {
    let place = track.windows(4).position(|four| four == b"hdlr");
    let kind = place.and_then(|place| track.get(place + 12..place + 16));
    kind == Some(b"meta".as_slice())
}

const SEGMENT: u32 = 0x1853_8067;
const INFO: u32 = 0x1549_A966;
const TAGS: u32 = 0x1254_C367;
const ATTACHMENTS: u32 = 0x1941_A469;
const TITLE: u32 = 0x7BA9;
const DATE: u32 = 0x4461;

/// A WebM or Matroska film.
pub(super) fn elements(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let whole = 0..bytes.len();
    void(&mut bytes, whole)?;
    Some(bytes)
}

fn void(bytes: &mut [u8], within: Range<usize>) -> Option<()> {
    let mut at = within.start;
    while at < within.end {
        let (id, width) = number(bytes.get(at..)?, true)?;
        let (length, size_width) = number(bytes.get(at + width..)?, false)?;
        let body = at + width + size_width;
        let unknown = length == (1_u64 << (7 * size_width)) - 1;
        let end =
            if unknown { within.end } else { body.checked_add(usize::try_from(length).ok()?)? };
        let end = (end <= within.end).then_some(end)?;
        match u32::try_from(id).ok()? {
            SEGMENT | INFO => void(bytes, body..end)?,
            TAGS | ATTACHMENTS | TITLE | DATE => emptied_element(bytes.get_mut(at..end)?)?,
            // What has no known end is a stream: nothing but pictures and sound follows.
            _ if unknown => return Some(()),
            _ => {}
        }
        at = end;
    }
    Some(())
}

/// A number of one to eight bytes, and how many those are; an identity keeps its mark.
fn number(bytes: &[u8], keeps_mark: bool) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    let width = usize::try_from(first.leading_zeros()).ok()? + 1;
    let bytes = bytes.get(..width).filter(|_| width <= 8)?;
    let value = bytes.iter().fold(0_u64, |sum, byte| (sum << 8) | u64::from(*byte));
    let mark = 1_u64 << (7 * width);
    Some((if keeps_mark { value } else { value & (mark - 1) }, width))
}

/// The element that stands for nothing, of the same length.
fn emptied_element(element: &mut [u8]) -> Option<()> {
    let length = element.len();
    let size = if length <= 120 { 1 } else { 8 };
    let body = length.checked_sub(1 + size)?;
    element.fill(0);
    *element.first_mut()? = 0xec;
    if size == 1 {
        *element.get_mut(1)? = 0x80 | u8::try_from(body).ok()?;
    } else {
        let marked = (1_u64 << 56) | u64::try_from(body).ok()?;
        element.get_mut(1..9)?.copy_from_slice(&marked.to_be_bytes());
    }
    Some(())
}

/// A WAV recording: what programs wrote about it becomes nothing.
pub(super) fn wave(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let mut at = 12;
    while at + 8 <= bytes.len() {
        let kind: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        let length = u32::from_le_bytes(bytes.get(at + 4..at + 8)?.try_into().ok()?);
        let padded = usize::try_from(length).ok()?.checked_next_multiple_of(2)?;
        let end = (at + 8).checked_add(padded)?.min(bytes.len());
        if matches!(&kind, b"LIST" | b"id3 " | b"ID3 " | b"bext" | b"iXML" | b"_PMX") {
            bytes.get_mut(at..at + 4)?.copy_from_slice(b"JUNK");
            bytes.get_mut(at + 8..end)?.fill(0);
        }
        at = end;
    }
    Some(bytes)
}

/// An MP3 recording: the words before it and behind it.
pub(super) fn tagged(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut sound = bytes;
    while let Some(head) = sound.get(..10).filter(|head| head.starts_with(b"ID3")) {
        let size = head
            .get(6..10)?
            .iter()
            .fold(0_usize, |sum, byte| (sum << 7) | usize::from(*byte & 0x7f));
        let footer = if head.get(5)? & 0x10 == 0 { 0 } else { 10 };
        sound = sound.get(10 + size + footer..)?;
    }
    if let Some(last) = sound.len().checked_sub(128)
        && sound.get(last..)?.starts_with(b"TAG")
    {
        sound = sound.get(..last)?;
    }
    Some(sound.to_vec())
}

#[cfg(test)]
mod tests {
    use super::super::bare;

    fn boxed(kind: &[u8], body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 8).unwrap().to_be_bytes();
        [&length[..], kind, body].concat()
    }

    fn element(id: &[u8], body: &[u8]) -> Vec<u8> {
        let length = u64::try_from(body.len()).unwrap() | (1 << 56);
        [id, &length.to_be_bytes(), body].concat()
    }

    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    #[test]
    fn a_film_loses_its_place_and_time_and_nothing_moves() {
        let head =
            |seconds: u8| [&[0, 0, 0, 0][..], &[0, 0, 0, seconds], &[0, 0, 0, 9], b"rest"].concat();
        let hdlr = |kind: &[u8]| boxed(b"hdlr", &[&[0; 8][..], kind, b"name"].concat());
        let picture = boxed(
            b"trak",
            &[
                boxed(b"tkhd", &head(7)),
                boxed(b"mdia", &[boxed(b"mdhd", &head(8)), hdlr(b"vide")].concat()),
                boxed(b"udta", b"by Ada"),
            ]
            .concat(),
        );
        let places =
            boxed(b"trak", &boxed(b"mdia", &[hdlr(b"meta"), boxed(b"stbl", b"GPS")].concat()));
        let film = [
            boxed(b"ftyp", b"isom\0\0\0\0isom"),
            boxed(
                b"moov",
                &[
                    boxed(b"mvhd", &head(7)),
                    picture,
                    places,
                    boxed(b"udta", b"\xa9xyz+52.5+013.4/"),
                    boxed(b"meta", b"com.apple GPS"),
                ]
                .concat(),
            ),
            boxed(b"uuid", b"xmp of Ada"),
            boxed(b"mdat", b"pixels"),
        ]
        .concat();
        let sent = bare(film.clone());
        assert_eq!(sent.len(), film.len());
        let told = text(&sent);
        for gone in ["Ada", "+52.5", "GPS", "apple"] {
            assert!(!told.contains(gone), "{gone}: {told}");
        }
        assert!(told.contains("pixels") && told.contains("vide") && told.contains("rest"));
        let place = sent.windows(4).position(|four| four == b"mvhd").unwrap();
        assert_eq!(&sent[place + 8..place + 16], &[0; 8], "no time");
        assert_eq!(bare(sent.clone()), sent, "what is bare stays as it is");
        // A picture in the same container is left alone: its words are the picture.
        let still = [boxed(b"ftyp", b"heic\0\0\0\0mif1"), boxed(b"meta", b"pixels")].concat();
        assert_eq!(bare(still.clone()), still);
    }

    #[test]
    fn a_webm_film_and_recordings_lose_their_words() {
        let info = element(
            b"\x15\x49\xa9\x66",
            &[element(b"\x7b\xa9", b"Ada's garden"), element(b"\x2a\xd7\xb1", b"scale")].concat(),
        );
        let tags = element(b"\x12\x54\xc3\x67", &[b"LOCATION 52.5".as_slice(), &[7; 200]].concat());
        let segment = element(
            b"\x18\x53\x80\x67",
            &[info, tags, element(b"\x1f\x43\xb6\x75", b"pixels")].concat(),
        );
        let film = [element(b"\x1a\x45\xdf\xa3", b"webm"), segment].concat();
        let sent = bare(film.clone());
        let told = text(&sent);
        assert_eq!(sent.len(), film.len());
        assert!(!told.contains("Ada") && !told.contains("LOCATION"), "{told}");
        assert!(told.contains("pixels") && told.contains("scale"), "{told}");
        assert_eq!(bare(sent.clone()), sent);
        let part = |kind: &[u8], body: &[u8]| {
            [kind, &u32::try_from(body.len()).unwrap().to_le_bytes(), body].concat()
        };
        let wave = [
            b"RIFF\0\0\0\0WAVE".to_vec(),
            part(b"fmt ", b"form"),
            part(b"LIST", b"INFOIARTAda!"),
            part(b"data", b"sounds"),
        ]
        .concat();
        let sent = bare(wave.clone());
        assert!(!text(&sent).contains("Ada") && text(&sent).contains("sounds"));
        assert_eq!(sent.len(), wave.len());
        let song =
            [&b"ID3\x04\0\0\0\0\0\x06by Ada"[..], b"\xff\xfb\x90sound", b"TAGby Ada", &[0; 119]]
                .concat();
        assert_eq!(bare(song), b"\xff\xfb\x90sound");
    }

    #[test]
    fn a_damaged_film_goes_as_it_is() {
        for odd in [
            &b"\0\0\0\x0cftypisom\xff\xff\xff\xffmoov"[..],
            b"\0\0\0\x0cftypisom\0\0\0\x01moov",
            b"\x1a\x45\xdf\xa3\xff",
            b"\x1a\x45\xdf\xa3\x00\x00",
            b"ID3\x04\0\0\x7f\x7f\x7f\x7fshort",
        ] {
            assert_eq!(bare(odd.to_vec()), odd);
        }
    }
}
