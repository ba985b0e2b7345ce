//! What comes out does not depend on where the stream was cut, and looks as people expect.

use super::*;
use crate::skin::Skin;

const DOCUMENT: &str = "# Title\n\nA *paragraph* with **bold**, `code` and a [link](https://a.example/b),\n\
    wrapped by hand. 日本語 and 😀.\n\nSetext\n------\n\n- one\n- two\n  - deeper `x`\n  - more\n\n  loose\n\n\
    1. first\n\n2. second\n   ```rust\n   let inner = 1;\n   ```\n3. third\n\n> quoted\n> > twice\n\nback\n\n\
    ```python\ndef f(x):\n    '''doc\n    more'''\n\n    return x  # why\n```\n\n| a | b |\n|---|:-:|\n| 1 | two `2` |\n\
    | 3 | 4 |\n\n    indented\n    code\n\n- [x] done\n- [ ] open\n\n***\n\n<div>\nhtml\n</div>\n\n~~~\n```\n~~~~\n\nlast line\n2";

fn canvas() -> Canvas {
    Canvas { columns: 60, colour: true }
}

fn text(lines: &[Line]) -> String {
    lines.iter().map(|line| line.ansi(Skin::Bare)).collect::<Vec<_>>().join("\n")
}

fn cuts(text: &str) -> impl Iterator<Item = (&str, &str)> {
    (0..=text.len()).filter_map(|at| text.split_at_checked(at))
}

#[test]
fn a_stream_cut_anywhere_gives_the_same_lines() {
    let whole = render(DOCUMENT, canvas());
    for (head, tail) in cuts(DOCUMENT) {
        let mut stream = Stream::default();
        let mut lines = stream.push(head, canvas());
        // Looking at what is unfinished changes nothing.
        stream.tail(canvas());
        lines.extend(stream.push(tail, canvas()));
        lines.extend(stream.finish(canvas()));
        assert_eq!(text(&lines), text(&whole), "cut before {tail:?}");
    }
}

#[test]
fn a_stream_of_single_signs_gives_the_same_lines() {
    let whole = render(DOCUMENT, canvas());
    let mut stream = Stream::default();
    let mut lines = Vec::new();
    let mut sign = [0; 4];
    for each in DOCUMENT.chars() {
        lines.extend(stream.push(each.encode_utf8(&mut sign), canvas()));
        stream.tail(canvas());
    }
    lines.extend(stream.finish(canvas()));
    assert_eq!(text(&lines), text(&whole));
}

#[test]
fn every_prefix_can_be_shown_and_nothing_is_shown_twice() {
    for (head, _) in cuts(DOCUMENT) {
        let mut stream = Stream::default();
        let done = stream.push(head, canvas());
        let tail = stream.tail(canvas());
        let shown = [text(&done), text(&tail)].join("\n");
        assert!(shown.matches("Title").count() <= 1, "{head:?}");
        assert!(shown.matches("quoted").count() <= 1, "{head:?}");
    }
}

#[test]
fn blocks_look_as_people_expect() {
    let plain = Canvas { columns: 30, colour: false };
    for (source, expected) in [
        ("# A *b*", "# A *b*"),
        ("a **b** `c`", "a **b** `c`"),
        ("- a\n- b\n  - c", "• a\n• b\n  • c"),
        ("- a\n\n- b", "• a\n\n• b"),
        ("3. a\n4. b", "3. a\n4. b"),
        ("- a\n\n  b", "• a\n\n  b"),
        ("> a\n> b", "│ a\n│ b"),
        ("Roses are red,\nViolets are blue,", "Roses are red,\nViolets are blue,"),
        ("a  \nb", "a\nb"),
        ("```rust\nlet x = 1;\n```", "```rust\nlet x = 1;\n```"),
        ("```\nnever closed", "```\nnever closed\n```"),
        ("    a\n    b", "```\na\nb\n```"),
        ("[t](https://x.example)", "t (https://x.example)"),
        ("<https://x.example>", "https://x.example"),
        ("| a | b |\n|--|--|\n| long | c |", "a    │ b\n─────┼──\nlong │ c"),
        ("one two three four five six seven eight", "one two three four five six\nseven eight"),
        ("- one two three four five six seven", "• one two three four five six\n  seven"),
        ("a\n\n\n\nb", "a\n\nb"),
        ("- [x] a", "• [x] a"),
        ("---", "──────────────────────────────"),
        ("x\u{1b}[31my", "x␛[31my"),
        ("", ""),
    ] {
        assert_eq!(text(&render(source, plain)), expected, "{source:?}");
    }
}

#[test]
fn a_wide_cell_is_wrapped_in_its_column_and_a_nameless_head_is_left_out() {
    let source =
        "| | |\n|--|--|\n| toolsets | browser, clarify, file, terminal |\n| state | idle |";
    let lines = render(source, Canvas { columns: 30, colour: false });
    let expected = "toolsets │ browser, clarify,\n         │ file, terminal\nstate    │ idle";
    assert_eq!(text(&lines), expected);
}

#[test]
fn a_table_that_is_too_wide_becomes_a_list() {
    let narrow = Canvas { columns: 12, colour: false };
    let lines = render("| name | what |\n|--|--|\n| a | something long |", narrow);
    assert!(text(&lines).starts_with("name: a\nwhat:"), "{}", text(&lines));
    assert!(lines.iter().all(|line| line.width() <= 12));
}

#[test]
fn code_is_finished_line_by_line() {
    let mut stream = Stream::default();
    assert_eq!(text(&stream.push("```rust\nlet a = 1;\nlet b", canvas())), "```rust\nlet a = 1;");
    assert_eq!(text(&stream.tail(canvas())), "let b");
    assert_eq!(text(&stream.push(" = 2;\n", canvas())), "let b = 2;");
}

#[test]
fn a_long_paragraph_is_finished_line_by_line_and_looks_the_same() {
    let canvas = Canvas { columns: 30, colour: true };
    let words: Vec<String> = (0..200).map(|number| format!("word{number}")).collect();
    let items: Vec<String> = (0..30).map(|number| format!("- item {number} of many")).collect();
    for text in [
        words.join(" "),
        format!("**Bold:** {}", words.join(" ")),
        items.join("\n"),
        items.join("\n\n"),
        format!("{}\n\nnext `code` here", words.join(" ")),
    ] {
        let mut stream = Stream::default();
        let (mut lines, mut tallest) = (Vec::new(), 0);
        for sign in text.chars() {
            lines.extend(stream.push(sign.encode_utf8(&mut [0; 4]), canvas));
            tallest = tallest.max(stream.tail(canvas).len());
        }
        lines.extend(stream.finish(canvas));
        let shown = |lines: &[Line]| lines.iter().map(Line::text).collect::<Vec<_>>();
        let mut at_once =
            super::block::render(text.split("\n\nnext").next().unwrap_or_default(), canvas);
        if text.contains("next") {
            at_once.push(Line::new());
            at_once.push(Line::of(crate::line::Style::PLAIN, "next code here"));
        }
        assert_eq!(shown(&lines), shown(&at_once));
        assert!(tallest <= 9, "{tallest} rows of {text}");
    }
}
