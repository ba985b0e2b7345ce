//! What must hold for any text: patches reverse, faults change nothing, a kill leaves old or new.

use std::fs;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use crate::bench::Bench;

fn lines(most: usize) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[a-c \t]{0,6}", 1..most)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_patch_and_its_reverse_leave_the_file_as_it_was(
        before in lines(12), after in lines(12), at in 0_usize..12, crlf in any::<bool>(),
    ) {
        let bench = Bench::new();
        let end = if crlf { "\r\n" } else { "\n" };
        // Unlike any other line, so that the place is the only one.
        let (old, new) = ("«old line»\n»second«", "«new»");
        let mut text = before.clone();
        text.insert(at.min(text.len()), old.to_owned());
        text.extend(after);
        let content = text.join("\n").replace('\n', end);
        bench.file("f", &content);
        for (from, to) in [(old, new), (new, old)] {
            let args = json!({ "path": "f", "old_string": from, "new_string": to });
            let told = bench.run("patch", &args);
            prop_assert_eq!(&told["success"], &json!(true), "{}", told);
        }
        prop_assert_eq!(fs::read_to_string(bench.path("f")).unwrap(), content);
    }

    #[test]
    fn what_is_quoted_from_several_places_is_never_edited(
        block in lines(4), around in lines(6), indent in "[ \t]{0,4}",
    ) {
        let block = block.join("\n");
        prop_assume!(!block.trim().is_empty());
        let bench = Bench::new();
        let around = around.join("\n");
        let content = format!("{block}\n{around}\n{block}\n");
        bench.file("f", &content);
        // The quotation may be off in its indentation, which any strategy may forgive.
        let quoted: Vec<String> = block.lines().map(|line| format!("{indent}{}", line.trim())).collect();
        for old in [block.clone(), quoted.join("\n")] {
            let args = json!({ "path": "f", "old_string": old, "new_string": "X" });
            let told = bench.run("patch", &args);
            let is_same = fs::read_to_string(bench.path("f")).unwrap() == content;
            // An exact quotation may be unique by its blanks alone.
            let is_exact = content.matches(&old).count() == 1;
            prop_assert!(is_same || is_exact, "{told}");
            bench.file("f", &content);
        }
    }

    #[test]
    fn a_patch_with_one_fault_changes_no_byte(
        texts in prop::collection::vec(lines(8), 2..6), bad in 0_usize..6,
    ) {
        let bench = Bench::new();
        let bad = bad % texts.len();
        let mut patch = String::new();
        let mut contents = Vec::new();
        for (index, text) in texts.iter().enumerate() {
            let content = format!("start {index}\n{}\nend {index}\n", text.join("\n"));
            bench.file(&format!("f{index}"), &content);
            let wanted = if index == bad { "«nowhere to be found at all»".to_owned() } else { format!("start {index}") };
            patch = format!("{patch}*** Update File: f{index}\n-{wanted}\n+changed\n");
            contents.push(content);
        }
        let told = bench.run("patch", &json!({ "mode": "patch", "patch": patch }));
        prop_assert_eq!(&told["success"], &json!(false), "{}", told);
        for (index, content) in contents.iter().enumerate() {
            prop_assert_eq!(&fs::read_to_string(bench.path(&format!("f{index}"))).unwrap(), content);
        }
    }
}

/// The process that is killed while it writes; it does nothing unless a test started it.
#[test]
#[ignore = "helper process: started by the test that kills it"]
#[expect(clippy::disallowed_methods, reason = "a test program has no other way to be told")]
fn writes_until_it_is_killed() {
    let Ok(folder) = std::env::var("PETASOS_KILL_FOLDER") else { return };
    let bench = Bench::new();
    let path = format!("{folder}/file");
    for letter in ["a", "b"].into_iter().cycle() {
        let content = letter.repeat(3_000_000);
        bench.run("write_file", &json!({ "path": path, "content": content }));
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the process that is killed is this test itself")]
fn a_kill_while_writing_leaves_the_old_or_the_new_content() {
    for round in 0..12_u64 {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "properties::writes_until_it_is_killed"])
            .env("PETASOS_KILL_FOLDER", folder.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let started = std::time::Instant::now();
        while !file.exists() {
            assert!(started.elapsed() < Duration::from_secs(20), "it never wrote");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(1700 * round + 300));
        child.kill().unwrap();
        child.wait().unwrap();
        let left = fs::read(&file).unwrap();
        assert_eq!(left.len(), 3_000_000);
        assert!(left.iter().all(|byte| *byte == left[0]), "a mix of contents");
    }
}
