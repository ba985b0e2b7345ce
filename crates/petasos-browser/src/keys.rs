//! Keys by their DOM names, alone or with modifiers, as the protocol wants them.

use serde_json::{Value, json};

/// Name, key code, text that it types.
const NAMED: &[(&str, u32, &str)] = &[
    ("Enter", 13, "\r"),
    ("Tab", 9, ""),
    ("Escape", 27, ""),
    ("Backspace", 8, ""),
    ("Delete", 46, ""),
    ("Insert", 45, ""),
    ("Home", 36, ""),
    ("End", 35, ""),
    ("PageUp", 33, ""),
    ("PageDown", 34, ""),
    ("ArrowLeft", 37, ""),
    ("ArrowUp", 38, ""),
    ("ArrowRight", 39, ""),
    ("ArrowDown", 40, ""),
    ("F1", 112, ""),
    ("F2", 113, ""),
    ("F3", 114, ""),
    ("F4", 115, ""),
    ("F5", 116, ""),
    ("F6", 117, ""),
    ("F7", 118, ""),
    ("F8", 119, ""),
    ("F9", 120, ""),
    ("F10", 121, ""),
    ("F11", 122, ""),
    ("F12", 123, ""),
];

/// Other spellings of the same keys.
const ALIASES: &[(&str, &str)] = &[
    ("return", "Enter"),
    ("esc", "Escape"),
    ("space", " "),
    ("spacebar", " "),
    ("left", "ArrowLeft"),
    ("right", "ArrowRight"),
    ("up", "ArrowUp"),
    ("down", "ArrowDown"),
    ("del", "Delete"),
    ("pgup", "PageUp"),
    ("pgdn", "PageDown"),
];

/// The events of one key: pressed, released.
pub(crate) fn events(spelled: &str) -> Option<(Value, Value)> {
    let (names, key) = match spelled.rsplit_once('+') {
        Some((names, "")) if names.ends_with('+') => (names, "+"),
        Some((names, key)) if !key.is_empty() => (names, key),
        _ => ("", spelled),
    };
    let mut modifiers = 0_u32;
    for name in names.split('+').filter(|name| !name.is_empty()) {
        modifiers |= match name.to_ascii_lowercase().as_str() {
            "alt" | "option" => 1,
            "control" | "ctrl" => 2,
            "meta" | "command" | "cmd" => 4,
            "shift" => 8,
            _ => return None,
        };
    }
    let folded = key.to_ascii_lowercase();
    let key = ALIASES.iter().find(|(alias, _)| *alias == folded).map_or(key, |(_, name)| *name);
    let known = NAMED.iter().find(|(name, ..)| name.eq_ignore_ascii_case(key));
    let (key, code, virtual_code, typed) = match known {
        Some((name, code, typed)) => {
            ((*name).to_owned(), (*name).to_owned(), *code, (*typed).to_owned())
        }
        None => letter(key, modifiers & 8 != 0)?,
    };
    // With Control, Alt or Meta a key is a command and types nothing.
    let is_command = modifiers & 7 != 0;
    let typed = if is_command { String::new() } else { typed };
    let kind = if typed.is_empty() { "rawKeyDown" } else { "keyDown" };
    let mut down = json!({ "type": kind, "key": key, "code": code, "modifiers": modifiers,
        "windowsVirtualKeyCode": virtual_code, "nativeVirtualKeyCode": virtual_code });
    if let (false, Some(object)) = (typed.is_empty(), down.as_object_mut()) {
        object.insert("text".to_owned(), typed.into());
    }
    // Editing commands are the browser's own only when it is told their name.
    let command = match (modifiers, folded.as_str()) {
        (2 | 4, "a") => Some("selectAll"),
        (2 | 4, "c") => Some("copy"),
        (2 | 4, "x") => Some("cut"),
        (2 | 4, "z") => Some("undo"),
        _ => None,
    };
    if let (Some(command), Some(object)) = (command, down.as_object_mut()) {
        object.insert("commands".to_owned(), json!([command]));
    }
    let up = json!({ "type": "keyUp", "key": key, "code": code, "modifiers": modifiers,
        "windowsVirtualKeyCode": virtual_code, "nativeVirtualKeyCode": virtual_code });
    Some((down, up))
}

/// A key that is named by the letter it types: key, code, number, text.
fn letter(key: &str, is_shifted: bool) -> Option<(String, String, u32, String)> {
    let mut letters = key.chars();
    let (Some(letter), None) = (letters.next(), letters.next()) else { return None };
    let upper = letter.to_ascii_uppercase();
    let code = match letter {
        ' ' => "Space".to_owned(),
        _ if letter.is_ascii_alphabetic() => format!("Key{upper}"),
        _ if letter.is_ascii_digit() => format!("Digit{letter}"),
        _ => String::new(),
    };
    let typed = if is_shifted { upper } else { letter }.to_string();
    Some((typed.clone(), code, u32::from(upper), typed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_by_name_letter_and_combination() {
        for (given, key, modifiers) in [
            ("Enter", "Enter", 0),
            ("enter", "Enter", 0),
            ("esc", "Escape", 0),
            ("Control+Shift+K", "K", 10),
            ("a", "a", 0),
            ("space", " ", 0),
            ("+", "+", 0),
            ("Control++", "+", 2),
        ] {
            let found =
                events(given).map(|(down, _)| (down["key"].clone(), down["modifiers"].clone()));
            assert_eq!(found, Some((key.into(), modifiers.into())), "{given}");
        }
        for given in ["", "Hyper+a", "Enterr", "Control+"] {
            assert_eq!(events(given), None, "{given}");
        }
    }
}
