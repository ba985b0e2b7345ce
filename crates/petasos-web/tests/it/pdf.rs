//! PDF: what people read as pages, and files that are made to hurt whoever opens them. All are
//! written here, byte by byte.

use std::io::Write as _;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::kit::{Kit, Reply};

/// A file of these objects, numbered from 1; the first is the catalogue.
fn file(objects: &[Vec<u8>], trailer: &str) -> Vec<u8> {
    let mut bytes = b"%PDF-1.5\n".to_vec();
    let mut places = Vec::new();
    for (at, object) in objects.iter().enumerate() {
        places.push(bytes.len());
        writeln!(bytes, "{} 0 obj", at + 1).unwrap();
        bytes.extend_from_slice(object);
        bytes.extend_from_slice(b"\nendobj\n");
    }
    let table = bytes.len();
    writeln!(bytes, "xref\n0 {}\n0000000000 65535 f ", objects.len() + 1).unwrap();
    for place in places {
        writeln!(bytes, "{place:010} 00000 n ").unwrap();
    }
    let size = objects.len() + 1;
    writeln!(bytes, "trailer\n<</Size {size}/Root 1 0 R{trailer}>>\nstartxref\n{table}\n%%EOF")
        .unwrap();
    bytes
}

fn stream(head: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("<<{head}/Length {}>>\nstream\n", body.len());
    [head.as_bytes(), body, b"\nendstream"].concat()
}

/// Pages with these contents, in one font.
fn pages(contents: &[Vec<u8>], trailer: &str) -> Vec<u8> {
    let kids: Vec<String> = (0..contents.len()).map(|n| format!("{} 0 R", 4 + 2 * n)).collect();
    let tree = format!("<</Type/Pages/Kids[{}]/Count {}>>", kids.join(" "), kids.len());
    let font = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>";
    let mut objects = vec![b"<</Type/Catalog/Pages 2 0 R>>".to_vec(), tree.into(), font.into()];
    for (n, content) in contents.iter().enumerate() {
        let page = format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F 3 0 R>>>>/Contents {} 0 R>>",
            5 + 2 * n
        );
        objects.push(page.into());
        objects.push(content.clone());
    }
    file(&objects, trailer)
}

fn said(lines: &[&str]) -> Vec<u8> {
    let lines: Vec<String> = lines.iter().map(|line| format!("({line}) Tj T*")).collect();
    stream("", format!("BT /F 12 Tf 14 TL 50 800 Td {} ET", lines.join(" ")).as_bytes())
}

fn packed(size: usize) -> Vec<u8> {
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    for _ in 0..size >> 20 {
        packer.write_all(&vec![b' '; 1 << 20]).unwrap();
    }
    packer.finish().unwrap()
}

async fn read(kit: &Kit, name: &str, bytes: Vec<u8>) -> Value {
    let url = kit.server.at(&format!("/{name}.pdf"), Reply::new("application/pdf", bytes));
    let started = Instant::now();
    let read = kit.read(&[&url]).await.remove(0);
    assert!(started.elapsed() < Duration::from_secs(40), "{name}: {:?}", started.elapsed());
    read
}

// Acceptance 101: text in its order, page by page, as many as anybody reads; a file without text
// and one that is locked say so.
#[tokio::test]
async fn e101_a_pdf_is_read_page_by_page_or_says_why_not() {
    let kit = Kit::start().await;
    let two = pages(
        &[
            said(&["The bridge over the river", "was opened on Monday."]),
            said(&["Second page: the toll is four euros."]),
        ],
        "",
    );
    let told = read(&kit, "two", two).await;
    let text = told["content"].as_str().unwrap();
    let places = ["## Page 1", "The bridge over", "opened on Monday", "## Page 2", "four euros"];
    let places: Vec<_> = places.iter().map(|words| text.find(words)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{text}");

    let many: Vec<Vec<u8>> =
        (1..=300).map(|n| said(&[&format!("This is what page number {n} says to us.")])).collect();
    let ask = petasos_web::extract::ExtractAsk {
        urls: vec![kit.server.at("/many", Reply::new("application/pdf", pages(&many, "")))],
        char_limit: Some(100_000),
        ..Default::default()
    };
    let told = kit.asked(&ask).await.remove(0);
    let text = told["content"].as_str().unwrap();
    assert!(text.contains("page number 200 says") && !text.contains("number 201 "), "{text:.200}");
    assert!(text.contains("…and 100 more pages"));

    let scanned = pages(&[stream("", b"q 595 0 0 842 0 0 cm /Im Do Q")], "");
    let told = read(&kit, "scanned", scanned).await;
    assert_eq!(told["error_type"], "no_result", "{told}");
    assert!(told["error"].to_string().contains("scanned"), "{told}");
    assert!(told.to_string().contains("vision_analyze"), "{told}");

    let lock = "/Encrypt<</Filter/Standard/V 1/R 2/Length 40/P -4/O<28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A>/U<00112233445566778899AABBCCDDEEFF00112233445566778899AABBCCDDEEFF>>>/ID[<00112233445566778899AABBCCDDEEFF><00112233445566778899AABBCCDDEEFF>]";
    let told =
        read(&kit, "locked", pages(&[said(&["Nobody reads this without the word."])], lock)).await;
    assert!(told["error"].to_string().contains("encrypted"), "{told}");
}

/// A catalogue that points to its pages.
fn catalog() -> Vec<u8> {
    b"<</Type/Catalog/Pages 2 0 R>>".to_vec()
}

fn plain(text: String) -> Vec<u8> {
    text.into_bytes()
}

/// Files that are broken, nested too deeply or lead in circles.
fn crooked(whole: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let names = format!("{}1{}", "<</A".repeat(100_000), ">>".repeat(100_000));
    let nested = stream("", format!("BT {deep} TJ ET").as_bytes());
    vec![
        ("cut", whole[..whole.len() / 2].to_vec()),
        (
            "noise",
            [
                b"%PDF-1.7\n".to_vec(),
                (0..100_000_u32).map(|n| ((n * 7919) >> 3).to_le_bytes()[0]).collect(),
            ]
            .concat(),
        ),
        ("deep", file(&[catalog(), plain(format!("<</Type/Pages/Kids {deep}/Count 1>>"))], "")),
        (
            "names",
            file(&[catalog(), plain(format!("<</Type/Pages/Kids[]/Count 0/X {names}>>"))], ""),
        ),
        ("operators", pages(&[nested], "")),
        (
            "itself",
            file(
                &[
                    catalog(),
                    plain("<</Type/Pages/Kids[2 0 R 2 0 R]/Count 2/Parent 2 0 R>>".to_owned()),
                ],
                "",
            ),
        ),
        (
            "around",
            file(
                &[
                    catalog(),
                    plain("<</Type/Pages/Kids[3 0 R]/Count 1>>".to_owned()),
                    plain("<</Type/Pages/Kids[2 0 R 3 0 R]/Count 9>>".to_owned()),
                ],
                "",
            ),
        ),
    ]
}

/// Files that promise or hold too much.
fn too_large() -> Vec<(&'static str, Vec<u8>)> {
    let bomb = stream("/Filter/FlateDecode", &packed(120 << 20));
    let chained = stream(&format!("/Filter[{}]", "/FlateDecode".repeat(2000)), &packed(4 << 20));
    vec![
        ("bomb", pages(&[bomb], "")),
        ("chained", pages(&[chained], "")),
        ("table", pages(&[said(&["x"])], "/Prev 9")),
        ("length", pages(&[b"<</Length 99999999999>>\nstream\nBT ET\nendstream".to_vec()], "")),
        (
            "count",
            file(
                &[catalog(), plain("<</Type/Pages/Kids[]/Count 2147483647>>".to_owned())],
                "/Size 2147483647",
            ),
        ),
        (
            "contents",
            file(
                &[
                    catalog(),
                    plain("<</Type/Pages/Kids[3 0 R]/Count 1>>".to_owned()),
                    plain(format!(
                        "<</Type/Page/Parent 2 0 R/Contents[{}]>>",
                        "3 0 R ".repeat(50_000)
                    )),
                ],
                "",
            ),
        ),
    ]
}

// Acceptance 101: hostile files end in time with a word of the list, and the next one is read.
#[tokio::test]
async fn e101_hostile_pdfs_hurt_nobody() {
    let kit = Kit::start().await;
    let whole = pages(&[said(&["The bridge over the river was opened."])], "");
    for (name, bytes) in crooked(&whole).into_iter().chain(too_large()) {
        let told = read(&kit, name, bytes).await;
        let word = told["error_type"].as_str();
        let is_known = matches!(
            word,
            Some("upstream" | "no_result" | "timeout" | "unsupported" | "too_large")
        );
        assert!(is_known, "{name}: {:.300}", told.to_string());
    }
    let told = read(&kit, "after", whole).await;
    assert!(told["content"].as_str().unwrap().contains("The bridge over the river"), "{told}");
}
