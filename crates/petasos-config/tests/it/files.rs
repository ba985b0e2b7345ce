//! Files as they are found in the world: broken, foreign, enormous, in the way.

use petasos_config::explain::{check, paths};
use petasos_config::{edit, load};
use serde_json::json;

use crate::Setting;

#[test]
fn a_file_that_cannot_be_used_is_told_clearly() {
    let huge = vec![b'#'; 50 << 20];
    let bomb = (0..12).fold("a0: &a0 [x, x, x, x, x]\n".to_owned(), |text, n| {
        let m = n + 1;
        format!("{text}a{m}: &a{m} [*a{n}, *a{n}, *a{n}, *a{n}, *a{n}]\n")
    });
    let cases: [(&[u8], &str); 6] = [
        (b"terminal:\n  timeout: [1,\n", "config.yaml:"),
        (b"a: b: c\n", "1 | a: b: c"),
        (b"a: \xff\xfe\n", "not UTF-8 text (byte 3)"),
        (&huge, "has 52428800 bytes"),
        (bomb.as_bytes(), "more than 100000 values"),
        (b"a: 1\n---\nb: 2\n", "second document"),
    ];
    for (bytes, words) in cases {
        let setting = Setting::new().put("home/config.yaml", bytes);
        let error = load(&setting.inputs()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        assert!(check(&setting.inputs()).error.is_some());
    }
}

#[test]
fn marks_line_ends_and_empty_files_are_fine() {
    for text in ["\u{feff}terminal:\r\n  timeout: 5\r\n", "---\nterminal: {timeout: 5}\n...\n"] {
        let settings = load(&Setting::new().user(text).inputs()).unwrap();
        assert_eq!(settings.get("terminal.timeout"), Some(&json!(5)), "{text:?}");
    }
    for text in ["", "\n\n", "# nothing\n", "---\n", "~\n"] {
        assert!(load(&Setting::new().user(text).inputs()).unwrap().values().is_empty());
    }
}

#[test]
fn what_stands_in_the_way_of_the_home_is_named() {
    let setting = Setting::new().put("file", b"").variable("PETASOS_HOME", "");
    let file = setting.path("file").display().to_string();
    let setting = setting.variable("PETASOS_HOME", &file);
    let error = load(&setting.inputs()).unwrap_err().to_string();
    assert!(error.contains("must be a directory (chosen by PETASOS_HOME)"), "{error}");

    let setting = Setting::new();
    std::fs::create_dir(setting.config()).unwrap();
    assert!(load(&setting.inputs()).unwrap_err().to_string().contains("is a directory"));
    let rows = paths(&setting.inputs()).unwrap();
    assert_eq!(rows[1].path, setting.config());
}

#[cfg(unix)]
#[test]
fn an_edit_goes_through_a_link_and_keeps_mark_line_ends_and_mode() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let setting = Setting::new().put("real.yaml", "\u{feff}# top\r\na: 1\r\n".as_bytes());
    let real = setting.path("real.yaml");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&real, setting.config()).unwrap();
    assert!(edit::set(&setting.config(), "terminal.timeout", &json!(5)).unwrap());
    assert!(!edit::set(&setting.config(), "terminal.timeout", &json!(5)).unwrap());
    let text = std::fs::read_to_string(&real).unwrap();
    assert_eq!(text, "\u{feff}# top\r\na: 1\r\nterminal:\r\n  timeout: 5\r\n");
    assert!(std::fs::symlink_metadata(setting.config()).unwrap().is_symlink());
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn an_edit_makes_home_and_file_when_there_are_none() {
    let setting = Setting::new();
    let file = setting.path("new/home/config.yaml");
    assert!(edit::append_to_list(&file, "command_allowlist", "recursive delete").unwrap());
    assert!(edit::set_text(&file, "model", "gpt-5").unwrap());
    assert!(edit::set_text(&file, "approvals.mode", "off").unwrap());
    let text = std::fs::read_to_string(&file).unwrap();
    let expected =
        "command_allowlist:\n  - \"recursive delete\"\nmodel: gpt-5\napprovals:\n  mode: \"off\"\n";
    assert_eq!(text, expected);
}
