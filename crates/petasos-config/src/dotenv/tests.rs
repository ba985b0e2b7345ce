//! What a dotenv file may look like, and that a change touches one line.

use super::*;

fn pairs(text: &str) -> Vec<(String, String)> {
    parse(text, Path::new(".env"), |name| (name == "OUTER").then_some("outer")).pairs
}

#[test]
fn every_usual_way_of_writing_a_value_is_read() {
    let cases = [
        ("A=1", "1"),
        ("\u{feff}A=1", "1"),
        ("export A=1\r\n", "1"),
        ("  A = 1  # why\n", "1"),
        ("A=a#b", "a#b"),
        ("A=", ""),
        ("A=''", ""),
        ("A='$x ${OUTER} \\n'", "$x ${OUTER} \\n"),
        ("A=\"two\\nlines\"", "two\nlines"),
        ("A=\"two\nlines\" # tail\nB=2", "two\nlines"),
        ("A=p$ss$word", "p$ss$word"),
        ("A=${OUTER}/x", "outer/x"),
        ("B=1\nA=${B}2", "12"),
        ("A=${NOPE}", "${NOPE}"),
        ("A=1\nA=2", "2"),
        ("# A=0\n\nA=sk-\u{200b}abc", "abc"),
    ];
    for (text, value) in cases {
        let found = pairs(text);
        let last = found.iter().rev().find(|(name, _)| name == "A").unwrap();
        let expected = if text.contains("sk-") { "sk-\u{200b}abc" } else { value };
        assert_eq!(last.1, expected, "{text:?}");
    }
}

#[test]
fn a_key_loses_what_no_key_has() {
    let found = parse("OPENAI_API_KEY=sk-\u{200b}abc\u{a0}", Path::new(".env"), |_| None);
    assert_eq!(found.pairs[0].1, "sk-abc");
    assert_eq!(found.notices.len(), 1);
}

#[test]
fn a_broken_line_does_not_hide_the_others() {
    let found = parse("what is this\nA=1\nB=\"open\nC=3\n", Path::new(".env"), |_| None);
    let names: Vec<&str> = found.pairs.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["A", "C"]);
    assert_eq!(found.notices.len(), 2);
}

#[test]
fn a_change_touches_one_line_and_keeps_the_file_private() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(".env");
    set(&file, "A", "1").unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "A=1\n");

    let before = "# keys\nexport A='old' # mine\n\nB=2\r\n# end";
    petasos_fs::write(&file, before.as_bytes(), petasos_fs::Mode::Exactly(0o644)).unwrap();
    set(&file, "A", "it's $new\n\"x\"").unwrap();
    set(&file, "C", "3").unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("# keys\nexport A="), "{text}");
    assert!(text.contains("\n\nB=2\r\n# end\r\nC=3\r\n"), "{text:?}");
    let found = pairs(&text);
    assert_eq!(found[0].1, "it's $new\n\"x\"");
    assert!(unset(&file, "B").unwrap());
    assert!(!unset(&file, "B").unwrap());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
