//! The words of a reply as they come, in the form that the person wants: rendered, without the signs
//! of Markdown, or as the model wrote them.

use petasos_contract::Settings;

use crate::line::{Line, Style};
use crate::markdown::{Canvas, Stream};

/// `display.final_response_markdown`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Markup {
    /// Headings, lists, tables and code as such.
    #[default]
    Rendered,
    /// The same without styles and signs.
    Stripped,
    /// As it was written.
    Raw,
}

impl Markup {
    /// As configured.
    pub(crate) fn of(settings: &Settings) -> Self {
        match settings.text("display.final_response_markdown") {
            Some("strip") => Self::Stripped,
            Some("raw") => Self::Raw,
            _ => Self::Rendered,
        }
    }
}

/// A reply that is being written.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) markup: Markup,
    stream: Stream,
    /// The line that has no end yet, as it was written.
    open: String,
}

impl Written {
    /// Takes a piece and gives the lines that are finished by it.
    pub(crate) fn push(&mut self, piece: &str, canvas: Canvas) -> Vec<Line> {
        if self.markup != Markup::Raw {
            let lines = self.stream.push(piece, self.canvas(canvas));
            return self.shown(lines);
        }
        self.open.push_str(piece);
        let Some((done, open)) = self.open.rsplit_once('\n') else { return Vec::new() };
        let lines = done.split('\n').flat_map(|line| plain(line, canvas)).collect();
        self.open = open.to_owned();
        lines
    }

    /// What is not finished, as it looks now.
    pub(crate) fn tail(&self, canvas: Canvas) -> Vec<Line> {
        match self.markup {
            Markup::Raw if self.open.is_empty() => Vec::new(),
            Markup::Raw => plain(&self.open, canvas),
            _ => self.shown(self.stream.tail(self.canvas(canvas))),
        }
    }

    /// The text is at its end.
    pub(crate) fn finish(&mut self, canvas: Canvas) -> Vec<Line> {
        match self.markup {
            Markup::Raw if self.open.is_empty() => Vec::new(),
            Markup::Raw => plain(&std::mem::take(&mut self.open), canvas),
            _ => {
                let lines = self.stream.finish(self.canvas(canvas));
                self.shown(lines)
            }
        }
    }

    /// Only what may have styles loses its signs.
    fn canvas(&self, canvas: Canvas) -> Canvas {
        Canvas { colour: canvas.colour || self.markup == Markup::Stripped, ..canvas }
    }

    fn shown(&self, lines: Vec<Line>) -> Vec<Line> {
        if self.markup != Markup::Stripped {
            return lines;
        }
        lines.iter().map(|line| Line::of(Style::PLAIN, &line.text())).collect()
    }
}

fn plain(line: &str, canvas: Canvas) -> Vec<Line> {
    Line::of(Style::PLAIN, line).wrapped(canvas.columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPLY: &str = "# Title\n\nsome **bold** words\n\n- one\n";

    fn shown(markup: Markup) -> Vec<String> {
        let canvas = Canvas { columns: 40, colour: false };
        let mut written = Written { markup, ..Written::default() };
        let mut lines = Vec::new();
        for piece in REPLY.split_inclusive(' ') {
            lines.extend(written.push(piece, canvas));
        }
        lines.extend(written.finish(canvas));
        lines.iter().map(|line| line.text().trim_end().to_owned()).collect()
    }

    #[test]
    fn a_reply_is_rendered_stripped_or_raw() {
        assert_eq!(shown(Markup::Raw), ["# Title", "", "some **bold** words", "", "- one"]);
        let stripped = shown(Markup::Stripped).join("\n");
        assert!(stripped.contains("Title") && stripped.contains("some bold words"), "{stripped}");
        assert!(!stripped.contains(['#', '*']), "{stripped}");
        assert!(
            shown(Markup::Rendered).join("\n").contains("**bold**"),
            "signs stay without colour"
        );
    }
}
