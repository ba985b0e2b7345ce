//! Pictures of phones (HEIC, AVIF) and animations without what they say about themselves. What
//! tells something is overwritten where it stands: places inside such a picture are counted from its
//! beginning. How it is to be turned is a property of the picture and stays.

use std::ops::Range;

/// Kinds of items that tell something: EXIF, and XMP as a document.
const TELLS: [&[u8]; 3] = [b"Exif", b"mime", b"uri "];
/// EXIF that says nothing. Readers look whether it is well formed, and some refuse the picture.
const EMPTY: [u8; 18] = *b"\0\0\0\0MM\0\x2a\0\0\0\x08\0\0\0\0\0\0";

/// A picture in boxes.
pub(super) fn items(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let whole = 0..bytes.len();
    let meta = children(&bytes, whole)?.into_iter().find(|(kind, _)| kind == b"meta")?.1;
    // A full box: its version comes before what is in it.
    let inside = children(&bytes, meta.start + 4..meta.end)?;
    let part = |wanted: &[u8]| {
        inside.iter().find(|(kind, _)| kind == wanted).map(|(_, body)| body.clone())
    };
    let telling = telling(&bytes, part(b"iinf")?)?;
    let data = part(b"idat").map_or(0, |body| body.start);
    for (item, place) in places(&bytes, part(b"iloc")?, data)? {
        let Some((_, is_exif)) = telling.iter().find(|(number, _)| *number == item) else {
            continue;
        };
        let body = bytes.get_mut(place)?;
        body.fill(if *is_exif { 0 } else { b' ' });
        if let Some(head) = body.get_mut(..EMPTY.len()).filter(|_| *is_exif) {
            head.copy_from_slice(&EMPTY);
        }
    }
    Some(bytes)
}

/// The boxes of a stretch: their kinds and what is in them.
fn children(bytes: &[u8], within: Range<usize>) -> Option<Vec<([u8; 4], Range<usize>)>> {
    let (mut at, mut found) = (within.start, Vec::new());
    while at + 8 <= within.end {
        let mut reader = Reader { bytes, at };
        let short = reader.number(4)?;
        let kind: [u8; 4] = bytes.get(at + 4..at + 8)?.try_into().ok()?;
        reader.at += 4;
        let length = match short {
            0 => within.end - at,
            1 => reader.number(8)?,
            short => short,
        };
        let end = at.checked_add(length).filter(|end| *end <= within.end && *end >= reader.at)?;
        found.push((kind, reader.at..end));
        at = end;
    }
    Some(found)
}

/// The numbers of items that tell something, and whether they are EXIF.
fn telling(bytes: &[u8], body: Range<usize>) -> Option<Vec<(usize, bool)>> {
    let wide = *bytes.get(body.start)? > 0;
    let rows = children(bytes, body.start + 4 + if wide { 4 } else { 2 }..body.end)?;
    let item = |(kind, row): ([u8; 4], Range<usize>)| {
        let version = *bytes.get(row.start).filter(|_| &kind == b"infe")?;
        let width = if version >= 3 { 4 } else { 2 };
        let mut reader = Reader { bytes, at: row.start + 4 };
        let number = reader.number(width)?;
        let named = bytes.get(reader.at + 2..reader.at + 6)?;
        TELLS.contains(&named).then_some((number, named == b"Exif"))
    };
    Some(rows.into_iter().filter_map(item).collect())
}

/// Items, and where their data is.
fn places(bytes: &[u8], body: Range<usize>, data: usize) -> Option<Vec<(usize, Range<usize>)>> {
    let version = *bytes.get(body.start)?;
    let sizes = [*bytes.get(body.start + 4)?, *bytes.get(body.start + 5)?];
    let [offset, length, base, index] =
        [sizes[0] >> 4, sizes[0] & 15, sizes[1] >> 4, sizes[1] & 15].map(usize::from);
    let mut reader = Reader { bytes: bytes.get(..body.end)?, at: body.start + 6 };
    let width = if version < 2 { 2 } else { 4 };
    let mut found = Vec::new();
    for _ in 0..reader.number(width)? {
        let item = reader.number(width)?;
        let method = if version == 0 { 0 } else { reader.number(2)? & 15 };
        reader.number(2)?;
        let start = reader.number(base)?;
        for _ in 0..reader.number(2)? {
            if version > 0 {
                reader.number(index)?;
            }
            let at = start.checked_add(reader.number(offset)?)?;
            let size = reader.number(length)?;
            // By the place in the file, or in the box beside it; another way leads elsewhere.
            let from = if method == 1 { data.checked_add(at)? } else { at };
            if method < 2 {
                found.push((item, from..from.checked_add(size)?));
            }
        }
    }
    Some(found)
}

/// Reads numbers of several widths.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn number(&mut self, width: usize) -> Option<usize> {
        let bytes = self.bytes.get(self.at..self.at.checked_add(width)?)?;
        self.at += width;
        let value = bytes.iter().fold(0_u64, |sum, byte| (sum << 8) | u64::from(*byte));
        usize::try_from(value).ok()
    }
}

/// An animation: its comments and what programs wrote into it, but for how often it is shown.
pub(super) fn gif(bytes: &[u8]) -> Option<Vec<u8>> {
    let table = |flags: u8| if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) };
    let mut at = 13 + table(*bytes.get(10)?);
    let mut out = bytes.get(..at)?.to_vec();
    loop {
        let begun = at;
        match *bytes.get(at)? {
            0x3b => {
                out.push(0x3b);
                return Some(out);
            }
            0x2c => {
                at += 10 + table(*bytes.get(at + 9)?) + 1;
                at = blocks(bytes, at)?;
                out.extend(bytes.get(begun..at)?);
            }
            0x21 => {
                let kind = *bytes.get(at + 1)?;
                let looped = bytes.get(at + 3..at + 14) == Some(b"NETSCAPE2.0");
                at = blocks(bytes, at + 2)?;
                if kind == 0xf9 || looped {
                    out.extend(bytes.get(begun..at)?);
                }
            }
            _ => return None,
        }
    }
}

/// The place behind a row of blocks.
fn blocks(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let length = usize::from(*bytes.get(at)?);
        at += length + 1;
        if length == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bare;

    fn boxed(kind: &[u8], body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 8).unwrap().to_be_bytes();
        [&length[..], kind, body].concat()
    }

    fn item(number: u8, kind: &[u8]) -> Vec<u8> {
        boxed(b"infe", &[&[2, 0, 0, 0, 0, number, 0, 0][..], kind, b"name\0"].concat())
    }

    /// A picture with its pixels, EXIF in the file and XMP in the box beside.
    fn photo() -> Vec<u8> {
        let (pixels, exif, xmp) = (b"pixels", b"\0\0\0\0GPS 52.5 N", b"<xmp>Ada</xmp>");
        let ftyp = boxed(b"ftyp", b"heic\0\0\0\0mif1heic");
        let made = |at: u32| {
            let infos = [item(1, b"hvc1"), item(2, b"Exif"), item(3, b"mime")].concat();
            let iinf = boxed(b"iinf", &[&[0, 0, 0, 0, 0, 3][..], &infos].concat());
            let place = |number: u8, method: u8, at: u32, size: usize| {
                let size = u32::try_from(size).unwrap().to_be_bytes();
                let head = [0, number, 0, method, 0, 0, 0, 1];
                [&head[..], &at.to_be_bytes(), &size].concat()
            };
            let end = at + u32::try_from(pixels.len()).unwrap();
            let rows = [
                place(1, 0, at, pixels.len()),
                place(2, 0, end, exif.len()),
                place(3, 1, 0, xmp.len()),
            ];
            let iloc = [&[1, 0, 0, 0, 0x44, 0, 0, 3][..], &rows.concat()].concat();
            let parts = [
                vec![0; 4],
                boxed(b"hdlr", b"pict"),
                iinf,
                boxed(b"iloc", &iloc),
                boxed(b"idat", xmp),
            ];
            [ftyp.clone(), boxed(b"meta", &parts.concat())].concat()
        };
        let at = u32::try_from(made(0).len() + 8).unwrap();
        [made(at), boxed(b"mdat", &[&pixels[..], exif].concat())].concat()
    }

    #[test]
    fn a_photograph_of_a_phone_loses_its_place_and_nothing_moves() {
        let whole = photo();
        let sent = bare(whole.clone());
        assert_eq!(sent.len(), whole.len());
        let text = String::from_utf8_lossy(&sent).into_owned();
        assert!(text.contains("pixels") && text.contains("Exif"), "{text:?}");
        assert!(!text.contains("GPS") && !text.contains("Ada"), "{text:?}");
        // What cannot be followed goes as it is, whatever it says.
        for cut in 12..whole.len() {
            let odd = whole[..cut].to_vec();
            assert_eq!(bare(odd.clone()).len(), odd.len());
        }
    }

    #[test]
    fn an_animation_loses_its_words_and_keeps_its_rounds() {
        let parts: [&[u8]; 7] = [
            b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff",
            b"\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0",
            b"\x21\xfe\x0bmade by Ada\0",
            b"\x21\xff\x0bXMP DataXMP\x03Ada\0",
            b"\x21\xf9\x04\0\0\0\0\0",
            b"\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0",
            b"\x3bmore of Ada",
        ];
        let sent = bare(parts.concat());
        assert_eq!(sent, [parts[0], parts[1], parts[4], parts[5], b"\x3b"].concat());
    }
}
