//! One block of Markdown as lines, by itself: nothing in it refers to another block.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Parser, Tag, TagEnd};

use super::table::Table;
use super::{Canvas, options};
use crate::highlight::Highlighter;
use crate::line::{Colour, Line, Style};

/// The lines of a block.
pub(super) fn render(text: &str, canvas: Canvas) -> Vec<Line> {
    let mut painter = Painter::new(canvas);
    for event in Parser::new_ext(text, options()) {
        painter.take(event);
    }
    painter.flush();
    painter.lines
}

/// What stands before the lines of a container: once, and then on every line.
#[derive(Debug, Default)]
struct Margin {
    first: Option<Line>,
    rest: Line,
}

struct Painter {
    canvas: Canvas,
    lines: Vec<Line>,
    /// The line being put together.
    line: Line,
    margins: Vec<Margin>,
    styles: Vec<Style>,
    lists: Vec<Option<u64>>,
    code: Option<(Highlighter, String)>,
    table: Option<Table>,
    links: Vec<(String, String)>,
    /// The next block of the container needs a blank line before it.
    gap: bool,
}

impl Painter {
    fn new(canvas: Canvas) -> Self {
        Self {
            canvas,
            lines: Vec::new(),
            line: Line::new(),
            margins: Vec::new(),
            styles: Vec::new(),
            lists: Vec::new(),
            code: None,
            table: None,
            links: Vec::new(),
            gap: false,
        }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => {
                self.sign("`");
                let style = self.style().in_colour(Colour::Cyan);
                self.push(style, &text);
                self.sign("`");
            }
            Event::Html(text) => {
                for line in text.lines() {
                    self.push(Style::FAINT, line);
                    self.flush();
                }
            }
            Event::InlineHtml(text) => self.push(Style::FAINT, &text),
            // Models end lines where they mean it: poems, addresses, `key: value`.
            Event::SoftBreak | Event::HardBreak => self.flush(),
            Event::Rule => {
                self.open();
                self.push(Style::FAINT, &"─".repeat(self.room().min(40)));
                self.flush();
                self.gap = true;
            }
            Event::TaskListMarker(done) => {
                self.push(Style::PLAIN, if done { "[x] " } else { "[ ] " });
            }
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.push(self.style(), &text);
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.open(),
            Tag::Heading { level, .. } => {
                self.open();
                self.sign(hashes(level));
                self.styles.push(Style::BOLD.in_colour(Colour::Cyan));
            }
            Tag::BlockQuote(_) => {
                self.open();
                let bar = Line::of(Style::FAINT, "│ ");
                self.margins.push(Margin { first: None, rest: bar });
            }
            Tag::CodeBlock(kind) => self.open_code(&kind),
            Tag::List(number) => {
                self.flush();
                if self.lists.is_empty() {
                    self.open();
                }
                self.lists.push(number);
            }
            Tag::Item => self.open_item(),
            Tag::Table(alignments) => {
                self.open();
                self.table = Some(Table::aligned_as(alignments));
            }
            Tag::TableHead => {
                self.styles.push(Style::BOLD);
                self.row();
            }
            Tag::TableRow => self.row(),
            Tag::Emphasis => self.emphasise("*", Style::italic),
            Tag::Strong => self.emphasise("**", Style::bold),
            Tag::Strikethrough => self.emphasise("~~", Style::struck),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.into_string(), self.line.text()));
                self.styles.push(self.style().in_colour(Colour::Blue).underlined());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.close(),
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.close();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.margins.pop();
                self.gap = true;
            }
            TagEnd::CodeBlock => self.close_code(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.gap |= self.lists.is_empty();
            }
            TagEnd::Item => {
                self.flush();
                // An item without text has only its bullet.
                if self.margins.last().is_some_and(|margin| margin.first.is_some()) {
                    self.flush_unbroken();
                }
                self.margins.pop();
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    for line in table.lines(self.room()) {
                        self.line = line;
                        self.flush_unbroken();
                    }
                }
                self.gap = true;
            }
            TagEnd::TableHead => {
                self.styles.pop();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.line);
                if let Some(table) = &mut self.table {
                    table.cell(cell);
                }
            }
            TagEnd::Emphasis => self.emphasised("*"),
            TagEnd::Strong => self.emphasised("**"),
            TagEnd::Strikethrough => self.emphasised("~~"),
            TagEnd::Link | TagEnd::Image => self.close_link(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        match &mut self.code {
            Some((_, code)) => code.push_str(text),
            None => self.push(self.style(), text),
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn push(&mut self, style: Style, text: &str) {
        self.line.push(style, text);
    }

    /// A sign of Markdown, where styles cannot say the same.
    fn sign(&mut self, sign: &str) {
        if !self.canvas.colour {
            self.push(Style::PLAIN, sign);
        }
    }

    fn emphasise(&mut self, sign: &str, more: fn(Style) -> Style) {
        self.sign(sign);
        self.styles.push(more(self.style()));
    }

    fn emphasised(&mut self, sign: &str) {
        self.styles.pop();
        self.sign(sign);
    }

    fn close_link(&mut self) {
        self.styles.pop();
        let Some((address, before)) = self.links.pop() else { return };
        let shown = self.line.text();
        let named = shown.strip_prefix(&before).unwrap_or_default();
        if !address.is_empty() && named != address && !address.ends_with(&format!(":{named}")) {
            self.push(Style::FAINT, &format!(" ({address})"));
        }
    }

    fn row(&mut self) {
        if let Some(table) = &mut self.table {
            table.row();
        }
    }

    /// A block begins.
    fn open(&mut self) {
        self.flush();
        if std::mem::take(&mut self.gap) && !self.lines.is_empty() {
            let mut blank = self.margin(false);
            blank.trim_end();
            self.lines.push(blank);
        }
    }

    /// A block ends.
    fn close(&mut self) {
        self.flush();
        self.gap = true;
    }

    fn open_item(&mut self) {
        self.open();
        let bullet = match self.lists.last_mut() {
            Some(Some(number)) => {
                let bullet = format!("{number}. ");
                *number += 1;
                bullet
            }
            _ => "• ".to_owned(),
        };
        let space = Line::of(Style::PLAIN, &" ".repeat(bullet.chars().count()));
        let first = Some(Line::of(Style::of(Colour::Cyan), &bullet));
        self.margins.push(Margin { first, rest: space });
    }

    fn open_code(&mut self, kind: &CodeBlockKind<'_>) {
        self.open();
        let info = match kind {
            CodeBlockKind::Fenced(info) => info.trim(),
            CodeBlockKind::Indented => "",
        };
        self.push(Style::FAINT, &format!("```{info}"));
        self.flush();
        self.code = Some((Highlighter::new(info), String::new()));
    }

    fn close_code(&mut self) {
        if let Some((mut highlighter, code)) = self.code.take() {
            for line in code.lines() {
                self.line = highlighter.line(line);
                self.flush_unbroken();
            }
        }
        self.push(Style::FAINT, "```");
        self.close();
    }

    /// Columns between the margins and the edge.
    fn room(&self) -> usize {
        let taken: usize = self.margins.iter().map(|margin| margin.rest.width()).sum();
        self.canvas.columns.saturating_sub(taken).max(10)
    }

    fn margin(&mut self, consume: bool) -> Line {
        let mut line = Line::new();
        for margin in &mut self.margins {
            let first = if consume { margin.first.take() } else { None };
            line.extend(first.as_ref().unwrap_or(&margin.rest));
        }
        line
    }

    fn flush(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return;
        }
        for part in line.wrapped(self.room()) {
            let mut whole = self.margin(true);
            whole.extend(&part);
            self.lines.push(whole);
        }
    }

    /// Code and tables are not wrapped: the terminal does, and copies stay whole.
    fn flush_unbroken(&mut self) {
        let line = std::mem::take(&mut self.line);
        let mut whole = self.margin(true);
        whole.extend(&line);
        self.lines.push(whole);
    }
}

fn hashes(level: HeadingLevel) -> &'static str {
    match level {
        HeadingLevel::H1 => "# ",
        HeadingLevel::H2 => "## ",
        HeadingLevel::H3 => "### ",
        HeadingLevel::H4 => "#### ",
        HeadingLevel::H5 => "##### ",
        HeadingLevel::H6 => "###### ",
    }
}
