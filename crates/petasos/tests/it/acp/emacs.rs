//! A real editor: Emacs without a window, whose unsaved buffer is read and edited.

use serde_json::{Value, json};

use super::{home, result_of};
use crate::loopback::{Loopback, Say};

#[test]
#[expect(clippy::disallowed_methods, reason = "an editor is a program of its own")]
fn emacs_completes_an_edit_of_an_unsaved_buffer() {
    let edit = json!({ "path": "note.txt", "old_string": "ünsaved", "new_string": "édited" });
    let model = Loopback::saying(vec![
        Say::Calls(vec![("read_file", json!({ "path": "note.txt" }))]),
        Say::Calls(vec![("patch", edit)]),
        Say::Text("The note is edited."),
    ]);
    let home = home(&model);
    home.write("work/note.txt", "saved words\n");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/acp/emacs.el");
    let ran = std::process::Command::new("emacs")
        .args(["--batch", "-Q", "-l", script, env!("CARGO_BIN_EXE_petasos")])
        .arg(home.workspace())
        .env_clear()
        .env("HOME", home.user())
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("LANG", "C.UTF-8")
        .current_dir(home.workspace())
        .output();
    let Ok(ran) = ran else {
        let test = "emacs_completes_an_edit_of_an_unsaved_buffer";
        return petasos_testkit::skip(test, "emacs", "it is not installed");
    };
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{told}");
    let saw: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    let (before, after) = ("unsaved words — ünsaved\n", "unsaved words — édited\n");
    assert_eq!((saw["stop"].as_str(), saw["asked"].as_u64()), (Some("end_turn"), Some(1)), "{saw}");
    assert_eq!(saw["diff"], json!([before, after]), "{saw}");
    assert_eq!(
        (saw["buffer"].as_str(), saw["saved"].as_str()),
        (Some(after), Some(after)),
        "{saw}"
    );
    assert_eq!(saw["text"], "The note is edited.");
    let read = result_of(&model, "read_file");
    assert!(read.contains("ünsaved"), "{read}");
}
