//! Films and recordings that are not what they say, through the real decoder: refused or read in
//! part, no file stays, and the decoder stays small.

use std::path::Path;

use petasos_media::frames::frames;
use petasos_media::transcribing::{Patience, transcribe};
use serde_json::json;

use crate::desk::Desk;

/// What the decoder may take for any of them, in KiB.
const PEAK_MAX: u64 = 400 << 10;

/// The real program, and how much memory it had at most.
fn watched(name: &str) -> String {
    format!(
        "/usr/bin/{name} \"$@\" & pid=$!; while kill -0 $pid 2>/dev/null; do \
         sed -n 's/^VmHWM:[^0-9]*\\([0-9]*\\).*/\\1/p' /proc/$pid/status >> peaks 2>/dev/null; \
         sleep 0.02; done; wait $pid"
    )
}

fn desk() -> Option<Desk> {
    if !["ffmpeg", "ffprobe"].iter().all(|name| Path::new("/usr/bin").join(name).is_file()) {
        petasos_testkit::skip("hostile films and recordings", "ffmpeg", "it is not installed");
        return None;
    }
    let (ffmpeg, ffprobe) = (watched("ffmpeg"), watched("ffprobe"));
    let hears = json!({ "provider": "mine", "providers": { "mine": { "type": "command",
        "command": "test -s {input_path} && echo words" } } });
    let programs = [("ffmpeg", ffmpeg.as_str()), ("ffprobe", ffprobe.as_str())];
    Some(Desk::equipped(&programs, &json!({ "stt": hears })))
}

/// A film that ffmpeg makes of these words.
fn made(desk: &Desk, name: &str, words: &[&str]) -> Vec<u8> {
    let path = desk.file(name, b"");
    #[expect(clippy::disallowed_methods, reason = "a test makes its films")]
    let ran = std::process::Command::new("/usr/bin/ffmpeg")
        .args(["-v", "error", "-y", "-f", "lavfi", "-i"])
        .args(words)
        .arg(&path)
        .status()
        .unwrap();
    assert!(ran.success(), "{name}");
    std::fs::read(path).unwrap()
}

fn boxed(kind: &[u8], body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 8).unwrap().to_be_bytes();
    [&length[..], kind, body].concat()
}

/// The bytes with what follows each such place written anew.
fn patched(mut bytes: Vec<u8>, at: &[u8], with: &[u8]) -> Vec<u8> {
    let places = (0..bytes.len()).filter(|place| bytes[*place..].starts_with(at));
    let places: Vec<usize> = places.map(|place| place + at.len()).collect();
    assert!(!places.is_empty());
    for place in places {
        bytes[place..place + with.len()].copy_from_slice(with);
    }
    bytes
}

fn peak(desk: &Desk) -> u64 {
    let told = std::fs::read_to_string(desk.cx.workspace.join("peaks")).unwrap_or_default();
    told.split_whitespace().filter_map(|word| word.parse().ok()).max().unwrap_or_default()
}

fn films(desk: &Desk) -> Vec<(&'static str, Vec<u8>)> {
    let good = made(desk, "good.mp4", &["testsrc=s=64x48:d=1:r=5", "-c:v", "mpeg4"]);
    let photos = made(desk, "photos.avi", &["testsrc=s=64x48:d=1:r=5", "-c:v", "mjpeg"]);
    let size = [0xff, 0xdc, 0xff, 0xdc];
    let mut deep = boxed(b"mvhd", &[0; 100]);
    for _ in 0..4000 {
        deep = boxed(b"moov", &deep);
    }
    let ftyp = b"\0\0\0\x18ftypisom\0\0\0\0isommp42".to_vec();
    let half = good.len() / 2;
    vec![
        (
            "a film larger than 8K",
            made(
                desk,
                "large.mov",
                &["color=s=8000x8000:d=1:r=1", "-pix_fmt", "gray", "-c:v", "png"],
            ),
        ),
        ("photographs that say 65500 x 65500", patched(photos, b"\xff\xc0\x00\x11\x08", &size)),
        ("a film that ends early", good[..half].to_vec()),
        ("a film without its table", patched(good, b"moov", &[0; 64])),
        ("boxes in boxes, 4000 deep", [ftyp.clone(), deep].concat()),
        ("a box of four gigabytes", [ftyp.clone(), b"\xff\xff\xff\xffmoov".to_vec()].concat()),
        ("a head and nothing else", ftyp),
        ("Matroska that never ends", [&b"\x1a\x45\xdf\xa3\x01"[..], &[0xff; 4000]].concat()),
        ("AVI that never begins", [&b"RIFF\xff\xff\xff\xffAVI LIST"[..], &[0xff; 400]].concat()),
        ("MPEG of noise", [&b"\0\0\x01\xba"[..], &[0x5a; 4000]].concat()),
        ("a playlist", b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n".to_vec()),
        ("a page", b"<html></html>".to_vec()),
    ]
}

#[tokio::test]
async fn e126_hostile_films_are_refused_and_their_decoder_stays_small() {
    let Some(desk) = desk() else { return };
    for (name, bytes) in films(&desk) {
        let refused = frames(&bytes, desk.processes.as_ref(), &desk.cx).await;
        let refused = refused.expect_err(name);
        assert!(matches!(refused.kind, "bad_argument" | "unsupported"), "{name}: {refused}");
        assert!(refused.message.chars().count() <= 400, "{name}: {refused}");
        assert!(!refused.told()["error"].to_string().contains("root:"), "{name}");
        let left = std::fs::read_dir(desk.cx.settings.home().join("cache/videos"));
        assert_eq!(left.map_or(0, Iterator::count), 0, "{name}: a file stays");
    }
    let peak = peak(&desk);
    assert!((1..PEAK_MAX).contains(&peak), "{peak} KiB");
}

#[tokio::test]
async fn e126_hostile_recordings_are_refused_and_their_decoder_stays_small() {
    let Some(desk) = desk() else { return };
    let wave = |channels: u16, rate: u32, rest: &[u8]| {
        let mut bytes = b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x01\0".to_vec();
        bytes.extend(channels.to_le_bytes());
        bytes.extend(rate.to_le_bytes());
        bytes.extend(rate.to_le_bytes());
        bytes.extend(b"\x01\0\x08\0data\xff\xff\xff\xff");
        [bytes, rest.to_vec()].concat()
    };
    let ftyp = b"\0\0\0\x18ftypM4A \0\0\0\0isommp42".to_vec();
    let cases = [
        ("65535 channels", wave(u16::MAX, 48_000, &[0; 4000])),
        ("no rate", wave(1, 0, &[0; 4000])),
        ("a rate of four billion", wave(1, u32::MAX, &[0; 4000])),
        ("words of 256 MB", [&b"ID3\x04\0\0\x7f\x7f\x7f\x7f"[..], &[0; 400]].concat()),
        ("Ogg that ends early", b"OggS\0\x02\0\0\0\0\0\0\0\0OpusHead".to_vec()),
        ("FLAC of noise", [&b"fLaC"[..], &[0xff; 4000]].concat()),
        ("a head and nothing else", ftyp.clone()),
        ("boxes that lead back", [ftyp, boxed(b"moov", &boxed(b"trak", &[0xff; 64]))].concat()),
    ];
    for (name, bytes) in cases {
        let file = desk.file("odd.bin", &bytes);
        let heard = transcribe(&file, Patience::USUAL, desk.processes.as_ref(), &desk.cx).await;
        let refused = heard.map(|heard| heard.transcript).expect_err(name);
        assert!(!matches!(refused.kind, "timeout" | "cancelled"), "{name}: {refused}");
        assert_eq!(desk.kept(), 0, "{name}: a file stays");
    }
    let peak = peak(&desk);
    assert!((1..PEAK_MAX).contains(&peak), "{peak} KiB");
}
