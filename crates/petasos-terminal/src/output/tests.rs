//! Output as the model reads it: decoded, plain, masked and cut.

use std::collections::BTreeMap;
use std::sync::Arc;

use petasos_contract::settings::{Parts, Source, Variable};
use petasos_contract::{Secret, Settings};
use serde_json::json;

use super::*;

fn settings(chars_max: usize) -> Settings {
    let variable = |name: &str, value: &str| {
        let source = Source::Environment { variable: name.to_owned() };
        (name.to_owned(), Variable { value: Secret::new(value), source })
    };
    let values = json!({
        "tool_output": { "max_bytes": chars_max },
        "model": { "api_key": "configured-canary" },
    });
    Settings::new(Parts {
        values: values.as_object().cloned().unwrap(),
        variables: BTreeMap::from([variable("SOME_TOKEN", "canary-value-1")]),
        temp: std::env::temp_dir(),
        ..Parts::default()
    })
}

async fn collect(chars_max: usize, pieces: &[&[u8]]) -> Collected {
    let settings = settings(chars_max);
    let redactor = Arc::new(Redactor::new(&settings));
    let mut collector = Collector::new(&settings, redactor);
    for piece in pieces {
        collector.push(piece).await;
    }
    collector.finish().await
}

#[tokio::test]
async fn text_becomes_readable_however_it_is_cut() {
    let rows: &[(&[&[u8]], &str)] = &[
        (&[b"plain\n"], "plain\n"),
        (&[b"no line end"], "no line end"),
        (&[b"caf\xc3", b"\xa9"], "café"),
        (&[b"bad \xff\xfe byte"], "bad \u{fffd}\u{fffd} byte"),
        (&[b"cut \xe2\x82"], "cut \u{fffd}"),
        (&[b"\x1b[1;31mred\x1b[0m"], "red"),
        (&[b"a\x1b[3", b"1mb\x1b]0;title\x07c\x1b(Bd"], "abcd"),
        (&[b"line\r\nnext\r\n"], "line\nnext\n"),
        (&[b"10%\r20%\r30%"], "10%\r20%\r30%"),
        (&[b"nul\x00bell\x07"], "nulbell"),
    ];
    for (pieces, expected) in rows {
        assert_eq!(collect(50_000, pieces).await.text, *expected, "{pieces:?}");
    }
}

#[tokio::test]
async fn secrets_are_masked_even_when_cut_in_two() {
    let rows: &[(&[&[u8]], &str)] = &[
        (&[b"x canary-val", b"ue-1 y\n"], "x [masked] y\n"),
        (&[b"configured-canary"], "[masked]"),
        (&[b"key sk-abcdefghijklmnopqrstuvwx\n"], "key [masked]\n"),
        (&[b"can\x1b[1mary-value-1\n"], "[masked]\n"),
        (&[b"Authorization: Bearer abcdef123456\n"], "Authorization: Bearer [masked]\n"),
        (&[b"postgres://me:hunter22@db/x\n"], "postgres://me:[masked]@db/x\n"),
        (
            &[
                b"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n",
                b"abcd\n-----END RSA PRIVATE KEY-----\nok\n",
            ],
            "[masked private key]\nok\n",
        ),
        (&[b"ghp_abcdefghijklmnopqrstuvwxyz0123"], "[masked]"),
        (&[b"an ordinary line with sk-learn\n"], "an ordinary line with sk-learn\n"),
    ];
    for (pieces, expected) in rows {
        assert_eq!(collect(50_000, pieces).await.text, *expected, "{pieces:?}");
    }
}

#[tokio::test]
async fn a_long_output_keeps_both_ends_and_the_whole_in_a_file() {
    let line = "äöü 0123456789 canary-value-1\n".repeat(1000);
    let collected = collect(1000, &[line.as_bytes()]).await;
    let chars = collected.text.chars().count();
    assert!((1000..1300).contains(&chars), "{chars}");
    assert!(collected.text.starts_with("äöü"));
    assert!(collected.text.ends_with("[masked]\n"));
    assert!(!collected.text.contains("canary-value"));
    let whole = collected.whole.unwrap();
    let kept = std::fs::read_to_string(whole.as_path()).unwrap();
    assert_eq!(kept, line.replace("canary-value-1", "[masked]"));
    std::fs::remove_file(whole.as_path()).unwrap();
}

#[tokio::test]
async fn a_huge_line_is_masked_across_its_pieces() {
    let mut bytes = vec![b'a'; 200_000];
    bytes.extend_from_slice(b"canary-value-1");
    bytes.extend(vec![b'b'; 200_000]);
    let pieces: Vec<&[u8]> = bytes.chunks(4096).collect();
    let collected = collect(1_000_000, &pieces).await;
    assert!(!collected.text.contains("canary-value"));
    assert!(collected.text.contains("[masked]"));
}

fn spill_settings(temp: &std::path::Path) -> Settings {
    let values = json!({ "tool_output": { "max_bytes": 100 } });
    Settings::new(Parts {
        values: values.as_object().cloned().unwrap(),
        temp: temp.to_owned(),
        ..Parts::default()
    })
}

#[tokio::test]
async fn old_whole_output_goes_when_new_one_comes() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("petasos-results");
    std::fs::create_dir(&folder).unwrap();
    let hour = std::time::Duration::from_hours(1);
    // Name, size, age in hours: sparse files take no room.
    for (name, size, age) in
        [("ancient", 1, 100), ("older", 800 << 20, 3), ("old", 800 << 20, 2), ("young", 1, 0)]
    {
        let file = std::fs::File::create(folder.join(name)).unwrap();
        file.set_len(size).unwrap();
        file.set_modified(std::time::SystemTime::now() - hour * age).unwrap();
    }
    let settings = spill_settings(temp.path());
    let mut collector = Collector::new(&settings, Arc::new(Redactor::new(&settings)));
    collector.push("a line of some length\n".repeat(50).as_bytes()).await;
    let whole = collector.finish().await.whole.unwrap();
    let mut names: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path != whole.as_path())
        .map(|path| path.file_name().unwrap().to_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["old", "young"]);
}

#[tokio::test]
async fn whole_output_that_cannot_be_kept_is_tried_once() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("petasos-results");
    // Not a folder: no file can be made in it.
    drop(std::fs::File::create(&folder).unwrap());
    let settings = spill_settings(temp.path());
    let mut collector = Collector::new(&settings, Arc::new(Redactor::new(&settings)));
    let piece = "a line of some length\n".repeat(50);
    collector.push(piece.as_bytes()).await;
    std::fs::remove_file(&folder).unwrap();
    collector.push(piece.as_bytes()).await;
    assert!(collector.finish().await.whole.is_none());
    assert!(!folder.exists());
}
