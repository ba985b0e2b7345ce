//! The keys of the line that is typed: those of Emacs, or those of vi.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reedline::{
    EditCommand, EditMode, Emacs, KeyCode, KeyModifiers, Keybindings, PromptEditMode, PromptViMode,
    ReedlineEvent, ReedlineRawEvent, Vi, default_emacs_keybindings, default_vi_insert_keybindings,
    default_vi_normal_keybindings, default_vi_visual_keybindings,
};

use super::{EDIT, INTERRUPT, PASTE, SUSPEND, WHOLE, menu};

const INSERT: PromptEditMode = PromptEditMode::Vi(PromptViMode::Insert);
/// How often the editor asks for the mode until the letters of a batch are in the line.
const ASKED: u8 = 2;

/// The keys, as the person wants them now.
pub(super) struct Keys {
    emacs: Emacs,
    vi: Vi,
    is_vi: Arc<AtomicBool>,
    /// Letters came since the editor last asked for the mode.
    typed: Cell<bool>,
    /// So many times more the mode is still the one in which letters are typed.
    lags: Cell<u8>,
}

impl Keys {
    pub(super) fn new(is_vi: Arc<AtomicBool>) -> Self {
        Self {
            emacs: Emacs::new(typed(default_emacs_keybindings())),
            vi: Vi::new(
                typed(default_vi_insert_keybindings()),
                bound(default_vi_normal_keybindings()),
                bound(default_vi_visual_keybindings()),
            ),
            is_vi,
            typed: Cell::new(false),
            lags: Cell::new(0),
        }
    }

    fn is_vi(&self) -> bool {
        self.is_vi.load(Ordering::Acquire)
    }
}

impl EditMode for Keys {
    fn parse_event(&mut self, event: ReedlineRawEvent) -> ReedlineEvent {
        if !self.is_vi() {
            return self.emacs.parse_event(event);
        }
        let typing = self.vi.edit_mode() == INSERT;
        let event = self.vi.parse_event(event);
        if typing && matches!(event, ReedlineEvent::Edit(_)) {
            self.typed.set(true);
        }
        // Keys that come at once are read before any of them is acted on, and letters that are put
        // into the line in the mode behind them land before the last one.
        if typing && self.vi.edit_mode() != INSERT && self.typed.get() {
            self.lags.set(ASKED);
        }
        event
    }

    fn edit_mode(&self) -> PromptEditMode {
        if !self.is_vi() {
            return self.emacs.edit_mode();
        }
        self.typed.set(false);
        match self.lags.get().checked_sub(1) {
            Some(left) => {
                self.lags.set(left);
                INSERT
            }
            None => self.vi.edit_mode(),
        }
    }
}

/// The keys that mean something here, whatever the others are.
fn bound(mut keys: Keybindings) -> Keybindings {
    for (letter, command) in
        [('c', INTERRUPT), ('g', EDIT), ('o', WHOLE), ('v', PASTE), ('z', SUSPEND)]
    {
        let event = ReedlineEvent::ExecuteHostCommand(command.to_owned());
        keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char(letter), event);
    }
    keys
}

/// The same, where letters are typed.
fn typed(keys: Keybindings) -> Keybindings {
    let mut keys = bound(keys);
    let newline = || ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
    keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, newline());
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::Enter, newline());
    keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('j'), newline());
    let complete = ReedlineEvent::UntilFound(vec![
        ReedlineEvent::Menu(menu::TAB.to_owned()),
        ReedlineEvent::MenuAccept,
        ReedlineEvent::MenuNext,
    ]);
    keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, complete);
    for sign in ['/', '@'] {
        let event = ReedlineEvent::Multiple(vec![
            ReedlineEvent::Edit(vec![EditCommand::InsertChar(sign)]),
            ReedlineEvent::Menu(menu::TYPING.to_owned()),
        ]);
        keys.add_binding(KeyModifiers::NONE, KeyCode::Char(sign), event);
    }
    keys
}

#[cfg(test)]
mod tests {
    use crossterm::event::{Event, KeyEvent};

    use super::*;

    fn press(keys: &mut Keys, code: KeyCode) -> ReedlineEvent {
        let event = Event::Key(KeyEvent::new(code, KeyModifiers::NONE));
        keys.parse_event(ReedlineRawEvent::try_from(event).expect("a key"))
    }

    #[test]
    fn letters_that_come_with_an_escape_are_typed_before_it() {
        let is_vi = Arc::new(AtomicBool::new(true));
        let mut keys = Keys::new(Arc::clone(&is_vi));
        press(&mut keys, KeyCode::Char('a'));
        press(&mut keys, KeyCode::Esc);
        let normal = PromptEditMode::Vi(PromptViMode::Normal);
        let asked = [keys.edit_mode(), keys.edit_mode(), keys.edit_mode()];
        assert_eq!(asked, [INSERT, INSERT, normal.clone()]);
        press(&mut keys, KeyCode::Char('i'));
        assert_eq!(keys.edit_mode(), INSERT);
        press(&mut keys, KeyCode::Esc);
        assert_eq!(keys.edit_mode(), normal, "an escape alone counts at once");
        is_vi.store(false, Ordering::Release);
        assert_eq!(keys.edit_mode(), PromptEditMode::Emacs);
    }
}
