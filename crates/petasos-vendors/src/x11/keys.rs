//! Names of keys and characters as the numbers that X11 gives them, and which combinations are
//! never pressed.

/// A key that is held while another is pressed.
const MODIFIERS: &[(&str, u32)] = &[
    ("ctrl", 0xffe3),
    ("control", 0xffe3),
    ("shift", 0xffe1),
    ("alt", 0xffe9),
    ("option", 0xffe9),
    ("cmd", 0xffeb),
    ("win", 0xffeb),
    ("windows", 0xffeb),
    ("super", 0xffeb),
    ("meta", 0xffeb),
];
const NAMED: &[(&str, u32)] = &[
    ("return", 0xff0d),
    ("enter", 0xff0d),
    ("escape", 0xff1b),
    ("esc", 0xff1b),
    ("tab", 0xff09),
    ("space", 0x20),
    ("backspace", 0xff08),
    ("delete", 0xffff),
    ("insert", 0xff63),
    ("home", 0xff50),
    ("end", 0xff57),
    ("pageup", 0xff55),
    ("pagedown", 0xff56),
    ("left", 0xff51),
    ("up", 0xff52),
    ("right", 0xff53),
    ("down", 0xff54),
    ("menu", 0xff67),
    ("plus", 0x2b),
];
/// Combinations that end a session, lock it or close what a person works in.
const REFUSED: &[&[&str]] = &[
    &["cmd", "shift", "backspace"],
    &["cmd", "option", "backspace"],
    &["cmd", "ctrl", "q"],
    &["cmd", "shift", "q"],
    &["cmd", "option", "shift", "q"],
    &["win", "l"],
    &["ctrl", "alt", "delete"],
    &["alt", "f4"],
];

/// A combination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chord {
    /// Held, in order.
    pub held: Vec<u32>,
    /// Pressed last.
    pub key: u32,
}

/// Reads `ctrl+shift+t`.
pub fn chord(text: &str) -> Result<Chord, String> {
    let words: Vec<String> = text.split('+').map(|word| word.trim().to_lowercase()).collect();
    let (last, held) = words.split_last().ok_or("there is no key")?;
    let held = held.iter().map(|word| modifier(word)).collect::<Result<Vec<u32>, String>>()?;
    let key = named(last).ok_or_else(|| format!("`{last}` is no key that is known here"))?;
    let chord = Chord { held, key };
    if is_refused(&chord) {
        return Err(format!("`{text}` is never pressed: it ends, locks or closes what others use"));
    }
    Ok(chord)
}

/// A modifier by its name.
pub fn modifier(word: &str) -> Result<u32, String> {
    let known = MODIFIERS.iter().find(|(name, _)| *name == word.trim().to_lowercase());
    known.map(|(_, key)| *key).ok_or_else(|| format!("`{word}` is no modifier that is known here"))
}

fn named(word: &str) -> Option<u32> {
    let known = NAMED.iter().chain(MODIFIERS).find(|(name, _)| *name == word);
    if let Some((_, key)) = known {
        return Some(*key);
    }
    if let Some(number) = word.strip_prefix('f').and_then(|rest| rest.parse::<u32>().ok()) {
        return (1..=12).contains(&number).then(|| 0xffbe + number - 1);
    }
    let mut letters = word.chars();
    let letter = letters.next()?;
    letters.next().is_none().then(|| symbol(letter))
}

fn is_refused(chord: &Chord) -> bool {
    REFUSED.iter().any(|words| {
        let Some((last, held)) = words.split_last() else { return false };
        let mut wanted: Vec<u32> = held.iter().filter_map(|word| modifier(word).ok()).collect();
        let mut given = chord.held.clone();
        wanted.sort_unstable();
        given.sort_unstable();
        given.dedup();
        wanted == given && named(last) == Some(chord.key)
    })
}

/// The number of a character.
pub fn symbol(letter: char) -> u32 {
    match (letter, u32::from(letter)) {
        ('\n' | '\r', _) => 0xff0d,
        ('\t', _) => 0xff09,
        (_, latin @ (0x20..=0x7e | 0xa0..=0xff)) => latin,
        (_, other) => 0x0100_0000 + other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_are_read_and_some_are_never_pressed() {
        assert_eq!(chord("ctrl+S").unwrap(), Chord { held: vec![0xffe3], key: u32::from('s') });
        assert_eq!(chord("F12").unwrap().key, 0xffc9);
        assert_eq!(chord("shift+Tab").unwrap().held, [0xffe1]);
        for never in [
            "cmd+shift+backspace",
            "shift+cmd+backspace",
            "super+ctrl+q",
            "win+l",
            "META+L",
            "ctrl+alt+delete",
            "alt+ctrl+delete",
            "alt+f4",
            "cmd+option+shift+q",
            "alt+alt+f4",
        ] {
            assert!(chord(never).unwrap_err().contains("never pressed"), "{never}");
        }
        for odd in ["", "nokey", "foo+a", "f13", "ctrl+"] {
            assert!(chord(odd).is_err(), "{odd}");
        }
        assert_eq!((symbol('é'), symbol('€'), symbol('\n')), (0xe9, 0x0100_20ac, 0xff0d));
    }
}
