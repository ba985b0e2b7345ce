//! Texts in parts: within limits, whole, and balanced.

use petasos_gateway::render::{Dialect, Form, Unit, harmless, plain, visible};

fn form(dialect: Dialect, limit: usize, unit: Unit) -> Form {
    Form { dialect, limit, unit }
}

/// A small generator: the same texts every time.
struct Dice(u64);

impl Dice {
    fn next(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % sides
    }

    fn words(&mut self, most: usize) -> String {
        const WORDS: &[&str] = &[
            "alpha",
            "**bold**",
            "*it*",
            "`code`",
            "[link](https://example.org/a?b=1&c=2)",
            "a_b_c",
            "1.5",
            "x < y && z",
            "👩‍👩‍👧",
            "e\u{301}",
            "終わり。",
            "~~gone~~",
            "#tag",
            "@everyone",
            "end.",
            "\\*",
            "שלום",
            "<b>raw</b>",
        ];
        let count = 1 + self.next(most);
        (0..count).map(|_| WORDS[self.next(WORDS.len())]).collect::<Vec<_>>().join(" ")
    }

    fn text(&mut self) -> String {
        let mut blocks = Vec::new();
        for _ in 0..=self.next(8) {
            blocks.push(match self.next(7) {
                0 => format!("# {}", self.words(5)),
                1 => format!(
                    "```rust\n{}\n```",
                    (0..=self.next(30))
                        .map(|n| format!("let x{n} = \"<&>\";"))
                        .collect::<Vec<_>>()
                        .join("\n")
                ),
                2 => (0..=self.next(9))
                    .map(|_| format!("- {}", self.words(12)))
                    .collect::<Vec<_>>()
                    .join("\n"),
                3 => (1..=1 + self.next(9))
                    .map(|n| format!("{n}. {}", self.words(12)))
                    .collect::<Vec<_>>()
                    .join("\n"),
                4 => format!(
                    "| a | b |\n|---|---|\n{}",
                    (0..=self.next(20))
                        .map(|n| format!("| {n} | cell {n} |"))
                        .collect::<Vec<_>>()
                        .join("\n")
                ),
                5 => format!("> {}", self.words(30)),
                _ => self.words(80),
            });
        }
        blocks.join("\n\n")
    }
}

const ALL: [Dialect; 7] = [
    Dialect::TelegramHtml,
    Dialect::Html,
    Dialect::Discord,
    Dialect::Slack,
    Dialect::WhatsApp,
    Dialect::CommonMark,
    Dialect::Plain,
];

/// Tags that open and close in order, and no `<` or `&` that is not ours.
fn is_balanced_html(text: &str) -> bool {
    let mut open: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['<', '&']) {
        let tail = rest.get(at..).unwrap_or_default();
        if tail.starts_with('&') {
            if !["&amp;", "&lt;", "&gt;", "&quot;"].iter().any(|known| tail.starts_with(known)) {
                return false;
            }
            rest = tail.get(1..).unwrap_or_default();
            continue;
        }
        let Some(end) = tail.find('>') else { return false };
        let tag = tail.get(1..end).unwrap_or_default();
        let name: String =
            tag.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
        match tag.strip_prefix('/') {
            Some(_) if open.pop().as_deref() != Some(name.as_str()) => return false,
            Some(_) => {}
            None if matches!(name.as_str(), "br" | "hr") => {}
            None => open.push(name),
        }
        rest = tail.get(end + 1..).unwrap_or_default();
    }
    open.is_empty()
}

/// What holds of every part of a text.
fn holds_of(dialect: Dialect, unit: Unit, limit: usize, text: &str) {
    for part in form(dialect, limit, unit).parts(text) {
        assert!(!part.trim().is_empty(), "{dialect:?} {text:?}");
        let measured = unit.measure(&part);
        assert!(measured <= limit, "{dialect:?} {unit:?} {measured} > {limit}: {part:?}");
        if matches!(dialect, Dialect::TelegramHtml | Dialect::Html) {
            assert!(is_balanced_html(&part), "{dialect:?}: {part:?}");
        }
        if matches!(dialect, Dialect::Discord | Dialect::CommonMark) {
            let fences = part.lines().filter(|line| line.trim_start().starts_with("```")).count();
            assert_eq!(fences % 2, 0, "{dialect:?}: {part:?}");
        }
    }
}

#[test]
fn s43_s44_s46_every_part_fits_stands_alone_and_is_not_empty() {
    const UNITS: [Unit; 3] = [Unit::Utf16, Unit::Chars, Unit::Bytes];
    const LIMITS: [usize; 3] = [90, 400, 2000];
    let mut dice = Dice(7);
    // Some texts every way, and ten thousand one way each.
    for round in 0..400 {
        let text = dice.text();
        for dialect in ALL {
            for unit in UNITS {
                holds_of(dialect, unit, LIMITS[round % 3], &text);
            }
        }
    }
    for round in 0..10_000 {
        let dialect = ALL[round % ALL.len()];
        let (unit, limit) = (UNITS[round / 3 % 3], LIMITS[round / 9 % 3]);
        holds_of(dialect, unit, limit, &dice.text());
    }
}

#[test]
fn s45_parts_joined_are_the_text() {
    let mut dice = Dice(11);
    let letters = |text: &str| -> String { text.chars().filter(|c| c.is_alphanumeric()).collect() };
    for _ in 0..300 {
        let text = dice.text();
        let whole = letters(&plain(&text));
        let parts = form(Dialect::Plain, 150, Unit::Chars).parts(&text);
        let numbered = parts.len() >= 3;
        let joined: String = parts
            .iter()
            .enumerate()
            .map(|(at, part)| {
                let counter = format!("\n({}/{})", at + 1, parts.len());
                let part =
                    if numbered { part.strip_suffix(counter.as_str()).unwrap() } else { part };
                letters(part)
            })
            .collect();
        // Table rows repeat the names of their columns in both.
        assert_eq!(joined, whole, "{text:?}");
    }
}

#[test]
fn a_fence_is_closed_and_opened_again_with_its_language() {
    let code: Vec<String> = (0..100).map(|n| format!("line number {n}\n")).collect();
    let code = code.concat();
    let text = format!("Here:\n\n```python\n{code}```\n\nDone.");
    let parts = form(Dialect::Discord, 500, Unit::Utf16).parts(&text);
    assert!(parts.len() > 3);
    assert!(
        parts.iter().filter(|part| part.contains("line")).all(|part| part.contains("```python\n")),
        "{parts:?}"
    );
    assert!(parts[0].starts_with("Here:") && parts[0].contains("(1/"), "{}", parts[0]);
}

#[test]
fn t16_what_a_chat_would_act_on_is_words() {
    let text = "a\u{202e}b\u{1b}[31m @everyone <!channel>";
    assert_eq!(harmless(text), "ab[31m @everyone <!channel>");
    assert_eq!(visible("a\u{202e}b\u{200b}"), "a⟨U+202E⟩b⟨U+200B⟩");
    let slack = form(Dialect::Slack, 500, Unit::Chars).parts(text);
    assert!(slack[0].contains("&lt;!channel&gt;") && !slack[0].contains("@everyone"), "{slack:?}");
}

#[test]
fn a_table_is_drawn_or_listed() {
    let table = "| name | size |\n|---|---|\n| one | 1 |\n| two | 22 |";
    let telegram = form(Dialect::TelegramHtml, 4096, Unit::Utf16).parts(table);
    assert_eq!(telegram, ["<pre><code>name  size\n────  ────\none   1\ntwo   22</code></pre>"]);
    let sms = form(Dialect::Plain, 1600, Unit::Chars).parts(table);
    assert_eq!(sms, ["• name: one; size: 1\n• name: two; size: 22"]);
}
