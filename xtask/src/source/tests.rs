//! What counts as code, comment, text and test.

use super::{Source, Squeezed};

fn read(text: &str) -> Source {
    Source::read("crates/a/src/b.rs".to_owned(), text.to_owned())
}

fn check(text: &str, code: &str) {
    assert_eq!(read(text).code, code, "{text}");
}

#[test]
fn comments_are_blank_and_literals_are_filled() {
    check("a(); // b \"c\"\nd", "a();         \nd");
    check("/* a /* b */ c */d", "                 d");
    check("x(\"// \\\" y\", z)", "x(~~~~~~~~~, z)");
    check("x(r#\"a\" b\"#, z)", "x(~~~~~~~~~, z)");
    check("x(br\"a\\\", z)", "x(b~~~~~, z)");
    check("let 'a' = '\\'' + 'é' + '\"';", "let ~~~ = ~~~~ + ~~~~ + ~~~;");
    check("fn f<'a>(x: &'a str) {} // '", "fn f<'a>(x: &'a str) {}     ");
    check("r#type + for_r\"x\"", "r#type + for_r~~~");
}

#[test]
fn everything_under_a_test_attribute_is_no_production_code() {
    let source = read(
        "fn a() {}\n#[cfg(test)]\nmod tests;\nfn b() {}\n#[cfg(test)]\nmod c {\n    fn d() {}\n}\n",
    );
    assert_eq!(source.production_lines(), 2);
    let squeezed = Squeezed::of(&source.production());
    assert_eq!(squeezed.text, "fn a(){}fn b(){}");
}

#[test]
fn a_call_is_found_across_lines_and_only_as_whole_words() {
    let squeezed =
        Squeezed::of("let x = entry\n    .tool\n    .run(args);\nmy_env::var();\nenv::vars();");
    assert_eq!(squeezed.lines_with("tool.run("), [3 - 1]);
    assert_eq!(squeezed.lines_with("env::var"), Vec::<usize>::new());
    assert_eq!(squeezed.lines_with("env::vars"), [5]);
}
