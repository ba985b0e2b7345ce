//! Each strategy finds what it is for, and the replacement fits the file.

use super::super::replace::{All, NotReplaced, replace};
use super::super::text::Text;
use super::Strategy;

fn changed(content: &str, old: &str, new: &str) -> Result<(Strategy, String), NotReplaced> {
    let done = replace(&Text::fresh(content), old, new, All::Unique)?;
    Ok((done.strategy, done.text.plain().to_owned()))
}

#[test]
fn every_strategy_has_its_case() {
    use Strategy::*;
    for (strategy, content, old, new, expected) in [
        (Exact, "a b c", "b", "x", "a x c"),
        (
            LineTrimmed,
            "if x:\n    a()\n    b()\n",
            "a()  \nb()\n",
            "c()\nd()\n",
            "if x:\n    c()\n    d()\n",
        ),
        (LineTrimmed, "\tone\n\ttwo", "    one\n    two\n", "    1\n      2\n", "\t1\n\t  2"),
        (Whitespace, "let  x\t= 1; y", "let x = 1;", "let x = 2;", "let x = 2; y"),
        (
            Indentation,
            "def f():\n        return g(1,\n            2)",
            "return g(1,\n2",
            "return h(1,\n3",
            "def f():\n        return h(1,\n        3)",
        ),
        (Escapes, "one\ntwo\n", "one\\ntwo", "1\\n2", "1\n2\n"),
        (Boundary, "x = call(a, b);", "\ncall(a,", "\ncall(x,", "x = call(x, b);"),
        (
            Unicode,
            "say \u{201c}hi\u{201d} \u{2014} now\u{2026}",
            "say \"hi\" - now...",
            "say \"hi\" - later...",
            "say \u{201c}hi\u{201d} \u{2014} later\u{2026}",
        ),
        (
            BlockAnchor,
            "fn a() {\n    let one = 1;\n    done()\n}\n",
            "fn a() {\n    let one = 11;\n    dome()\n}",
            "fn a() {}",
            "fn a() {}\n",
        ),
        (
            Context,
            "alpha = 10\nbeta = 20\ngamma = 30\n",
            "alpha = 10x\nbeta = 20x\nnothing alike here",
            "new",
            "new\n",
        ),
    ] {
        assert_eq!(changed(content, old, new), Ok((strategy, expected.to_owned())), "{old:?}");
    }
}

#[test]
fn what_is_not_unique_is_not_touched() {
    for (content, old, count) in [
        ("a a", "a", 2),
        ("aaa", "aa", 2),
        ("  x\n\tx\n", "x ", 2),
        ("f( a )\nf(  a )", "f(   a )", 2),
    ] {
        let Err(NotReplaced::NotUnique { count: told, .. }) = changed(content, old, "z") else {
            panic!("{content:?}");
        };
        assert_eq!(told, count, "{content:?}");
    }
    let done = replace(&Text::fresh("a b a"), "a", "x", All::Places).unwrap();
    assert_eq!((done.text.plain(), done.count), ("x b x", 2));
}

#[test]
fn a_missing_text_shows_what_is_close() {
    let content = "fn main() {\n    let value = compute(1);\n}\n";
    let Err(NotReplaced::Missing { closest }) = changed(content, "let value = compote(2, 3);", "x")
    else {
        panic!("found");
    };
    assert_eq!(closest, ["1|fn main() {\n2|    let value = compute(1);\n3|}"]);
    assert_eq!(changed("a", "", "b"), Err(NotReplaced::Empty));
    assert_eq!(changed("a", "a", "a"), Err(NotReplaced::Same));
    assert!(changed("max = 1\n  y", "  x = 1\n  y", "z").is_err());
}

#[test]
fn quotes_that_were_escaped_once_too_often_are_refused() {
    for content in ["say(\"hi\")", "  say(\"hi\")\n  end"] {
        let told = changed(content, "say(\\\"hi\\\")", "say(\\\"ho\\\")");
        assert_eq!(told, Err(NotReplaced::Drift));
    }
}
