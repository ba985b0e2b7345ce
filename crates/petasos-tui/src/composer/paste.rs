//! Large pastes and pictures are folded to a chip: the line stays readable, and a paste that is
//! taller than the window does not push away what was on the screen.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crossterm::event::Event;
use parking_lot::Mutex;
use reedline::{EditCommand, EditMode, PromptEditMode, ReedlineEvent, ReedlineRawEvent};

use super::PASTE;
use super::keys::Keys;

/// Endings of pictures, as people drop them on a window.
const PICTURES: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];

/// What was pasted and folded: each chip, and what it stands for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pastes {
    chips: Arc<Mutex<Vec<(String, String)>>>,
    /// Where pictures of the clipboard are.
    pictures: PathBuf,
    /// Texts of more lines are folded; 0 folds none.
    threshold: usize,
}

impl Pastes {
    pub(crate) fn new(pictures: PathBuf, threshold: usize) -> Self {
        Self { chips: Arc::default(), pictures, threshold }
    }

    /// A text as it stands in the line: a chip when it has too many lines, and for each picture
    /// that came from the clipboard.
    pub(crate) fn folded(&self, text: String) -> String {
        if self.is_long(&text) {
            return self.fold(text);
        }
        if self.pictures.as_os_str().is_empty() {
            return text;
        }
        let of_ours = |word: &&str| {
            word.strip_prefix('@').is_some_and(|path| Path::new(path).starts_with(&self.pictures))
        };
        let mut shown = text.clone();
        for word in text.split_whitespace().filter(of_ours) {
            shown = shown.replace(word, &self.picture(word));
        }
        shown
    }

    fn is_long(&self, text: &str) -> bool {
        self.threshold > 0 && text.lines().count() > self.threshold
    }

    /// What a pasted text becomes; nothing when it stays what it is.
    pub(crate) fn pasted(&self, text: &str) -> Option<String> {
        if self.is_long(text) {
            return Some(self.fold(text.to_owned()));
        }
        dropped(text).map(|path| self.picture(&format!("@{}", path.display())) + " ")
    }

    fn fold(&self, text: String) -> String {
        let lines = text.lines().count();
        self.keep(text, |number| format!("[pasted text {number}, {lines} lines]"))
    }

    fn picture(&self, mention: &str) -> String {
        self.keep(mention.to_owned(), |number| format!("[picture {number}]"))
    }

    fn keep(&self, text: String, named: impl FnOnce(usize) -> String) -> String {
        let mut all = self.chips.lock();
        let chip = named(all.len() + 1);
        all.push((chip.clone(), text));
        chip
    }

    /// The chip at the end of a line: it is taken back as one.
    pub(crate) fn last_of(&self, line: &str) -> Option<String> {
        let chips = self.chips.lock();
        chips.iter().map(|(chip, _)| chip).find(|chip| line.ends_with(chip.as_str())).cloned()
    }

    /// The line with every paste in its place. A chip that was edited is only text.
    pub(crate) fn unfold(&self, line: &str) -> String {
        let all = std::mem::take(&mut *self.chips.lock());
        let mut whole = line.to_owned();
        for (chip, text) in &all {
            whole = whole.replace(chip, text.trim_end());
        }
        whole
    }
}

/// The picture whose path a terminal pastes when its file is dropped on the window.
fn dropped(text: &str) -> Option<PathBuf> {
    let text = text.trim();
    let text = text.strip_prefix('\'').and_then(|it| it.strip_suffix('\'')).unwrap_or(text);
    let path = Path::new(text.strip_prefix("file://").unwrap_or(text));
    let ending = path.extension()?.to_str()?.to_lowercase();
    // A mention ends at a blank.
    let is_plain = path.is_absolute() && !text.contains(char::is_whitespace);
    (is_plain && PICTURES.contains(&ending.as_str()) && path.is_file()).then(|| path.to_owned())
}

/// An edit mode that folds large pastes, with the keys that the person wants.
pub(super) struct Folding {
    pub(super) keys: Keys,
    pub(super) pastes: Pastes,
}

impl EditMode for Folding {
    fn parse_event(&mut self, event: ReedlineRawEvent) -> ReedlineEvent {
        let event = Event::from(event);
        if let Event::Paste(text) = &event {
            // Terminals paste nothing when the clipboard holds a picture.
            if text.is_empty() {
                return ReedlineEvent::ExecuteHostCommand(PASTE.to_owned());
            }
            let text = text.replace("\r\n", "\n").replace('\r', "\n");
            if let Some(chip) = self.pastes.pasted(&text) {
                return ReedlineEvent::Edit(vec![EditCommand::InsertString(chip)]);
            }
        }
        match ReedlineRawEvent::try_from(event) {
            Ok(event) => self.keys.parse_event(event),
            Err(()) => ReedlineEvent::None,
        }
    }

    fn edit_mode(&self) -> PromptEditMode {
        self.keys.edit_mode()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chip_becomes_its_text_again() {
        let pastes = Pastes::new("/home/me/pasted".into(), 1);
        let (one, two) = (pastes.fold("a\nb\n".into()), pastes.fold("c\nd\ne".into()));
        assert_eq!(one, "[pasted text 1, 2 lines]");
        let line = format!("see {two} and {one}");
        assert_eq!(pastes.unfold(&line), "see c\nd\ne and a\nb");
        assert_eq!(pastes.unfold(&line), line, "a paste is used once");
    }

    #[test]
    fn a_picture_of_the_clipboard_is_a_chip_and_another_path_is_not() {
        let pastes = Pastes::new("/home/me/pasted".into(), 5);
        let line = "look at @/home/me/pasted/1.png and @/tmp/2.png";
        let shown = pastes.folded(line.to_owned());
        assert_eq!(shown, "look at [picture 1] and @/tmp/2.png");
        assert_eq!(pastes.unfold(&shown), line);
    }

    #[test]
    fn a_dropped_picture_is_attached_and_a_dropped_text_is_a_path() {
        let folder = std::env::temp_dir().join(format!("petasos-drop-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let at = |name: &str| folder.join(name).display().to_string();
        for name in ["a.png", "b c.png", "d.txt"] {
            std::fs::File::create(folder.join(name)).unwrap();
        }
        let pastes = Pastes::new("/nowhere".into(), 5);
        for text in [at("a.png"), format!("'{}'", at("a.png")), format!("file://{}", at("a.png"))] {
            assert!(
                pastes.pasted(&text).is_some_and(|chip| chip.starts_with("[picture ")),
                "{text}"
            );
        }
        for text in [at("b c.png"), at("d.txt"), at("gone.png"), "a.png".to_owned()] {
            assert_eq!(pastes.pasted(&text), None, "{text}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
