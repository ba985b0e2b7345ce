//! A list to choose from: type to search, the arrows and Enter to take, Escape to leave.

use petasos_session::Offer;

use crate::draft::Key;
use crate::line::{Colour, Line, Style};

/// So many are shown at once, where the window has room.
const SHOWN_MAX: usize = 12;
/// The rows around the list: its title, what is typed, how many there are.
const FRAME_ROWS: usize = 3;

/// An open list.
#[derive(Debug)]
pub(crate) struct Picker {
    title: String,
    offers: Vec<Offer>,
    search: String,
    /// Among those that fit.
    selected: usize,
}

/// What a key did.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Picked {
    /// This command takes what was chosen.
    Take(String),
    /// Nothing is chosen.
    Leave,
    /// The list stays open.
    Stays,
}

impl Picker {
    /// With everything in it.
    pub(crate) fn new(title: &str, offers: Vec<Offer>) -> Self {
        Self { title: title.to_owned(), offers, search: String::new(), selected: 0 }
    }

    /// Those that have every word that was typed.
    fn fitting(&self) -> Vec<&Offer> {
        let search = self.search.to_lowercase();
        let words: Vec<&str> = search.split_whitespace().collect();
        let fits = |offer: &&Offer| {
            let text = format!("{} {}", offer.label, offer.detail).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        self.offers.iter().filter(fits).collect()
    }

    /// What a key does.
    pub(crate) fn press(&mut self, key: &Key) -> Picked {
        match key {
            Key::Interrupt | Key::End => return Picked::Leave,
            Key::Enter => {
                let chosen = self.fitting().get(self.selected).map(|offer| offer.line.clone());
                return chosen.map_or(Picked::Stays, Picked::Take);
            }
            Key::Up => self.selected = self.selected.saturating_sub(1),
            Key::Down => {
                let last = self.fitting().len().saturating_sub(1);
                self.selected = (self.selected + 1).min(last);
            }
            Key::Text(text) => self.narrow(|search| search.push_str(text.trim_matches('\n'))),
            Key::Backspace => self.narrow(|search| _ = search.pop()),
            Key::Word | Key::All => self.narrow(String::clear),
            Key::Tab | Key::Redraw | Key::Suspend | Key::Whole => {}
        }
        Picked::Stays
    }

    fn narrow(&mut self, change: impl FnOnce(&mut String)) {
        change(&mut self.search);
        self.selected = 0;
    }

    /// As it is shown in a window of so many columns and rows.
    pub(crate) fn rows(&self, columns: usize, height: usize) -> Vec<Line> {
        let fitting = self.fitting();
        let room = height.saturating_sub(FRAME_ROWS + 1).clamp(1, SHOWN_MAX);
        let first = self.selected.saturating_sub(room / 2).min(fitting.len().saturating_sub(room));
        let mut title = Line::of(Style::BOLD, &self.title);
        title.push(Style::FAINT, "  type to search · ↑↓ Enter · Esc leaves");
        let mut typed = Line::of(Style::of(Colour::Cyan), "? ");
        typed.push(Style::PLAIN, &self.search);
        let mut rows = vec![title.cut(columns), typed];
        for (at, offer) in fitting.iter().enumerate().skip(first).take(room) {
            let chosen = at == self.selected;
            let style = if chosen { Style::of(Colour::Cyan).bold() } else { Style::PLAIN };
            let mut row = Line::of(style, if chosen { "› " } else { "  " });
            row.push(style, &offer.label);
            if !offer.detail.is_empty() {
                row.push(Style::FAINT, &format!("  {}", offer.detail));
            }
            rows.push(row.cut(columns));
        }
        if fitting.is_empty() {
            rows.push(Line::of(Style::FAINT, "  no matches"));
        } else if fitting.len() > room {
            let count = format!("  {} of {}", self.selected + 1, fitting.len());
            rows.push(Line::of(Style::FAINT, &count));
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picker() -> Picker {
        let offer = |number: usize| Offer {
            label: format!("model-{number}"),
            detail: if number.is_multiple_of(2) { "even".to_owned() } else { String::new() },
            line: format!("/model model-{number}"),
        };
        Picker::new("Model", (1..=40).map(offer).collect())
    }

    #[test]
    fn words_narrow_and_arrows_choose() {
        let mut picker = picker();
        let text = |text: &str| Key::Text(text.to_owned());
        for (key, expected) in [
            (text("even"), Picked::Stays),
            (text(" MODEL-1"), Picked::Stays),
            (Key::Up, Picked::Stays),
            (Key::Down, Picked::Stays),
            (Key::Enter, Picked::Take("/model model-12".to_owned())),
            (text("x"), Picked::Stays),
            (Key::Enter, Picked::Stays),
            (Key::Interrupt, Picked::Leave),
        ] {
            assert_eq!(picker.press(&key), expected, "{key:?}");
        }
        let shown: Vec<String> = picker.rows(60, 30).iter().map(Line::text).collect();
        assert_eq!(shown.last().map(String::as_str), Some("  no matches"));
    }

    #[test]
    fn a_long_list_follows_what_is_selected_and_fits_the_window() {
        let mut picker = picker();
        for _ in 0..100 {
            picker.press(&Key::Down);
        }
        let shown: Vec<String> = picker.rows(30, 9).iter().map(Line::text).collect();
        assert_eq!(shown.len(), 8, "{shown:?}");
        assert!(shown.contains(&"› model-40  even".to_owned()), "{shown:?}");
        assert_eq!(shown.last().map(String::as_str), Some("  40 of 40"));
        assert!(shown.iter().all(|row| row.chars().count() <= 30));
    }
}
