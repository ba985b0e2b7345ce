//! The picture in the README: a real chat, its screen as SVG. `scripts/picture` makes it anew.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use serde_json::json;

use super::golden::{blesses, masked_row};
use super::home;
use super::pane::{Pane, Start};
use crate::loopback::{Loopback, Say};

const COLUMNS: u16 = 92;
/// Tenths of a pixel: a cell, and the margin.
const CELL: (usize, usize) = (84, 180);
const MARGIN: usize = 160;
const APP: &str = "import sys\n\n\ndef main():\n    print(\"hello\")\n";

fn says() -> Vec<Say> {
    let edit = json!({ "path": "app.py", "old_string": "print(\"hello\")",
        "new_string": "print(\"good morning\")\n    print(\"how are you?\")" });
    vec![
        Say::Calls(vec![("patch", edit)]),
        Say::Calls(vec![("terminal", json!({ "command": "python3 -m py_compile app.py" }))]),
        Say::Text(
            "`main` now greets **twice**:\n\n| before | after |\n|---|---|\n| `hello` | `good \
             morning`, `how are you?` |\n\nShall I remove the old build as well?\n",
        ),
        Say::Calls(vec![("terminal", json!({ "command": "rm -rf build" }))]),
    ]
}

#[test]
fn the_picture_is_of_this_chat() {
    let model = Loopback::saying(says());
    let home = home(&model, "");
    home.write("work/app.py", APP);
    home.write("work/build/old", "");
    let start = Start { columns: COLUMNS, ..Start::default() };
    let Some(pane) = Pane::open("picture", &home, &start) else { return };
    pane.see("❯");
    pane.enter("make the greeting in @app.py more polite");
    pane.ready_after("as well?");
    pane.enter("yes please");
    pane.see("Yes, once (y)");
    let drawn = svg(&pane.styled());
    let file = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/chat.svg"));
    if blesses() {
        let mut file = std::fs::File::create(file).expect("the picture");
        return file.write_all(drawn.as_bytes()).expect("written");
    }
    let kept = std::fs::read_to_string(file).unwrap_or_default();
    assert_eq!(kept, drawn, "docs/chat.svg shows another chat: `scripts/picture` makes it anew");
}

/// How a piece of text looks.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Look {
    colour: Option<u8>,
    /// Bold, faint, slanted.
    marks: [bool; 3],
}

impl Look {
    /// Takes a sequence that changes the look: its numbers.
    fn take(&mut self, numbers: &str) {
        for number in numbers.split(';') {
            match number.parse().unwrap_or(0) {
                0 => *self = Self::default(),
                1 => self.marks[0] = true,
                2 => self.marks[1] = true,
                3 => self.marks[2] = true,
                22 => self.marks = [false, false, self.marks[2]],
                23 => self.marks[2] = false,
                colour @ 30..=37 => self.colour = Some(colour - 30),
                39 => self.colour = None,
                colour @ 90..=97 => self.colour = Some(colour - 90),
                _ => {}
            }
        }
    }

    fn attributes(self) -> String {
        const COLOURS: [&str; 8] = [
            "#6e7681", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#f0f6fc",
        ];
        let colour = self.colour.and_then(|at| COLOURS.get(usize::from(at)));
        let mut text = colour.map(|colour| format!(" fill=\"{colour}\"")).unwrap_or_default();
        let attributes = [" font-weight=\"bold\"", " opacity=\"0.65\"", " font-style=\"italic\""];
        for (on, attribute) in self.marks.into_iter().zip(attributes) {
            text.push_str(if on { attribute } else { "" });
        }
        text
    }
}

/// A screen with its escape sequences as SVG.
fn svg(screen: &str) -> String {
    let rows: Vec<&str> = screen.trim_end().lines().collect();
    let (width, height) =
        (usize::from(COLUMNS) * CELL.0 + 2 * MARGIN, rows.len() * CELL.1 + 2 * MARGIN);
    let mut drawn = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\" \
         aria-label=\"A chat with Petasos in a terminal\">\n<rect width=\"100%\" height=\"100%\" \
         rx=\"8\" fill=\"#0d1117\"/>\n<g font-family=\"ui-monospace, Menlo, Consolas, monospace\" \
         font-size=\"14\" fill=\"#e6edf3\">\n",
        width / 10,
        height / 10
    );
    let mut look = Look::default();
    for (at, row) in rows.iter().enumerate() {
        let y = (MARGIN + at * CELL.1 + CELL.1 * 3 / 4) / 10;
        let mut line = String::new();
        for (part, piece) in row.split("\u{1b}[").enumerate() {
            let text = match piece.split_once('m') {
                Some((numbers, text)) if part > 0 => {
                    look.take(numbers);
                    text
                }
                _ => piece,
            };
            if !text.is_empty() {
                let text = masked_row(text).replace(" · _ s", " · 0.1 s");
                let text = text.replace("/tmp/.tmp______/work", "~/work");
                // Viewers drop spaces that are not asked to stay.
                let text = text.replace('&', "&amp;").replace('<', "&lt;").replace(' ', "\u{a0}");
                write!(line, "<tspan{}>{text}</tspan>", look.attributes()).expect("a string");
            }
        }
        if !line.is_empty() {
            writeln!(drawn, "<text x=\"{}\" y=\"{y}\">{line}</text>", MARGIN / 10)
                .expect("a string");
        }
    }
    drawn + "</g>\n</svg>\n"
}
