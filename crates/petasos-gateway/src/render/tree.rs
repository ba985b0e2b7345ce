//! Markdown as a tree, shallow enough to be written in any dialect.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// How deep quotes and lists go; deeper ones are flattened.
const DEPTH_MAX: usize = 3;

/// A piece of a text that stands on lines of its own.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Block {
    Paragraph(Vec<Inline>),
    Heading(u8, Vec<Inline>),
    Code { language: String, text: String },
    Quote(Vec<Block>),
    List { first: Option<u64>, items: Vec<Vec<Block>> },
    Table { head: Vec<Vec<Inline>>, rows: Vec<Vec<Vec<Inline>>> },
    Rule,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Inline {
    Text(String),
    Code(String),
    Strong(Vec<Inline>),
    Emphasis(Vec<Inline>),
    Strike(Vec<Inline>),
    Link { url: String, text: Vec<Inline> },
    Break,
}

/// Reads Markdown. Raw HTML is text.
pub(super) fn parse(markdown: &str) -> Vec<Block> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let text = super::harmless(markdown);
    let mut reader = Reader { events: Parser::new_ext(&text, options).peekable() };
    reader.blocks(0)
}

struct Reader<'a, I: Iterator<Item = Event<'a>>> {
    events: std::iter::Peekable<I>,
}

impl<'a, I: Iterator<Item = Event<'a>>> Reader<'a, I> {
    /// Blocks up to the end of whatever contains them, which is consumed.
    fn blocks(&mut self, depth: usize) -> Vec<Block> {
        let mut blocks = Vec::new();
        while let Some(event) = self.events.peek() {
            match event {
                Event::End(_) => {
                    self.events.next();
                    break;
                }
                Event::Start(tag) if is_block(tag) => {
                    if let Some(Event::Start(tag)) = self.events.next() {
                        self.block(tag, depth, &mut blocks);
                    }
                }
                Event::Rule => {
                    self.events.next();
                    blocks.push(Block::Rule);
                }
                // Words of a tight list item have no paragraph around them.
                _ => {
                    let words = self.loose();
                    if !words.is_empty() {
                        blocks.push(Block::Paragraph(words));
                    }
                }
            }
        }
        blocks
    }

    fn block(&mut self, tag: Tag<'a>, depth: usize, blocks: &mut Vec<Block>) {
        match tag {
            Tag::Heading { level, .. } => {
                let words = self.inlines();
                blocks.push(Block::Heading(level as u8, words));
            }
            Tag::CodeBlock(kind) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                blocks.push(Block::Code { language, text: self.raw() });
            }
            Tag::HtmlBlock => {
                let text = self.raw();
                blocks.push(Block::Paragraph(lines(text.trim_end())));
            }
            Tag::BlockQuote(_) => {
                let inner = self.blocks(depth + 1);
                if depth < DEPTH_MAX {
                    blocks.push(Block::Quote(inner));
                } else {
                    blocks.extend(inner);
                }
            }
            Tag::List(first) => {
                let mut items = Vec::new();
                while let Some(Event::Start(Tag::Item)) = self.events.peek() {
                    self.events.next();
                    items.push(self.blocks(depth + 1));
                }
                self.events.next();
                if depth < DEPTH_MAX {
                    blocks.push(Block::List { first, items });
                } else {
                    blocks.extend(items.into_iter().flatten());
                }
            }
            Tag::Table(_) => blocks.push(self.table()),
            _ => {
                let words = self.inlines();
                if !words.is_empty() {
                    blocks.push(Block::Paragraph(words));
                }
            }
        }
    }

    fn table(&mut self) -> Block {
        let (mut head, mut rows, mut row) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(event) = self.events.next() {
            match event {
                Event::Start(Tag::TableCell) => row.push(self.inlines()),
                Event::End(TagEnd::TableHead) => head = std::mem::take(&mut row),
                Event::End(TagEnd::TableRow) => rows.push(std::mem::take(&mut row)),
                Event::End(TagEnd::Table) => break,
                _ => {}
            }
        }
        Block::Table { head, rows }
    }

    /// Text up to the end of a block.
    fn raw(&mut self) -> String {
        let mut text = String::new();
        for event in self.events.by_ref() {
            match event {
                Event::Text(piece) | Event::Html(piece) => text.push_str(&piece),
                Event::End(_) => break,
                _ => {}
            }
        }
        text
    }

    /// Words up to the next block.
    fn loose(&mut self) -> Vec<Inline> {
        let mut words = Vec::new();
        while let Some(event) = self.events.peek() {
            match event {
                Event::End(_) | Event::Rule => break,
                Event::Start(tag) if is_block(tag) => break,
                _ => match self.events.next() {
                    Some(event) => self.inline(event, &mut words),
                    None => break,
                },
            }
        }
        words
    }

    /// Words up to the end of whatever contains them, which is consumed.
    fn inlines(&mut self) -> Vec<Inline> {
        let mut words = Vec::new();
        while let Some(event) = self.events.next() {
            if matches!(event, Event::End(_)) {
                break;
            }
            self.inline(event, &mut words);
        }
        words
    }

    fn inline(&mut self, event: Event<'a>, words: &mut Vec<Inline>) {
        let piece = match event {
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                Inline::Text(text.to_string())
            }
            Event::Code(text) => Inline::Code(text.to_string()),
            Event::SoftBreak | Event::HardBreak => Inline::Break,
            Event::TaskListMarker(done) => Inline::Text(if done { "☑ " } else { "☐ " }.to_owned()),
            Event::Start(Tag::Strong) => Inline::Strong(self.inlines()),
            Event::Start(Tag::Emphasis) => Inline::Emphasis(self.inlines()),
            Event::Start(Tag::Strikethrough) => Inline::Strike(self.inlines()),
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                Inline::Link { url: dest_url.to_string(), text: self.inlines() }
            }
            Event::Start(_) => {
                words.extend(self.inlines());
                return;
            }
            _ => return,
        };
        match (words.last_mut(), piece) {
            (Some(Inline::Text(before)), Inline::Text(more)) => before.push_str(&more),
            (_, piece) => words.push(piece),
        }
    }
}

fn is_block(tag: &Tag<'_>) -> bool {
    matches!(
        tag,
        Tag::Paragraph
            | Tag::Heading { .. }
            | Tag::BlockQuote(_)
            | Tag::CodeBlock(_)
            | Tag::HtmlBlock
            | Tag::List(_)
            | Tag::Table(_)
    )
}

/// Text whose line ends count.
fn lines(text: &str) -> Vec<Inline> {
    let mut words = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if at > 0 {
            words.push(Inline::Break);
        }
        words.push(Inline::Text(line.to_owned()));
    }
    words
}

/// The words without their marks.
pub(super) fn text_of(words: &[Inline]) -> String {
    let mut text = String::new();
    for word in words {
        match word {
            Inline::Text(piece) | Inline::Code(piece) => text.push_str(piece),
            Inline::Strong(inner) | Inline::Emphasis(inner) | Inline::Strike(inner) => {
                text.push_str(&text_of(inner));
            }
            Inline::Link { text: inner, .. } => text.push_str(&text_of(inner)),
            Inline::Break => text.push('\n'),
        }
    }
    text
}
