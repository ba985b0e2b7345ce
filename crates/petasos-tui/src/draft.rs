//! Keys while the agent works, and the line they make.
//!
//! The composer proper is not there then: its line would fight with the reply for the screen. What
//! is typed is kept in a draft, shown at the bottom, and sent with Enter.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::sync::mpsc;

use crate::composer::Pastes;

/// How soon the reader of keys notices that it is no longer wanted.
const GLANCE: Duration = Duration::from_millis(40);

/// A key that means something here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    /// Text, typed or pasted.
    Text(String),
    /// The line is complete.
    Enter,
    /// The arrow up.
    Up,
    /// The arrow down.
    Down,
    /// What is highlighted is taken.
    Tab,
    /// Takes back a sign.
    Backspace,
    /// Takes back a word.
    Word,
    /// Takes back everything.
    All,
    /// Ctrl-C, Escape.
    Interrupt,
    /// Ctrl-D.
    End,
    /// The picture is drawn anew.
    Redraw,
    /// Ctrl-Z.
    Suspend,
    /// Ctrl-O: what was folded is shown whole.
    Whole,
}

/// Reads keys on a thread of its own until it is dropped.
#[derive(Debug)]
pub(crate) struct Keys {
    pub(crate) pressed: mpsc::UnboundedReceiver<Key>,
    wanted: Arc<AtomicBool>,
    reader: Option<std::thread::JoinHandle<()>>,
}

impl Keys {
    /// Takes the terminal's keys.
    pub(crate) fn take() -> std::io::Result<Self> {
        crossterm::terminal::enable_raw_mode()?;
        let (sender, pressed) = mpsc::unbounded_channel();
        let wanted = Arc::new(AtomicBool::new(true));
        let still = Arc::clone(&wanted);
        let reader = std::thread::spawn(move || read(&sender, &still));
        Ok(Self { pressed, wanted, reader: Some(reader) })
    }

    /// Gives the keys back, and what was pressed until the reader had stopped.
    pub(crate) fn close(mut self) -> Vec<Key> {
        self.stop();
        std::iter::from_fn(|| self.pressed.try_recv().ok()).collect()
    }

    fn stop(&mut self) {
        self.wanted.store(false, Ordering::Release);
        if let Some(reader) = self.reader.take().filter(ends) {
            // A reader that panicked has nothing left to read.
            reader.join().unwrap_or_default();
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.stop();
        // A terminal that is gone has no mode to restore.
        crossterm::terminal::disable_raw_mode().unwrap_or_default();
    }
}

/// Whether a reader comes to its end. On a terminal that is gone it never does: it is left behind,
/// and ends with the program.
fn ends(reader: &std::thread::JoinHandle<()>) -> bool {
    let until = Instant::now() + GLANCE * 20;
    while !reader.is_finished() && Instant::now() < until {
        std::thread::sleep(GLANCE / 20);
    }
    reader.is_finished()
}

fn read(sender: &mpsc::UnboundedSender<Key>, wanted: &AtomicBool) {
    while wanted.load(Ordering::Acquire) {
        let event = match crossterm::event::poll(GLANCE) {
            Ok(false) => continue,
            Ok(true) => crossterm::event::read(),
            Err(error) => Err(error),
        };
        let key = match event {
            Ok(event) => key(event),
            // The terminal is gone.
            Err(_) => Some(Key::End),
        };
        let last = key == Some(Key::End);
        if key.is_some_and(|key| sender.send(key).is_err()) || last {
            return;
        }
    }
}

fn key(event: Event) -> Option<Key> {
    match event {
        Event::Paste(text) => Some(Key::Text(text.replace("\r\n", "\n").replace('\r', "\n"))),
        Event::Resize(..) => Some(Key::Redraw),
        Event::Key(KeyEvent { kind: KeyEventKind::Release, .. }) => None,
        Event::Key(KeyEvent { code, modifiers, .. }) => pressed(code, modifiers),
        _ => None,
    }
}

fn pressed(code: KeyCode, modifiers: KeyModifiers) -> Option<Key> {
    let control = modifiers.contains(KeyModifiers::CONTROL);
    match code {
        KeyCode::Char('c') if control => Some(Key::Interrupt),
        KeyCode::Char('d') if control => Some(Key::End),
        KeyCode::Char('u') if control => Some(Key::All),
        KeyCode::Char('w') if control => Some(Key::Word),
        KeyCode::Char('l') if control => Some(Key::Redraw),
        KeyCode::Char('z') if control => Some(Key::Suspend),
        KeyCode::Char('o') if control => Some(Key::Whole),
        KeyCode::Char('j') if control => Some(Key::Text("\n".to_owned())),
        KeyCode::Char('h') if control => Some(Key::Backspace),
        KeyCode::Char(_) if control || modifiers.contains(KeyModifiers::ALT) => None,
        KeyCode::Char(sign) => Some(Key::Text(sign.to_string())),
        KeyCode::Enter if modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SHIFT) => {
            Some(Key::Text("\n".to_owned()))
        }
        KeyCode::Enter => Some(Key::Enter),
        KeyCode::Backspace => Some(Key::Backspace),
        KeyCode::Esc => Some(Key::Interrupt),
        KeyCode::Tab => Some(Key::Tab),
        KeyCode::Up => Some(Key::Up),
        KeyCode::Down => Some(Key::Down),
        _ => None,
    }
}

/// A line in the making. Large pastes are folded to a chip, as the composer does it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draft {
    text: String,
    pastes: Pastes,
}

impl Draft {
    /// An empty one that folds what is large.
    pub(crate) fn folding(pastes: Pastes) -> Self {
        Self { text: String::new(), pastes }
    }

    /// What is typed so far, as it is shown.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// What is typed so far, with every paste in its place; nothing is left.
    pub(crate) fn take(&mut self) -> String {
        self.pastes.unfold(&std::mem::take(&mut self.text))
    }

    /// Applies a key; gives the line when it is complete.
    pub(crate) fn apply(&mut self, key: &Key) -> Option<String> {
        match key {
            Key::Text(text) => match self.pastes.pasted(text) {
                Some(chip) => self.text.push_str(&chip),
                None => self.text.push_str(text),
            },
            Key::Backspace => match self.pastes.last_of(&self.text) {
                Some(chip) => self.text.truncate(self.text.len() - chip.len()),
                None => drop(self.text.pop()),
            },
            Key::Word => {
                let kept = self.text.trim_end().rfind(char::is_whitespace).map_or(0, |at| at + 1);
                self.text.truncate(kept);
            }
            Key::All => self.text.clear(),
            Key::Enter => {
                if let Some(line) = self.text.strip_suffix('\\') {
                    self.text = format!("{line}\n");
                    return None;
                }
                return Some(self.take());
            }
            Key::Tab
            | Key::Up
            | Key::Down
            | Key::Interrupt
            | Key::End
            | Key::Redraw
            | Key::Suspend
            | Key::Whole => {}
        }
        None
    }

    /// The word that begins here becomes this one.
    pub(crate) fn complete(&mut self, from: usize, value: &str) {
        self.text.truncate(from);
        self.text.push_str(value);
    }

    /// Text behind what is typed so far.
    pub(crate) fn put(&mut self, text: &str) {
        let shown = self.pastes.folded(text.to_owned());
        self.text.push_str(&shown);
    }

    /// Taken away, for something else to be typed; [`Draft::give_back`] puts it back.
    pub(crate) fn put_by(&mut self) -> Self {
        std::mem::take(self)
    }

    /// Back again.
    pub(crate) fn give_back(&mut self, other: Self) {
        *self = other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_make_a_line() {
        let mut draft = Draft::default();
        let text = |text: &str| Key::Text(text.to_owned());
        for key in [
            text("one twx"),
            Key::Backspace,
            text("o thr"),
            Key::Word,
            text("日本"),
            Key::Backspace,
        ] {
            assert_eq!(draft.apply(&key), None);
        }
        assert_eq!(draft.text(), "one two 日");
        assert_eq!(draft.apply(&text("\\")), None);
        assert_eq!(draft.apply(&Key::Enter), None, "a backslash at the end goes on");
        draft.apply(&text("more"));
        assert_eq!(draft.apply(&Key::Enter).as_deref(), Some("one two 日\nmore"));
        assert_eq!(draft.text(), "");
    }

    #[test]
    fn control_keys_are_told_from_text() {
        for (code, modifiers, expected) in [
            (KeyCode::Char('c'), KeyModifiers::CONTROL, Some(Key::Interrupt)),
            (KeyCode::Esc, KeyModifiers::NONE, Some(Key::Interrupt)),
            (KeyCode::Char('c'), KeyModifiers::NONE, Some(Key::Text("c".to_owned()))),
            (KeyCode::Enter, KeyModifiers::ALT, Some(Key::Text("\n".to_owned()))),
            (KeyCode::Enter, KeyModifiers::NONE, Some(Key::Enter)),
            (KeyCode::Char('x'), KeyModifiers::CONTROL, None),
            (KeyCode::Up, KeyModifiers::NONE, Some(Key::Up)),
            (KeyCode::Left, KeyModifiers::NONE, None),
        ] {
            assert_eq!(pressed(code, modifiers), expected);
        }
    }

    #[test]
    fn a_large_paste_is_one_chip_until_it_is_sent() {
        let mut draft = Draft::folding(Pastes::new("/nowhere".into(), 5));
        let paste = Key::Text("1\n2\n3\n4\n5\n6\n7\n".to_owned());
        draft.apply(&Key::Text("see ".to_owned()));
        draft.apply(&paste);
        assert_eq!(draft.text(), "see [pasted text 1, 7 lines]");
        draft.apply(&Key::Backspace);
        assert_eq!(draft.text(), "see ", "a chip is taken back as one");
        draft.apply(&paste);
        let sent = draft.apply(&Key::Enter);
        assert_eq!(sent.as_deref(), Some("see 1\n2\n3\n4\n5\n6\n7"));
        assert_eq!(draft.text(), "");
    }
}
