//! Whose file a path really means: links, homes, workspaces behind a link, editors that only read.

use std::os::unix::fs::symlink;

use petasos_testkit::Home;
use serde_json::{Value, json};

use super::editor::{Editor, Permit};
use super::{home, result, result_of, terminal, write};
use crate::loopback::{Loopback, Say};

fn mode(editor: &mut Editor, session: &str, mode: &str) {
    editor.ask("session/set_mode", json!({ "sessionId": session, "modeId": mode }));
}

fn env_of(home: &Home) -> String {
    std::fs::read_to_string(home.workspace().join(".env")).expect("a file")
}

/// A protected file is asked about by whatever way it is reached, also where nothing else is.
#[test]
fn a_protected_file_is_asked_about_whatever_it_is_called() {
    let patch = "*** Begin Patch\n*** Update File: notes.txt\n@@\n-KEY=1\n+KEY=2\n*** End Patch";
    let ways = [
        write(".env", "KEY=2\n"),
        write("sub/../.env", "KEY=2\n"),
        write("notes.txt", "KEY=2\n"),
        write("linked/.env", "KEY=2\n"),
        write("~/work/.env", "KEY=2\n"),
        Say::Calls(vec![("patch", json!({ "mode": "patch", "patch": patch }))]),
        terminal("echo KEY=2 > .env"),
        terminal("echo KEY=2 > notes.txt"),
        terminal("python3 -c \"open('.env', 'w').write('KEY=2')\""),
    ];
    let count = ways.len();
    let says = ways.into_iter().flat_map(|way| [way, Say::Text("so not")]);
    let model = Loopback::saying(says.cycle().take(count * 4).collect());
    let home = home(&model);
    home.write("work/.env", "KEY=1\n");
    home.write("work/sub/keep", "");
    symlink(".env", home.workspace().join("notes.txt")).expect("a link");
    symlink(".", home.workspace().join("linked")).expect("a link");
    for name in ["dont_ask", "accept_edits"] {
        let mut editor = Editor::greeted(&home, &json!({}));
        editor.permits = vec![Permit::Choose("deny")];
        let session = editor.session(&home.workspace());
        mode(&mut editor, &session, name);
        for way in 0..count {
            let before = editor.asked.len();
            editor.turn(&session, "change it");
            // What cannot be shown is refused: nobody could agree to it.
            let told = result(&model);
            let asked = editor.asked.len() > before || told.contains("cannot be shown");
            assert!(asked, "{name}, way {way}: {told}");
            let last = editor.asked.last().expect("a question");
            let offered = last["options"].to_string();
            assert!(!offered.contains("allow_always"), "consent is for once: {offered}");
            assert_eq!(env_of(&home), "KEY=1\n", "{name}, way {way}");
        }
    }
}

/// What is outside is outside, though a link inside leads there.
#[test]
fn a_link_out_of_the_workspace_is_no_part_of_it() {
    let model = Loopback::saying(vec![
        write("out/file.txt", "new\n"),
        Say::Text("so not"),
        write("in.txt", "new\n"),
        Say::Text("done"),
    ]);
    let home = home(&model);
    // Not below the folder for temporary files, where anybody may write.
    let elsewhere = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let file = elsewhere.path().join("file.txt");
    petasos_fs::write(&file, b"old\n", petasos_fs::Mode::Exactly(0o644)).expect("a file");
    symlink(elsewhere.path(), home.workspace().join("out")).expect("a link");
    let mut editor = Editor::greeted(&home, &json!({}));
    editor.permits = vec![Permit::Choose("deny")];
    let session = editor.session(&home.workspace());
    mode(&mut editor, &session, "accept_edits");
    editor.turn(&session, "change it");
    assert_eq!(editor.asked.len(), 1, "{}", result(&model));
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "old\n");
    editor.turn(&session, "inside");
    assert_eq!(editor.asked.len(), 1);
    assert!(home.workspace().join("in.txt").exists());
}

/// An editor knows a workspace by the name that its person opened it under, and its unsaved texts by
/// names below that, wherever the folder really is.
#[test]
fn a_workspace_behind_a_link_has_its_unsaved_texts() {
    let edit = json!({ "path": "note.txt", "old_string": "unsaved", "new_string": "edited" });
    let model = Loopback::saying(vec![
        Say::Calls(vec![("read_file", json!({ "path": "note.txt" }))]),
        Say::Calls(vec![("patch", edit)]),
        Say::Text("done"),
    ]);
    let home = home(&model);
    home.write("work/note.txt", "saved words\n");
    let opened = home.user().join("opened");
    symlink(home.workspace(), &opened).expect("a link");
    let note = opened.join("note.txt").display().to_string();
    let fs = json!({ "fs": { "readTextFile": true, "writeTextFile": true } });
    let mut editor = Editor::greeted(&home, &fs);
    editor.buffers.insert(note.clone(), "unsaved words\n".to_owned());
    let session = editor.session(&opened);
    mode(&mut editor, &session, "accept_edits");
    assert_eq!(editor.turn(&session, "edit"), "end_turn");
    let read = result_of(&model, "read_file");
    assert!(read.contains("unsaved words"), "{read}");
    assert!(editor.asked.is_empty(), "it is inside: {:?}", editor.asked);
    assert_eq!(editor.buffers.get(&note).map(String::as_str), Some("edited words\n"));
}

/// An editor that gives its texts and takes none: what it shows is read, and the edit of that is on
/// the disk.
#[test]
fn an_editor_that_only_reads_is_read() {
    let edit = json!({ "path": "note.txt", "old_string": "unsaved", "new_string": "edited" });
    let model = Loopback::saying(vec![
        Say::Calls(vec![("read_file", json!({ "path": "note.txt" }))]),
        Say::Calls(vec![("patch", edit)]),
        Say::Text("done"),
    ]);
    let home = home(&model);
    let note = home.write("work/note.txt", "saved words\n");
    let mut editor = Editor::greeted(&home, &json!({ "fs": { "readTextFile": true } }));
    editor.buffers.insert(note.display().to_string(), "unsaved words\n".to_owned());
    let session = editor.session(&home.workspace());
    assert_eq!(editor.turn(&session, "edit"), "end_turn");
    let read = result_of(&model, "read_file");
    assert!(read.contains("unsaved words"), "{read}");
    let content = &editor.asked[0]["toolCall"]["content"][0];
    let diff = (content["oldText"].as_str(), content["newText"].as_str());
    assert_eq!(diff, (Some("unsaved words\n"), Some("edited words\n")), "{content}");
    assert_eq!(std::fs::read_to_string(&note).expect("a file"), "edited words\n");
    assert!(!editor.served.iter().any(|it| it == "fs/write_text_file"), "{:?}", editor.served);
}

/// An editor that refuses to write has refused: the disk is no way around it.
#[test]
fn an_edit_that_the_editor_does_not_take_fails() {
    let model = Loopback::saying(vec![write("new.txt", "new\n"), Say::Text("so not")]);
    let home = home(&model);
    let fs = json!({ "fs": { "readTextFile": true, "writeTextFile": true } });
    let mut editor = Editor::greeted(&home, &fs);
    editor.refuses_writes = true;
    let session = editor.session(&home.workspace());
    assert_eq!(editor.turn(&session, "edit"), "end_turn");
    assert!(!home.workspace().join("new.txt").exists(), "{}", result(&model));
    assert!(editor.calls().values().all(|state| state == "failed"), "{:?}", editor.calls());
}

/// What was denied for the session is the file, whatever it is called the next time.
#[test]
fn a_denial_for_the_session_holds_for_every_name_of_the_file() {
    let patch = "*** Begin Patch\n*** Add File: other.txt\n+x\n*** Update File: note.txt\n@@\n-old\n+new\n*** End Patch";
    let ways = [
        write("note.txt", "new\n"),
        write("./note.txt", "new\n"),
        write("link.txt", "new\n"),
        write("~/work/note.txt", "new\n"),
        Say::Calls(vec![("patch", json!({ "mode": "patch", "patch": patch }))]),
        terminal("echo new > note.txt"),
        terminal("cp other.txt link.txt"),
    ];
    let count = ways.len();
    let model = Loopback::saying(ways.into_iter().flat_map(|it| [it, Say::Text("so")]).collect());
    let home = home(&model);
    let note = home.write("work/note.txt", "old\n");
    symlink("note.txt", home.workspace().join("link.txt")).expect("a link");
    let mut editor = Editor::greeted(&home, &json!({}));
    editor.permits = vec![Permit::Choose("deny_always"), Permit::Choose("allow_once")];
    let session = editor.session(&home.workspace());
    for way in 0..count {
        editor.turn(&session, "write");
        assert_eq!(editor.asked.len(), 1, "way {way}: {:?}", editor.asked.last());
        assert_eq!(std::fs::read_to_string(&note).expect("a file"), "old\n", "way {way}");
    }
    assert!(result(&model).contains("whole session"), "{}", result(&model));
}

/// A file whose difference does not fit into a message: the call is told all the same, and ends.
#[test]
fn a_change_that_is_too_long_to_be_shown_is_still_told() {
    let append = json!({ "command": "true" });
    let model = Loopback::saying(vec![
        Say::Calls(vec![(
            "patch",
            json!({ "path": "big.txt", "old_string": "end", "new_string": "END" }),
        )]),
        Say::Calls(vec![("terminal", append)]),
        Say::Text("done"),
    ]);
    let home = home(&model);
    // A control character takes six in JSON; the difference has the text twice.
    let big = format!("{}end\n", "\u{1}".repeat(1_600_000));
    let path = home.write("work/big.txt", &big).display().to_string();
    let fs = json!({ "fs": { "readTextFile": true, "writeTextFile": true } });
    let mut editor = Editor::greeted(&home, &fs);
    editor.buffers.insert(path, big);
    let session = editor.session(&home.workspace());
    mode(&mut editor, &session, "accept_edits");
    assert_eq!(editor.turn(&session, "edit"), "end_turn");
    let calls = editor.calls();
    let open = |state: &&String| *state != "completed" && *state != "failed";
    assert!(calls.values().filter(open).count() == 0, "{calls:?}");
    let announced: Vec<Value> = editor.updates("tool_call");
    assert_eq!((announced.len(), calls.len()), (2, 2), "{calls:?}");
}
