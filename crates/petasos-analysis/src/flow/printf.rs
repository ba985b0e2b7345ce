//! Backslash escapes and `printf` formats.

use super::value::Arg;
use crate::shell::normalise::UNKNOWN;

/// Decodes backslash escapes. `ansi_c` is the dialect of `$'…'`.
pub(crate) fn unescape(text: &str, ansi_c: bool) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut bytes: Vec<u8> = Vec::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            push(&mut bytes, letter);
            continue;
        }
        let Some(sign) = letters.next() else {
            bytes.push(b'\\');
            break;
        };
        match sign {
            'n' => bytes.push(b'\n'),
            't' => bytes.push(b'\t'),
            'r' => bytes.push(b'\r'),
            'a' => bytes.push(7),
            'b' => bytes.push(8),
            'e' | 'E' => bytes.push(27),
            'f' => bytes.push(12),
            'v' => bytes.push(11),
            '\\' => bytes.push(b'\\'),
            '\'' | '"' | '?' if ansi_c => push(&mut bytes, sign),
            'x' => number(&mut bytes, &mut letters, 16, 2),
            'u' => code_point(&mut bytes, &mut letters, 4),
            'U' => code_point(&mut bytes, &mut letters, 8),
            'c' if ansi_c => {
                letters.next();
            }
            '0'..='7' => {
                let mut value = sign.to_digit(8).unwrap_or_default();
                let most = if sign == '0' && !ansi_c { 3 } else { 2 };
                for _ in 0..most {
                    let Some(digit) = letters.peek().and_then(|letter| letter.to_digit(8)) else {
                        break;
                    };
                    value = value * 8 + digit;
                    letters.next();
                }
                bytes.push(u8::try_from(value & 0xff).unwrap_or_default());
            }
            other => {
                bytes.push(b'\\');
                push(&mut bytes, other);
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

type Letters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn push(bytes: &mut Vec<u8>, letter: char) {
    let mut buffer = [0; 4];
    bytes.extend_from_slice(letter.encode_utf8(&mut buffer).as_bytes());
}

fn digits(letters: &mut Letters<'_>, base: u32, most: usize) -> Option<u32> {
    let mut value = None;
    for _ in 0..most {
        let Some(digit) = letters.peek().and_then(|letter| letter.to_digit(base)) else { break };
        value = Some(value.unwrap_or(0) * base + digit);
        letters.next();
    }
    value
}

fn number(bytes: &mut Vec<u8>, letters: &mut Letters<'_>, base: u32, most: usize) {
    if let Some(value) = digits(letters, base, most) {
        bytes.push(u8::try_from(value & 0xff).unwrap_or_default());
    }
}

fn code_point(bytes: &mut Vec<u8>, letters: &mut Letters<'_>, most: usize) {
    if let Some(letter) = digits(letters, 16, most).and_then(char::from_u32) {
        push(bytes, letter);
    }
}

/// What `printf format args…` prints.
pub(super) fn format(format: &str, args: &[Arg]) -> String {
    let mut output = String::new();
    let mut rest = args.iter();
    let mut rounds = 0;
    loop {
        let before = rest.len();
        one_round(format, &mut rest, &mut output);
        rounds += 1;
        if rest.len() == 0 || rest.len() == before || rounds > 10_000 {
            return output;
        }
    }
}

fn one_round(format: &str, args: &mut std::slice::Iter<'_, Arg>, output: &mut String) {
    let format = unescape(format, false);
    let mut letters = format.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            output.push(letter);
            continue;
        }
        if letters.peek() == Some(&'%') {
            letters.next();
            output.push('%');
            continue;
        }
        let mut flags = String::new();
        let mut kind = None;
        for sign in letters.by_ref() {
            if sign.is_ascii_alphabetic() {
                kind = Some(sign);
                break;
            }
            flags.push(sign);
        }
        let text = args.next().map(|arg| arg.text.as_str()).unwrap_or_default();
        match kind {
            Some('s') => {
                match flags.strip_prefix('.').and_then(|most| most.parse::<usize>().ok()) {
                    Some(most) => output.extend(text.chars().take(most)),
                    None => output.push_str(text),
                }
            }
            Some('q') => output.push_str(text),
            Some('b') => output.push_str(&unescape(text, false)),
            Some('c') => output.extend(text.chars().next()),
            Some('d' | 'i' | 'u') => output.push_str(if text.is_empty() { "0" } else { text }),
            Some('x' | 'X' | 'o') => match text.parse::<i64>() {
                Ok(number) if kind == Some('o') => output.extend(format!("{number:o}").chars()),
                Ok(number) => output.extend(format!("{number:x}").chars()),
                Err(_) => output.push(UNKNOWN),
            },
            _ => output.push(UNKNOWN),
        }
    }
}
