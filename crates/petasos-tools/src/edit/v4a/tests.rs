//! Patches on texts in memory.

use std::collections::BTreeMap;

use super::{Fault, parse, simulate};
use crate::edit::text::Text;

fn applied(patch: &str, files: &[(&str, &str)]) -> Result<BTreeMap<String, Option<String>>, Fault> {
    let files: BTreeMap<_, _> = files.iter().copied().collect();
    let outcome =
        simulate(&parse(patch)?, |path| Ok(files.get(path).map(|text| Text::fresh(*text))))?;
    let plain = |text: Option<Text>| text.map(|text| text.plain().to_owned());
    Ok(outcome.files.into_iter().map(|(path, text)| (path, plain(text))).collect())
}

fn one(patch: &str, text: &str) -> Result<String, Fault> {
    let done = applied(&format!("*** Update File: f\n{patch}"), &[("f", text)])?;
    Ok(done["f"].clone().unwrap())
}

#[test]
fn every_step_does_its_work() {
    let patch = "*** Begin Patch\n*** Update File: a\n@@ fn two @@\n-old\n+new\n\n\
                 ***Add File: b\n+one\n+\n+two\n*** Delete File: c\n\
                 *** Move File: d -> e\n*** Update File: g\n*** Move to: h\n-1\n+2\n*** End Patch";
    let files = [("a", "fn one\nold\nfn two\nold\n"), ("c", "x"), ("d", "y"), ("g", "1\n")];
    let expected = [
        ("a", Some("fn one\nold\nfn two\nnew\n")),
        ("b", Some("one\n\ntwo\n")),
        ("c", None),
        ("d", None),
        ("e", Some("y")),
        ("g", None),
        ("h", Some("2\n")),
    ];
    let expected = expected.map(|(path, text)| (path.to_owned(), text.map(str::to_owned)));
    assert_eq!(applied(patch, &files), Ok(expected.into()));
}

#[test]
fn hunks_find_their_places() {
    for (patch, text, expected) in [
        ("@@\n a\n-b\n+B\n c", "a\nb\nc\n", "a\nB\nc\n"),
        ("a\n-b\n+B", "a\nb\n", "a\nB\n"),
        ("@@\n-b", "a\nb\nc\n", "a\nc\n"),
        ("@@\n-b", "a\nb", "a"),
        ("@@ a @@\n+x", "a\nb\n", "a\nx\nb\n"),
        ("@@\n+end", "a\nb", "a\nb\nend\n"),
        ("@@\n-w\n+1\n@@\n-x\n+2", "x\nw\nx\n", "x\n1\n2\n"),
        ("@@\n-    b()\n+    c()", "f:\n\tb()\n", "f:\n\tc()\n"),
        ("@@\n only context\n@@\n-a\n+A", "a\nonly context\n", "A\nonly context\n"),
        ("@@\n-a\n+A\n\\ No newline at end of file", "a", "A"),
        ("@@ -1,2 +1,2 @@\n-a\n+A", "a", "A"),
    ] {
        assert_eq!(one(patch, text).as_deref(), Ok(expected), "{patch}");
    }
}

#[test]
fn a_fault_is_told_with_its_file() {
    let told = |patch: &str, files: &[(&str, &str)]| applied(patch, files).unwrap_err().to_string();
    for (patch, part) in [
        ("", "has no `*** Update File:`"),
        ("hello", "outside of any file: `hello`"),
        ("*** Update File: f\n@@\n-zzz\n+y", "does not fit"),
        ("*** Update File: f\n@@\n-x\n+y", "fits at 2 places"),
        ("*** Update File: f\n x", "changes nothing"),
        ("*** Update File: nope\n-x", "`nope`: there is no such file"),
        ("*** Add File: f\n+x", "there is such a file already"),
        ("*** Add File: g\nx", "start with `+`"),
        ("*** Move File: f -> f2\n*** Add File: f2\n+x", "`f2`: there is such a file already"),
        ("*** Delete File: ../x", "may not contain `..`"),
        ("*** Move File: f", "a path is missing"),
        ("*** Update File: f\n@@ q @@\n+x", "no line has the anchor `q`"),
    ] {
        let message = told(patch, &[("f", "x\ny\nx\n")]);
        assert!(message.contains(part), "{patch}: {message}");
    }
}
