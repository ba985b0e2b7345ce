//! Thirty files that want to eat memory, break a decoder or reach something: refused or shown, and
//! the memory stays flat.

use image::ImageFormat;
use petasos_media::picture::{Fit, normalise, survey};

use crate::pictures::{halves, written};

/// What one of them may take while it is looked at.
const MEMORY_MAX: u64 = 24 << 20;

fn png(width: u32, height: u32, bits: u8, colour: u8) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut head = b"IHDR".to_vec();
    head.extend(width.to_be_bytes());
    head.extend(height.to_be_bytes());
    head.extend([bits, colour, 0, 0, 0]);
    chunk(&mut bytes, &head);
    // The beginning of a deflate stream of zeros that never ends.
    chunk(&mut bytes, b"IDAT\x78\x9c\xed\xc1\x01\x01\0\0\0\x80\x90\xfe\xaf\xee\x08\x0a");
    chunk(&mut bytes, b"IEND");
    bytes
}

fn chunk(bytes: &mut Vec<u8>, body: &[u8]) {
    bytes.extend(u32::try_from(body.len() - 4).unwrap().to_be_bytes());
    bytes.extend(body);
    let mut sum = u32::MAX;
    for byte in body {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
        }
    }
    bytes.extend((!sum).to_be_bytes());
}

fn svg(inside: &str) -> Vec<u8> {
    format!(r#"<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">{inside}</svg>"#)
        .into_bytes()
}

/// Ten groups, each ten times the one before.
fn doubling() -> String {
    use std::fmt::Write as _;
    let mut text = r#"<defs><g id="a0"><rect width="1" height="1"/></g>"#.to_owned();
    for level in 1..10 {
        let uses = format!(r##"<use href="#a{}"/>"##, level - 1).repeat(10);
        write!(text, r#"<g id="a{level}">{uses}</g>"#).unwrap();
    }
    text + r##"</defs><use href="#a9"/>"##
}

fn gif(width: u16, height: u16) -> Vec<u8> {
    let mut bytes = b"GIF89a".to_vec();
    bytes.extend(width.to_le_bytes());
    bytes.extend(height.to_le_bytes());
    bytes.extend(b"\0\0\0\x2c\0\0\0\0");
    bytes.extend(width.to_le_bytes());
    bytes.extend(height.to_le_bytes());
    bytes.extend(b"\0\x02\x02\x4c\x01\0\x3b");
    bytes
}

fn bmp(width: i32, height: i32) -> Vec<u8> {
    let mut bytes = b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0".to_vec();
    bytes.extend(width.to_le_bytes());
    bytes.extend(height.to_le_bytes());
    bytes.extend(b"\x01\0\x18\0");
    bytes.extend([0; 40]);
    bytes
}

fn tiff(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"II\x2a\0\x08\0\0\0\x08\0".to_vec();
    let fields = [
        (256, width),
        (257, height),
        (258, 8),
        (259, 1),
        (262, 1),
        (273, 200),
        (278, height),
        (279, u32::MAX),
    ];
    for (tag, value) in fields {
        bytes.extend(u16::try_from(tag).unwrap().to_le_bytes());
        bytes.extend(b"\x04\0\x01\0\0\0");
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend([0; 100]);
    bytes
}

fn jpeg(width: u16, height: u16) -> Vec<u8> {
    let mut bytes = written(&halves(16, 16), ImageFormat::Jpeg);
    let at = bytes.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
    bytes[at + 5..at + 7].copy_from_slice(&height.to_be_bytes());
    bytes[at + 7..at + 9].copy_from_slice(&width.to_be_bytes());
    bytes
}

fn webp(width: u32, height: u32) -> Vec<u8> {
    let mut body = b"WEBPVP8L\x10\0\0\0\x2f".to_vec();
    body.extend(((width - 1) | (height - 1) << 14).to_le_bytes());
    body.extend([0; 11]);
    let mut bytes = b"RIFF".to_vec();
    bytes.extend(u32::try_from(body.len()).unwrap().to_le_bytes());
    bytes.extend(body);
    bytes
}

fn cut(mut bytes: Vec<u8>, at: usize) -> Vec<u8> {
    bytes.truncate(at);
    bytes
}

fn cases() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let good = written(&halves(64, 64), ImageFormat::Png);
    let photo = written(&halves(64, 64), ImageFormat::Jpeg);
    let mut flipped = good.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0xff;
    vec![
        ("PNG of 20000 x 20000", png(20_000, 20_000, 8, 6), "too_large"),
        ("PNG of the largest size", png(0x7fff_ffff, 0x7fff_ffff, 16, 6), "too_large"),
        ("PNG that is one line", png(2_000_000_000, 1, 8, 2), "too_large"),
        ("PNG without pixels", png(0, 7, 8, 2), "bad_argument"),
        ("PNG with odd bits", png(8, 8, 7, 9), "bad_argument"),
        ("PNG that ends early", cut(good.clone(), 60), "bad_argument"),
        ("PNG with a flipped byte", flipped, "bad_argument"),
        ("PNG header alone", cut(good.clone(), 8), "bad_argument"),
        ("GIF of 65535 x 65535", gif(65_535, 65_535), "too_large"),
        ("GIF that ends early", cut(gif(100, 100), 14), "bad_argument"),
        ("BMP of 60000 x 60000", bmp(60_000, 60_000), "too_large"),
        ("BMP of negative size", bmp(-5, 8), "bad_argument"),
        ("TIFF of 60000 x 60000", tiff(60_000, 60_000), "too_large"),
        ("TIFF with an endless strip", tiff(64, 64), "too_large"),
        ("JPEG of 65500 x 65500", jpeg(65_500, 65_500), "too_large"),
        ("JPEG that ends early", cut(photo, 40), "bad_argument"),
        ("WebP of 16383 x 16383", webp(16_383, 16_383), "too_large"),
        ("WebP that ends early", cut(webp(64, 64), 22), "bad_argument"),
        ("SVG that multiplies itself", svg(&doubling()), "too_large"),
        ("SVG that refers to itself", svg(r##"<g id="a"><use href="#a"/></g>"##), "too_large"),
        ("SVG of 60000 elements", svg(&"<g/>".repeat(60_000)), "too_large"),
        ("SVG nested 5000 deep", svg(&("<g>".repeat(5000) + &"</g>".repeat(5000))), "too_large"),
        (
            "SVG with entities",
            [b"<!DOCTYPE svg [<!ENTITY a 'aaaa'>]>".to_vec(), svg("&a;")].concat(),
            "unsupported",
        ),
        (
            "SVG with endless noise",
            svg("<filter><feTurbulence numOctaves='999999999'/></filter>"),
            "unsupported",
        ),
        ("SVG of 5 MB", svg(&" ".repeat(5 << 20)), "too_large"),
        ("SVG that is no XML", svg("<g"), "bad_argument"),
        ("a page", b"<html><img src=x></html>".to_vec(), "unsupported"),
        ("a film", b"\0\0\0\x18ftypisom\0\0\0\0".to_vec(), "unsupported"),
        ("an HEIC picture", b"\0\0\0\x18ftypheic\0\0\0\0".to_vec(), "unsupported"),
        ("nothing", Vec::new(), "unsupported"),
    ]
}

#[test]
fn e126_thirty_hostile_files_are_refused_and_the_memory_stays_flat() {
    let cases = cases();
    assert_eq!(cases.len(), 30);
    for (name, bytes, kind) in cases {
        let mut refused = None;
        let used = allocation_counter::measure(|| {
            let shown = survey(&bytes).and_then(|header| normalise(&bytes, header, Fit::RESULT));
            refused = Some(shown.map(|picture| (picture.width, picture.height)));
        });
        let refused = refused.unwrap().expect_err(name);
        assert_eq!(refused.kind, kind, "{name}: {refused}");
        assert!(refused.message.len() <= 400, "{name}: {refused}");
        assert!(used.bytes_max < MEMORY_MAX, "{name} took {} bytes", used.bytes_max);
    }
}

#[test]
fn e126_a_drawing_reaches_nothing_and_runs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("red.png");
    let mut file = std::fs::File::create(&inside).unwrap();
    std::io::Write::write_all(&mut file, &written(&halves(8, 8), ImageFormat::Png)).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let drawing = svg(&format!(
        r#"<script>fetch('http://127.0.0.1:{port}/')</script>
        <image href="{0}" width="9" height="9"/><image href="file://{0}" width="9" height="9"/>
        <image href="http://127.0.0.1:{port}/x.png" width="9" height="9"/>
        <style>@import url(http://127.0.0.1:{port}/x.css);</style>"#,
        inside.display()
    ));
    let header = survey(&drawing).unwrap();
    let picture = normalise(&drawing, header, Fit::RESULT).unwrap();
    let seen = image::load_from_memory(&picture.bytes).unwrap().to_rgb8();
    assert!(seen.pixels().all(|pixel| pixel.0 == [255, 255, 255]), "a file was drawn");
    assert!(picture.notes.iter().any(|note| note.contains("left out")), "{:?}", picture.notes);
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "somebody was asked");
}
