//! A fenced block of code, line by line.

use crate::highlight::Highlighter;
use crate::line::{Line, Style};

/// An open block.
#[derive(Debug, Clone)]
pub(super) struct Fence {
    mark: char,
    length: usize,
    indent: usize,
    info: String,
    highlighter: Highlighter,
}

impl Fence {
    /// The block that a line opens, if it does.
    pub(super) fn open(line: &str) -> Option<Self> {
        let indent = line.chars().take_while(|sign| *sign == ' ').count();
        let rest = line.trim_start_matches(' ');
        let mark = rest.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
        let length = rest.chars().take_while(|sign| *sign == mark).count();
        let info = rest.trim_start_matches(mark).trim();
        if indent > 3 || length < 3 || line.contains('\n') || mark == '`' && info.contains('`') {
            return None;
        }
        let highlighter = Highlighter::new(info);
        Some(Self { mark, length, indent, info: info.to_owned(), highlighter })
    }

    /// Whether the line closes it.
    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        let indent = line.chars().take_while(|sign| *sign == ' ').count();
        let rest = line.trim();
        let length = rest.chars().count();
        indent <= 3 && length >= self.length && rest.chars().all(|sign| sign == self.mark)
    }

    /// The line above the code.
    pub(super) fn opening(&self) -> Line {
        Line::of(Style::FAINT, &format!("```{}", self.info))
    }

    /// The line below the code.
    #[expect(clippy::unused_self, reason = "the counterpart of `opening`")]
    pub(super) fn closing(&self) -> Line {
        Line::of(Style::FAINT, "```")
    }

    /// A line of code, without as much indentation as the fence has.
    pub(super) fn line(&mut self, text: &str) -> Line {
        let spaces = text.chars().take_while(|sign| *sign == ' ').count().min(self.indent);
        self.highlighter.line(text.get(spaces..).unwrap_or_default().trim_end_matches('\r'))
    }
}
