//! The menu under what is typed while the agent works: commands behind a slash, files behind an `@`.

use reedline::Suggestion;

use crate::composer::{Complete, opens};
use crate::draft::{Draft, Key};
use crate::line::{Colour, Line, Style};

/// So many are shown at once.
const SHOWN_MAX: usize = 6;

/// What fits what is typed.
#[derive(Debug)]
pub(super) struct Offering {
    complete: Complete,
    /// The text that the offers are for.
    text: String,
    offers: Vec<Suggestion>,
    selected: usize,
}

impl Offering {
    pub(super) fn new(complete: Complete) -> Self {
        Self { complete, text: String::new(), offers: Vec::new(), selected: 0 }
    }

    /// Looks what fits this text; the same text keeps what was selected.
    pub(super) fn look(&mut self, text: &str) {
        if self.text == text {
            return;
        }
        text.clone_into(&mut self.text);
        self.selected = 0;
        self.offers = if text.contains(['/', '@']) {
            self.complete.offers(text, text.len())
        } else {
            Vec::new()
        };
        if !self.offers.first().is_some_and(opens) {
            self.offers.clear();
        }
    }

    pub(super) fn is_open(&self) -> bool {
        !self.offers.is_empty()
    }

    /// Whether a key was for the menu: the arrows choose, Tab and Enter take.
    pub(super) fn press(&mut self, key: &Key, draft: &mut Draft) -> bool {
        if !self.is_open() || self.text != draft.text() {
            return false;
        }
        match key {
            Key::Up => self.selected = self.selected.saturating_sub(1),
            Key::Down => self.selected = (self.selected + 1).min(self.offers.len() - 1),
            Key::Tab | Key::Enter => {
                let Some(offer) = self.offers.get(self.selected) else { return false };
                let space = if offer.append_whitespace { " " } else { "" };
                draft.complete(offer.span.start, &format!("{}{space}", offer.value));
            }
            _ => return false,
        }
        true
    }

    /// The rows below what is typed.
    pub(super) fn rows(&self, columns: usize) -> Vec<Line> {
        let last = self.offers.len().saturating_sub(SHOWN_MAX);
        let first = self.selected.saturating_sub(SHOWN_MAX / 2).min(last);
        let shown = self.offers.iter().enumerate().skip(first).take(SHOWN_MAX);
        let width = shown.clone().map(|(_, offer)| offer.value.chars().count()).max();
        let mut rows: Vec<Line> = shown
            .map(|(at, offer)| {
                let chosen = at == self.selected;
                let style = if chosen { Style::of(Colour::Cyan).bold() } else { Style::PLAIN };
                let sign = if chosen { "› " } else { "  " };
                let width = width.unwrap_or_default();
                let mut row = Line::of(style, &format!("{sign}{:width$}", offer.value));
                if let Some(about) = &offer.description {
                    row.push(Style::FAINT, &format!("  {about}"));
                }
                row.cut(columns)
            })
            .collect();
        let more = if self.offers.len() > SHOWN_MAX {
            format!("  {} of {} · ↑↓ choose, Tab takes", self.selected + 1, self.offers.len())
        } else {
            "  ↑↓ choose, Tab takes".to_owned()
        };
        rows.push(Line::of(Style::FAINT, &more).cut(columns));
        rows
    }
}
