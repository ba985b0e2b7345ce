//! Large pastes are folded to a chip: the line stays readable, and a paste that is taller than the
//! window does not push away what was on the screen.

use std::sync::Arc;

use crossterm::event::Event;
use parking_lot::Mutex;
use reedline::{EditCommand, EditMode, PromptEditMode, ReedlineEvent, ReedlineRawEvent};

/// What was pasted and folded, in the order of the chips.
#[derive(Debug, Clone, Default)]
pub(super) struct Pastes(Arc<Mutex<Vec<String>>>);

impl Pastes {
    /// A text as it stands in the line: a chip when it has more lines than this. 0 folds none.
    pub(super) fn folded(&self, text: String, threshold: usize) -> String {
        let long = threshold > 0 && text.lines().count() > threshold;
        if long { self.fold(text) } else { text }
    }

    /// Keeps a paste; gives the chip that stands for it.
    fn fold(&self, text: String) -> String {
        let mut all = self.0.lock();
        let lines = text.lines().count();
        all.push(text);
        chip(all.len(), lines)
    }

    /// The line with every paste in its place. A chip that was edited is only text.
    pub(super) fn unfold(&self, line: &str) -> String {
        let all = std::mem::take(&mut *self.0.lock());
        let mut whole = line.to_owned();
        for (at, text) in all.iter().enumerate() {
            whole = whole.replace(&chip(at + 1, text.lines().count()), text.trim_end());
        }
        whole
    }
}

fn chip(number: usize, lines: usize) -> String {
    format!("[pasted text {number}, {lines} lines]")
}

/// An edit mode that folds large pastes.
pub(super) struct Folding<M> {
    pub(super) inner: M,
    pub(super) pastes: Pastes,
    /// More lines than this are folded; 0 folds nothing.
    pub(super) threshold: usize,
}

impl<M: EditMode> EditMode for Folding<M> {
    fn parse_event(&mut self, event: ReedlineRawEvent) -> ReedlineEvent {
        let event = Event::from(event);
        if let Event::Paste(text) = &event
            && self.threshold > 0
            && text.replace('\r', "\n").lines().count() > self.threshold
        {
            let text = text.replace("\r\n", "\n").replace('\r', "\n");
            let chip = self.pastes.fold(text);
            return ReedlineEvent::Edit(vec![EditCommand::InsertString(chip)]);
        }
        match ReedlineRawEvent::try_from(event) {
            Ok(event) => self.inner.parse_event(event),
            Err(()) => ReedlineEvent::None,
        }
    }

    fn edit_mode(&self) -> PromptEditMode {
        self.inner.edit_mode()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chip_becomes_its_text_again() {
        let pastes = Pastes::default();
        let (one, two) = (pastes.fold("a\nb\n".into()), pastes.fold("c\nd\ne".into()));
        assert_eq!(one, "[pasted text 1, 2 lines]");
        let line = format!("see {two} and {one}");
        assert_eq!(pastes.unfold(&line), "see c\nd\ne and a\nb");
        assert_eq!(pastes.unfold(&line), line, "a paste is used once");
    }
}
