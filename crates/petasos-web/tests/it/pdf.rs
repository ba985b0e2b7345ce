//! PDF: what people read as pages, and files that are made to hurt whoever opens them. All are
//! written here, byte by byte.

use std::io::Write as _;
use std::time::{Duration, Instant};

use petasos_contract::environment::{Sandbox, SandboxLevel};
use petasos_contract::processes::{HelperSandbox, HelperSpec, Processes as _};
use petasos_terminal::Helpers;
use petasos_web::Apart;
use petasos_web::extract::{ExtractAsk, Reading, extract};
use serde_json::Value;

use crate::kit::{Kit, Reply};

/// This very program as the process that reads one file.
pub(crate) fn reader() -> Vec<String> {
    let program = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    let words = ["pdf::a_process_that_reads_one_file", "--exact", "--ignored", "--nocapture"];
    [program].into_iter().chain(words.map(str::to_owned)).collect()
}

#[test]
#[ignore = "helper process: started by whoever reads a PDF in these tests"]
fn a_process_that_reads_one_file() {
    petasos_web::serve_pdf(std::io::stdin().lock(), std::io::stdout().lock()).unwrap();
}

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

/// Each within its limit, all of them together far above what one process may have.
fn heavy() -> Vec<u8> {
    let tree = b"<</Type/Pages/Kids[]/Count 0>>".to_vec();
    let many = stream("/Type/ObjStm/N 1/First 4/Filter/FlateDecode", &packed(48 << 20));
    file(&[vec![catalog(), tree], vec![many; 40]].concat(), "")
}

// E5.3: a file that eats memory costs the process that reads it, and is told as what it is.
#[tokio::test]
async fn a_pdf_that_needs_too_much_memory_is_refused() {
    let kit = Kit::start().await;
    let told = read(&kit, "heavy", heavy()).await;
    // On a very busy machine its time may end before its memory does.
    let ended = matches!(told["error_type"].as_str(), Some("too_large" | "timeout"));
    assert!(ended, "{told}");
    let whole = pages(&[said(&["The bridge over the river was opened."])], "");
    let told = read(&kit, "after", whole).await;
    assert!(told["content"].as_str().unwrap().contains("The bridge over the river"), "{told}");
}

fn shell(script: &str) -> Apart {
    Apart::new(["/bin/sh", "-c", script].map(str::to_owned).to_vec(), Helpers::new())
}

fn lives(pid: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ")
}

/// The process that a script wrote down, once it did.
async fn written(kit: &Kit) -> String {
    let file = kit.home.path().join("sandbox-temp/pid");
    loop {
        let pid = std::fs::read_to_string(&file).unwrap_or_default();
        if pid.ends_with('\n') {
            return pid.trim().to_owned();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

const HANGS: &str = "echo $$ > \"$TMPDIR/pid\"; cat > /dev/null; exec sleep 600";

// E5.3: one that never answers ends in time, one that dies is told, and neither is left behind.
#[tokio::test]
async fn a_reader_that_hangs_or_dies_is_ended_and_told() {
    let kit = Kit::start().await.reading(shell(HANGS).within(Duration::from_secs(2)));
    let told = read(&kit, "hangs", b"%PDF-1.5\n".to_vec()).await;
    assert_eq!(told["error_type"], "timeout", "{told}");
    assert!(!lives(&written(&kit).await), "it was left behind");
    for (name, script) in [("dies", "kill -SEGV $$"), ("noise", "head -c 40000000 /dev/zero")] {
        let kit = Kit::start().await.reading(shell(script));
        let told = read(&kit, name, b"%PDF-1.5\n".to_vec()).await;
        assert_eq!(told["error_type"], "upstream", "{told}");
    }
}

// Issue 23: a cancel is heard at once, and the reader goes with the call.
#[tokio::test]
async fn a_cancelled_call_takes_its_reader_with_it() {
    let kit = Kit::start().await.reading(shell(HANGS));
    let page = Reply::new("application/pdf", b"%PDF-1.5\n".to_vec());
    let ask = ExtractAsk { urls: vec![kit.server.at("/a.pdf", page)], ..ExtractAsk::default() };
    let reading = Reading { sources: &kit.sources, renderer: None };
    let cancel = async {
        let pid = written(&kit).await;
        kit.cx.cancel.cancel();
        (pid, Instant::now())
    };
    let (ended, (pid, since)) = tokio::join!(extract(&ask, reading, &kit.cx), cancel);
    assert_eq!(ended.unwrap_err().kind, "cancelled");
    let heard = since.elapsed();
    assert!(heard < petasos_testkit::pace::fair(Duration::from_millis(250)), "{heard:?}");
    while lives(&pid) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

// E5.3: whoever reads writes nothing but its own temporary files and reaches nobody.
#[tokio::test]
async fn a_reader_writes_nothing_and_reaches_nobody() {
    let kit = Kit::start().await;
    let leak = kit.home.path().join("leak");
    let port = kit.server.url.rsplit(':').next().unwrap().to_owned();
    let script = format!(
        "cat > /dev/null; echo x > '{}' 2> /dev/null && wrote=yes; \
         (exec 3<>/dev/tcp/127.0.0.1/{port}) 2> /dev/null && reached=yes; \
         echo \"{{\\\"text\\\": \\\"wrote ${{wrote:-nothing}}, reached ${{reached:-nobody}}\\\"}}\"",
        leak.display()
    );
    let argv = ["/bin/bash", "-c", &script].map(str::to_owned).to_vec();
    let kit = kit.reading(Apart::new(argv, Helpers::new()));
    let told = read(&kit, "fenced", b"%PDF-1.5\n".to_vec()).await;
    // A machine that can confine nothing says so in its log, and is not what is shown here.
    let wanted = Sandbox { level: SandboxLevel::Readonly, ..Sandbox::default() };
    let mut probe = HelperSpec::new("probe", vec!["/bin/true".to_owned()], &kit.cx.settings);
    probe.sandbox = HelperSandbox::Given(wanted);
    let probe = Helpers::new().start(probe).await.unwrap();
    if !probe.hand.confinement().starts_with("off") {
        assert_eq!(told["content"], "wrote nothing, reached nobody", "{told}");
        assert!(!leak.exists());
    }
}
