//! The pointer and the keyboard, moved through XTEST.

use std::time::Duration;

use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::ConnectionExt as _;
use x11rb::protocol::xtest::ConnectionExt as _;

use super::keys::{self, Chord};
use super::{Desktop, X11Error};

const KEY_PRESS: u8 = 2;
const KEY_RELEASE: u8 = 3;
const BUTTON_PRESS: u8 = 4;
const BUTTON_RELEASE: u8 = 5;
const MOTION: u8 = 6;
const SHIFT: u32 = 0xffe1;
/// Programs see a drag when there is a way between its ends.
const DRAG_STEPS: i32 = 12;
/// A program that was told of a new key needs a moment before it is pressed.
const SETTLE: Duration = Duration::from_millis(20);
/// Longer text is pasted by a person, too.
pub(super) const TEXT_CHARS_MAX: usize = 20_000;

/// A button of the pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Button {
    /// The usual one.
    Left,
    /// The wheel.
    Middle,
    /// For menus.
    Right,
}

/// Where the wheel turns to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Up.
    Up,
    /// Down.
    Down,
    /// Left.
    Left,
    /// Right.
    Right,
}

/// The keyboard as the server has it.
struct Keymap {
    first: u8,
    width: usize,
    symbols: Vec<u32>,
}

impl Keymap {
    /// The key of a symbol, and whether it needs shift.
    fn key(&self, symbol: u32) -> Option<(u8, bool)> {
        self.symbols.chunks(self.width).zip(self.first..=u8::MAX).find_map(|(row, key)| {
            match row.iter().position(|known| *known == symbol)? {
                0 => Some((key, false)),
                1 => Some((key, true)),
                _ => None,
            }
        })
    }

    /// A key that means nothing, to be lent to a symbol that no key has.
    fn spare(&self) -> Option<u8> {
        let rows = self.symbols.chunks(self.width).zip(self.first..=u8::MAX);
        rows.rev().find(|(row, _)| row.iter().all(|symbol| *symbol == 0)).map(|(_, key)| key)
    }
}

impl Desktop {
    fn fake(&self, kind: u8, detail: u8, x: i32, y: i32) -> Result<(), X11Error> {
        let short = |number: i32| i16::try_from(number).unwrap_or(0);
        let (root, time) = (self.root, x11rb::CURRENT_TIME);
        self.connection
            .xtest_fake_input(kind, detail, time, root, short(x), short(y), 0)?
            .check()?;
        Ok(())
    }

    /// Puts the pointer somewhere on the screen.
    pub fn point(&self, x: i32, y: i32) -> Result<(), X11Error> {
        let (width, height) = self.size();
        let inside = |at: i32, most: u32| u32::try_from(at).is_ok_and(|at| at < most);
        if !inside(x, width) || !inside(y, height) {
            let why = format!("({x}, {y}) is not on the screen, which is {width} by {height}");
            return Err(X11Error::Unsupported(why));
        }
        self.fake(MOTION, 0, x, y)?;
        self.sync()
    }

    /// Clicks where the pointer is put, with keys held.
    pub fn click(
        &self,
        (x, y): (i32, i32),
        button: Button,
        times: u8,
        held: &[u32],
    ) -> Result<(), X11Error> {
        self.point(x, y)?;
        self.holding(held, || {
            for _ in 0..times {
                self.fake(BUTTON_PRESS, number(button), 0, 0)?;
                self.fake(BUTTON_RELEASE, number(button), 0, 0)?;
            }
            Ok(())
        })
    }

    /// Drags from one point to another.
    pub fn drag(&self, from: (i32, i32), to: (i32, i32), button: Button) -> Result<(), X11Error> {
        self.point(to.0, to.1)?;
        self.point(from.0, from.1)?;
        self.fake(BUTTON_PRESS, number(button), 0, 0)?;
        let way = |from: i32, to: i32, step: i32| from + (to - from) * step / DRAG_STEPS;
        let moved = (1..=DRAG_STEPS).try_for_each(|step| {
            self.fake(MOTION, 0, way(from.0, to.0, step), way(from.1, to.1, step))?;
            self.sync()
        });
        // A button that stays pressed is worse than a drag that failed.
        let released = self.fake(BUTTON_RELEASE, number(button), 0, 0);
        moved.and(released)?;
        self.sync()
    }

    /// Turns the wheel.
    pub fn scroll(
        &self,
        (x, y): (i32, i32),
        direction: Direction,
        amount: u32,
        held: &[u32],
    ) -> Result<(), X11Error> {
        self.point(x, y)?;
        let wheel = match direction {
            Direction::Up => 4,
            Direction::Down => 5,
            Direction::Left => 6,
            Direction::Right => 7,
        };
        self.holding(held, || {
            for _ in 0..amount {
                self.fake(BUTTON_PRESS, wheel, 0, 0)?;
                self.fake(BUTTON_RELEASE, wheel, 0, 0)?;
            }
            Ok(())
        })
    }

    /// Presses a combination.
    pub fn press(&self, chord: &Chord) -> Result<(), X11Error> {
        let map = self.keymap()?;
        let none = || X11Error::Unsupported("the keyboard has no such key".to_owned());
        let (key, needs_shift) = map.key(chord.key).ok_or_else(none)?;
        let mut held = chord.held.clone();
        if needs_shift && !held.contains(&SHIFT) {
            held.push(SHIFT);
        }
        self.holding(&held, || self.stroke(key))
    }

    /// Types text into whatever has the keys. A character that no key has borrows one that means
    /// nothing and gives it back.
    pub fn type_text(&self, text: &str) -> Result<(), X11Error> {
        if text.chars().count() > TEXT_CHARS_MAX {
            let why = format!("the text is longer than {TEXT_CHARS_MAX} characters");
            return Err(X11Error::Unsupported(why));
        }
        let map = self.keymap()?;
        for letter in text.chars().filter(|letter| *letter != '\r') {
            let symbol = keys::symbol(letter);
            match map.key(symbol) {
                Some((key, false)) => self.stroke(key)?,
                Some((key, true)) => self.holding(&[SHIFT], || self.stroke(key))?,
                None => self.borrow(&map, symbol)?,
            }
        }
        self.sync()
    }

    fn borrow(&self, map: &Keymap, symbol: u32) -> Result<(), X11Error> {
        let none = || X11Error::Unsupported("the keyboard has no key to lend".to_owned());
        let key = map.spare().ok_or_else(none)?;
        let width = u8::try_from(map.width).unwrap_or(u8::MAX);
        let change = |symbol: u32| -> Result<(), X11Error> {
            let row = vec![symbol; map.width];
            self.connection.change_keyboard_mapping(1, key, width, &row)?.check()?;
            self.sync()
        };
        change(symbol)?;
        std::thread::sleep(SETTLE);
        let typed = self.stroke(key);
        std::thread::sleep(SETTLE);
        let given_back = change(0);
        typed.and(given_back)
    }

    fn stroke(&self, key: u8) -> Result<(), X11Error> {
        self.fake(KEY_PRESS, key, 0, 0)?;
        self.fake(KEY_RELEASE, key, 0, 0)
    }

    /// Does something while keys are held; they are let go whatever happens.
    fn holding(
        &self,
        held: &[u32],
        work: impl FnOnce() -> Result<(), X11Error>,
    ) -> Result<(), X11Error> {
        let map = self.keymap()?;
        let none = || X11Error::Unsupported("the keyboard has no such modifier".to_owned());
        let held: Vec<u8> = held
            .iter()
            .map(|symbol| map.key(*symbol).map(|(key, _)| key).ok_or_else(none))
            .collect::<Result<_, _>>()?;
        let pressed = held.iter().try_for_each(|key| self.fake(KEY_PRESS, *key, 0, 0));
        let worked = pressed.and_then(|()| work());
        let released = held.iter().rev().try_for_each(|key| self.fake(KEY_RELEASE, *key, 0, 0));
        worked.and(released)?;
        self.sync()
    }

    fn keymap(&self) -> Result<Keymap, X11Error> {
        let setup = self.connection.setup();
        let (first, last) = (setup.min_keycode, setup.max_keycode);
        let count = last.saturating_sub(first).saturating_add(1);
        let map = self.connection.get_keyboard_mapping(first, count)?.reply()?;
        let width = usize::from(map.keysyms_per_keycode).max(1);
        Ok(Keymap { first, width, symbols: map.keysyms })
    }
}

const fn number(button: Button) -> u8 {
    match button {
        Button::Left => 1,
        Button::Middle => 2,
        Button::Right => 3,
    }
}
