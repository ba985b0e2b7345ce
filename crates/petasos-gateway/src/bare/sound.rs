//! Recordings in Ogg and FLAC without what they say about themselves. Words become words that say
//! nothing, of the same length, so that nothing else moves.

use std::collections::BTreeMap;

const PAGE_HEAD: usize = 27;
/// Where a page has its sum.
const SUM: std::ops::Range<usize> = 22..26;

/// Opus, Vorbis or another recording in pages: the second packet of a stream has its words.
pub(super) fn ogg(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let mut at = 0;
    let mut streams: BTreeMap<[u8; 4], Stream> = BTreeMap::new();
    let mut pages = Vec::new();
    while at < bytes.len() {
        let head = bytes.get(at..at + PAGE_HEAD).filter(|head| head.starts_with(b"OggS"))?;
        let serial: [u8; 4] = head.get(14..18)?.try_into().ok()?;
        let count = usize::from(*head.get(26)?);
        let lengths = bytes.get(at + PAGE_HEAD..at + PAGE_HEAD + count)?.to_vec();
        let mut body = at + PAGE_HEAD + count;
        let stream = streams.entry(serial).or_default();
        for length in lengths {
            let end = body + usize::from(length);
            if stream.packet == 1 {
                stream.words.extend(body..end);
            }
            stream.packet += usize::from(length < 255);
            body = end;
        }
        bytes.get(at..body)?;
        pages.push(at..body);
        at = body;
    }
    for stream in streams.values() {
        silenced(&mut bytes, &stream.words);
    }
    for page in pages {
        let page = bytes.get_mut(page)?;
        page.get_mut(SUM)?.fill(0);
        let sum = sum(page).to_le_bytes();
        page.get_mut(SUM)?.copy_from_slice(&sum);
    }
    Some(bytes)
}

#[derive(Default)]
struct Stream {
    packet: usize,
    /// Where each byte of its second packet is.
    words: Vec<usize>,
}

/// Each `NAME=value` becomes a name without a value.
fn silenced(bytes: &mut [u8], places: &[usize]) -> Option<()> {
    let read =
        |bytes: &[u8], at: usize| places.get(at).and_then(|place| bytes.get(*place)).copied();
    let number = |bytes: &[u8], at: usize| {
        let four = [0, 1, 2, 3].map(|step| read(bytes, at + step));
        let [Some(a), Some(b), Some(c), Some(d)] = four else { return None };
        usize::try_from(u32::from_le_bytes([a, b, c, d])).ok()
    };
    let begins =
        |word: &[u8]| word.iter().enumerate().all(|(at, letter)| read(bytes, at) == Some(*letter));
    let head = if begins(b"OpusTags") {
        8
    } else if begins(b"\x03vorbis") {
        7
    } else {
        return None;
    };
    let mut at = head + 4 + number(bytes, head)?;
    let count = number(bytes, at)?;
    at += 4;
    for _ in 0..count {
        let length = number(bytes, at)?;
        at += 4;
        for (step, place) in places.get(at..at.checked_add(length)?)?.iter().enumerate() {
            *bytes.get_mut(*place)? = match step {
                0 => b'X',
                1 => b'=',
                _ => b' ',
            };
        }
        at += length;
    }
    Some(())
}

/// The sum of a page, as Ogg has it.
fn sum(page: &[u8]) -> u32 {
    page.iter().fold(0_u32, |sum, byte| {
        (0..8).fold(sum ^ (u32::from(*byte) << 24), |sum, _| {
            if sum & 0x8000_0000 == 0 { sum << 1 } else { (sum << 1) ^ 0x04c1_1db7 }
        })
    })
}

/// A FLAC recording: words, pictures and what programs wrote become empty space.
pub(super) fn flac(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let mut at = 4;
    loop {
        let head = *bytes.get(at)?;
        let length = bytes.get(at + 1..at + 4)?;
        let length = length.iter().fold(0, |sum, byte| (sum << 8) | usize::from(*byte));
        let end = at + 4 + length;
        if matches!(head & 0x7f, 2 | 4 | 6) {
            *bytes.get_mut(at)? = (head & 0x80) | 1;
            bytes.get_mut(at + 4..end)?.fill(0);
        }
        if head & 0x80 != 0 {
            return Some(bytes);
        }
        at = end;
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::bare;

    #[expect(clippy::disallowed_methods, reason = "a test makes its recordings and looks at them")]
    fn ran(program: &str, words: &[&str]) -> String {
        let ran = std::process::Command::new(program).args(words).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }

    /// Real files: what they say is gone, and every sample stays.
    #[test]
    fn a_recording_loses_its_words_and_no_sample() {
        if !Path::new("/usr/bin/ffmpeg").is_file() {
            petasos_testkit::skip("a_recording_loses_its_words", "ffmpeg", "it is not installed");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let long = format!("comment={}", "Ada lives at 52.5 N. ".repeat(4000));
        for name in ["opus.ogg", "vorbis.ogg", "plain.flac"] {
            let path = folder.path().join(name).display().to_string();
            let mut words = vec!["-v", "error", "-y", "-f", "lavfi", "-i", "sine=d=2"];
            words.extend(["-metadata", "title=By Ada", "-metadata", &long]);
            words.extend(match name {
                "opus.ogg" => ["-c:a", "libopus"],
                "vorbis.ogg" => ["-c:a", "libvorbis"],
                _ => ["-c:a", "flac"],
            });
            words.push(&path);
            ran("ffmpeg", &words);
            let samples = || ran("ffmpeg", &["-v", "error", "-i", &path, "-f", "md5", "-"]);
            let (before, whole) = (samples(), std::fs::read(&path).unwrap());
            assert!(String::from_utf8_lossy(&whole).contains("Ada lives"), "{name}");
            let sent = bare(whole.clone());
            assert_eq!(sent.len(), whole.len(), "{name}");
            assert!(!String::from_utf8_lossy(&sent).contains("Ada"), "{name}");
            let mut file = std::fs::File::create(&path).unwrap();
            std::io::Write::write_all(&mut file, &sent).unwrap();
            assert_eq!(samples(), before, "{name}");
            for cut in [30, 100, 4000, whole.len() - 3] {
                assert_eq!(bare(whole[..cut].to_vec()).len(), cut, "{name} at {cut}");
            }
        }
    }
}
