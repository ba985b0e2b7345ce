//! Writers: a tree in the markup of a platform. Each escapes what it did not write itself.

use super::add;
use super::tree::{Block, Inline, text_of};

/// The markup of a platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Telegram's HTML mode: a handful of tags, every other character literal.
    TelegramHtml,
    /// Full HTML, for Matrix and mail.
    Html,
    /// Discord's Markdown.
    Discord,
    /// Slack's own marks.
    Slack,
    /// Single stars and underscores.
    WhatsApp,
    /// Markdown as it is written.
    CommonMark,
    /// Text.
    Plain,
}

/// The widest table that is drawn with columns.
const TABLE_COLUMNS_MAX: usize = 60;
/// The longest language that is repeated on a fence.
const LANGUAGE_CHARS_MAX: usize = 64;

/// A text without any marks.
pub fn plain(markdown: &str) -> String {
    write(&super::tree::parse(markdown), Dialect::Plain)
}

/// Writes blocks.
pub(super) fn write(blocks: &[Block], dialect: Dialect) -> String {
    let mut writer = Writer { dialect, out: String::new() };
    writer.blocks(blocks, 0);
    let end = writer.out.trim_end().len();
    writer.out.truncate(end);
    writer.out
}

impl Dialect {
    /// Shows which part of how many this is.
    pub(super) fn counter(self, at: usize, count: usize) -> String {
        match self {
            Self::Html => format!("<p>({at}/{count})</p>"),
            _ => format!("\n({at}/{count})"),
        }
    }

    fn is_html(self) -> bool {
        matches!(self, Self::Html | Self::TelegramHtml)
    }

    /// Escapes text.
    fn escape(self, text: &str, out: &mut String) {
        for c in text.chars() {
            match (self, c) {
                (Self::Html | Self::TelegramHtml | Self::Slack, '&') => out.push_str("&amp;"),
                (Self::Html | Self::TelegramHtml | Self::Slack, '<') => out.push_str("&lt;"),
                (Self::Html | Self::TelegramHtml | Self::Slack, '>') => out.push_str("&gt;"),
                (Self::Html | Self::TelegramHtml, '"') => out.push_str("&quot;"),
                (
                    Self::Discord | Self::CommonMark,
                    '\\' | '*' | '_' | '~' | '`' | '|' | '[' | ']' | '<',
                ) => {
                    out.push('\\');
                    out.push(c);
                }
                // A mention of everybody is words.
                (Self::Discord | Self::Slack | Self::CommonMark, '@') => out.push_str("@\u{200b}"),
                _ => out.push(c),
            }
        }
    }

    /// What stands around words: strong, emphasised, struck out, code.
    fn marks(self) -> [(&'static str, &'static str); 4] {
        match self {
            Self::TelegramHtml => {
                [("<b>", "</b>"), ("<i>", "</i>"), ("<s>", "</s>"), ("<code>", "</code>")]
            }
            Self::Html => [
                ("<strong>", "</strong>"),
                ("<em>", "</em>"),
                ("<del>", "</del>"),
                ("<code>", "</code>"),
            ],
            Self::Discord | Self::CommonMark => {
                [("**", "**"), ("*", "*"), ("~~", "~~"), ("`", "`")]
            }
            Self::Slack | Self::WhatsApp => [("*", "*"), ("_", "_"), ("~", "~"), ("`", "`")],
            Self::Plain => [("", ""), ("", ""), ("", ""), ("", "")],
        }
    }
}

struct Writer {
    dialect: Dialect,
    out: String,
}

impl Writer {
    fn blocks(&mut self, blocks: &[Block], depth: usize) {
        for (at, block) in blocks.iter().enumerate() {
            if at > 0 && self.dialect != Dialect::Html {
                self.out.push('\n');
            }
            self.block(block, depth);
        }
    }

    fn block(&mut self, block: &Block, depth: usize) {
        match block {
            Block::Paragraph(words) => self.line("<p>", words, "</p>"),
            Block::Heading(level, words) => self.heading(*level, words),
            Block::Code { language, text } => self.code(language, text),
            Block::Quote(inner) => self.quote(inner, depth),
            Block::List { first, items } => self.list(*first, items, depth),
            Block::Table { head, rows } => self.table(head, rows),
            Block::Rule => match self.dialect {
                Dialect::Html => self.out.push_str("<hr>"),
                _ => self.out.push_str("———\n"),
            },
        }
    }

    /// Words on a line of their own.
    fn line(&mut self, open: &str, words: &[Inline], close: &str) {
        let html = self.dialect == Dialect::Html;
        if html {
            self.out.push_str(open);
        }
        let start = self.out.len();
        self.inlines(words);
        self.guard_line_start(start);
        self.out.push_str(if html { close } else { "\n" });
    }

    /// What begins a line must not become a heading, a list or a quote.
    fn guard_line_start(&mut self, start: usize) {
        if !matches!(self.dialect, Dialect::Discord | Dialect::CommonMark) {
            return;
        }
        let tail = self.out.split_off(start);
        for (at, line) in tail.split('\n').enumerate() {
            if at > 0 {
                self.out.push('\n');
            }
            let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
            let numbered = digits.len() < line.len() && digits.starts_with(['.', ')']);
            if numbered {
                let number = line.strip_suffix(digits).unwrap_or_default();
                self.out.push_str(number);
                self.out.push('\\');
                self.out.push_str(digits);
            } else {
                if line.starts_with(['#', '-', '+', '>', '=']) {
                    self.out.push('\\');
                }
                self.out.push_str(line);
            }
        }
    }

    fn heading(&mut self, level: u8, words: &[Inline]) {
        match self.dialect {
            Dialect::Html => {
                let level = level.clamp(1, 6);
                self.line(&format!("<h{level}>"), words, &format!("</h{level}>"));
            }
            Dialect::Discord | Dialect::CommonMark => {
                let most = if self.dialect == Dialect::Discord { 3 } else { 6 };
                for _ in 0..level.clamp(1, most) {
                    self.out.push('#');
                }
                self.out.push(' ');
                self.inlines(words);
                self.out.push('\n');
            }
            _ => {
                let strong = [Inline::Strong(words.to_vec())];
                self.line("", &strong, "");
            }
        }
    }

    fn code(&mut self, language: &str, text: &str) {
        let text = text.strip_suffix('\n').unwrap_or(text);
        let language = if language.chars().count() > LANGUAGE_CHARS_MAX { "" } else { language };
        match self.dialect {
            Dialect::Html | Dialect::TelegramHtml => {
                self.out.push_str("<pre><code");
                let word = language.split_whitespace().next().unwrap_or_default();
                if !word.is_empty() {
                    self.out.push_str(" class=\"language-");
                    self.dialect.escape(word, &mut self.out);
                    self.out.push('"');
                }
                self.out.push('>');
                self.dialect.escape(text, &mut self.out);
                self.out.push_str("</code></pre>");
                if self.dialect == Dialect::TelegramHtml {
                    self.out.push('\n');
                }
            }
            Dialect::Plain => {
                for line in text.lines() {
                    self.out.push_str("    ");
                    self.out.push_str(line);
                    self.out.push('\n');
                }
            }
            _ => {
                let fence = fence_for(text);
                let language = if matches!(self.dialect, Dialect::Slack | Dialect::WhatsApp) {
                    ""
                } else {
                    language
                };
                add(&mut self.out, format_args!("{fence}{language}\n"));
                match self.dialect {
                    Dialect::Slack => self.dialect.escape(text, &mut self.out),
                    _ => self.out.push_str(text),
                }
                add(&mut self.out, format_args!("\n{fence}\n"));
            }
        }
    }

    fn quote(&mut self, inner: &[Block], depth: usize) {
        if self.dialect.is_html() {
            self.out.push_str("<blockquote>");
            self.out.push_str(&write_nested(inner, self.dialect, depth + 1));
            self.out.push_str("</blockquote>");
            if self.dialect == Dialect::TelegramHtml {
                self.out.push('\n');
            }
            return;
        }
        for line in write_nested(inner, self.dialect, depth + 1).lines() {
            self.out.push_str("> ");
            self.out.push_str(line);
            self.out.push('\n');
        }
    }

    fn list(&mut self, first: Option<u64>, items: &[Vec<Block>], depth: usize) {
        if self.dialect == Dialect::Html {
            let (open, close) = match first {
                Some(first) => (format!("<ol start=\"{first}\">"), "</ol>"),
                None => ("<ul>".to_owned(), "</ul>"),
            };
            self.out.push_str(&open);
            for item in items {
                self.out.push_str("<li>");
                self.blocks(item, depth + 1);
                self.out.push_str("</li>");
            }
            self.out.push_str(close);
            return;
        }
        for (at, item) in items.iter().enumerate() {
            let bullet = if matches!(self.dialect, Dialect::Discord | Dialect::CommonMark) {
                "- "
            } else {
                "• "
            };
            let mark =
                first.map_or_else(|| bullet.to_owned(), |first| format!("{}. ", first + at as u64));
            let indent = " ".repeat(mark.chars().count());
            let text = write_nested(item, self.dialect, depth + 1);
            for (line, words) in text.lines().enumerate() {
                self.out.push_str(if line == 0 { &mark } else { &indent });
                self.out.push_str(words);
                self.out.push('\n');
            }
            if text.is_empty() {
                self.out.push_str(&mark);
                self.out.push('\n');
            }
        }
    }

    fn table(&mut self, head: &[Vec<Inline>], rows: &[Vec<Vec<Inline>>]) {
        if self.dialect == Dialect::Html {
            self.html_table(head, rows);
            return;
        }
        let columns = !matches!(self.dialect, Dialect::Plain | Dialect::WhatsApp);
        match aligned(head, rows).filter(|_| columns) {
            Some(drawn) => self.code("", &drawn),
            None => self.table_as_rows(head, rows),
        }
    }

    fn html_table(&mut self, head: &[Vec<Inline>], rows: &[Vec<Vec<Inline>>]) {
        self.out.push_str("<table><thead><tr>");
        for cell in head {
            self.out.push_str("<th>");
            self.inlines(cell);
            self.out.push_str("</th>");
        }
        self.out.push_str("</tr></thead><tbody>");
        for row in rows {
            self.out.push_str("<tr>");
            for cell in row {
                self.out.push_str("<td>");
                self.inlines(cell);
                self.out.push_str("</td>");
            }
            self.out.push_str("</tr>");
        }
        self.out.push_str("</tbody></table>");
    }

    fn table_as_rows(&mut self, head: &[Vec<Inline>], rows: &[Vec<Vec<Inline>>]) {
        for row in rows {
            let mut line = vec![Inline::Text("• ".to_owned())];
            for (at, cell) in row.iter().enumerate() {
                if at > 0 {
                    line.push(Inline::Text("; ".to_owned()));
                }
                if let Some(name) = head.get(at).filter(|name| !name.is_empty()) {
                    line.push(Inline::Text(format!("{}: ", text_of(name))));
                }
                line.extend(cell.iter().cloned());
            }
            self.line("", &line, "");
        }
    }

    fn inlines(&mut self, words: &[Inline]) {
        let [strong, emphasis, strike, _] = self.dialect.marks();
        for word in words {
            match word {
                Inline::Text(text) => self.dialect.escape(text, &mut self.out),
                Inline::Code(text) => self.inline_code(text),
                Inline::Strong(inner) => self.marked(strong, inner),
                Inline::Emphasis(inner) => self.marked(emphasis, inner),
                Inline::Strike(inner) => self.marked(strike, inner),
                Inline::Link { url, text } => self.link(url, text),
                Inline::Break => {
                    self.out.push_str(if self.dialect == Dialect::Html { "<br>" } else { "\n" });
                }
            }
        }
    }

    fn marked(&mut self, (open, close): (&str, &str), inner: &[Inline]) {
        if text_of(inner).trim().is_empty() {
            return self.inlines(inner);
        }
        self.out.push_str(open);
        self.inlines(inner);
        self.out.push_str(close);
    }

    fn inline_code(&mut self, text: &str) {
        let [.., (open, close)] = self.dialect.marks();
        match self.dialect {
            Dialect::Html | Dialect::TelegramHtml | Dialect::Slack => {
                self.out.push_str(open);
                self.dialect.escape(text, &mut self.out);
                self.out.push_str(close);
            }
            Dialect::Discord | Dialect::CommonMark if text.contains('`') => {
                add(&mut self.out, format_args!("`` {text} ``"));
            }
            _ => {
                self.out.push_str(open);
                self.out.push_str(text);
                self.out.push_str(close);
            }
        }
    }

    fn link(&mut self, url: &str, text: &[Inline]) {
        let words = text_of(text);
        let safe =
            url.starts_with("https://") || url.starts_with("http://") || url.starts_with("mailto:");
        let bare = words.is_empty() || words == url;
        let is_plain_url = !url.contains([' ', '<', '>', '"', '(', ')', '|', '\\']);
        match self.dialect {
            Dialect::Html | Dialect::TelegramHtml if safe => {
                self.out.push_str("<a href=\"");
                self.dialect.escape(url, &mut self.out);
                self.out.push_str("\">");
                if bare {
                    self.dialect.escape(url, &mut self.out);
                } else {
                    self.inlines(text);
                }
                self.out.push_str("</a>");
            }
            Dialect::Discord | Dialect::CommonMark if safe && is_plain_url => {
                if bare {
                    self.out.push_str(url);
                } else {
                    self.out.push('[');
                    self.inlines(text);
                    add(&mut self.out, format_args!("]({url})"));
                }
            }
            Dialect::Slack if safe && is_plain_url => {
                self.out.push('<');
                self.dialect.escape(url, &mut self.out);
                if !bare {
                    self.out.push('|');
                    self.dialect.escape(&words.replace('\n', " "), &mut self.out);
                }
                self.out.push('>');
            }
            _ => {
                if bare {
                    self.dialect.escape(url, &mut self.out);
                } else {
                    self.inlines(text);
                    if !url.is_empty() {
                        self.out.push_str(" (");
                        self.dialect.escape(url, &mut self.out);
                        self.out.push(')');
                    }
                }
            }
        }
    }
}

fn write_nested(blocks: &[Block], dialect: Dialect, depth: usize) -> String {
    let mut writer = Writer { dialect, out: String::new() };
    writer.blocks(blocks, depth);
    writer.out.trim_end().to_owned()
}

/// A fence that the text does not contain.
fn fence_for(text: &str) -> String {
    let mut longest = 2;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    "`".repeat(longest + 1)
}

/// A table with columns, unless it is too wide.
fn aligned(head: &[Vec<Inline>], rows: &[Vec<Vec<Inline>>]) -> Option<String> {
    let text = |cell: &Vec<Inline>| text_of(cell).replace('\n', " ");
    let head: Vec<String> = head.iter().map(text).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(text).collect()).collect();
    let mut widths: Vec<usize> = head.iter().map(|cell| cell.chars().count()).collect();
    for row in &rows {
        for (at, cell) in row.iter().enumerate() {
            let width = cell.chars().count();
            match widths.get_mut(at) {
                Some(most) => *most = width.max(*most),
                None => widths.push(width),
            }
        }
    }
    if widths.iter().map(|width| width + 2).sum::<usize>() > TABLE_COLUMNS_MAX {
        return None;
    }
    let line = |row: &[String]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
    let mut lines = vec![line(&head), line(&rule)];
    lines.extend(rows.iter().map(|row| line(row)));
    Some(lines.join("\n"))
}
