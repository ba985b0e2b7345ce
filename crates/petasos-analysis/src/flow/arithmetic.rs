//! Arithmetic on known numbers; anything else is unknown.

use super::engine::Engine;
use super::value::{Arg, Taint, Value};
use crate::shell::Span;
use crate::shell::normalise::UNKNOWN;

const LENGTH_MAX: usize = 4096;
const NESTING_MAX: u32 = 32;

impl Engine<'_> {
    /// The value of an expression as text, or unknown.
    pub(crate) fn arithmetic(&mut self, text: &str) -> String {
        self.arithmetic_assign(text);
        self.evaluate_subscripts(text);
        match self.number(text) {
            Some(value) => value.to_string(),
            None => UNKNOWN.to_string(),
        }
    }

    /// The value of a name is an expression again, and a subscript in it is expanded.
    pub(crate) fn evaluate_subscripts(&mut self, text: &str) {
        if text.len() > LENGTH_MAX {
            return;
        }
        if let Some(code) = super::embedded::subscript(text) {
            let code = Arg::new(code, Span::default());
            self.run_shell(code, Span::default());
        }
        let names = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        for name in names.filter(|name| !name.is_empty()) {
            if let Some(hidden) = self.state.get(name).map(|value| value.text.clone()) {
                self.expand_again(&hidden, Span::default());
            }
        }
    }

    /// `x=1`, `x++`: the variable changes.
    pub(crate) fn arithmetic_assign(&mut self, text: &str) {
        if text.len() > LENGTH_MAX {
            return;
        }
        for piece in text.split(',') {
            let name: String = piece
                .trim_start()
                .chars()
                .take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '_')
                .collect();
            let rest = piece.trim_start().get(name.len()..).unwrap_or_default().trim_start();
            if name.is_empty() || name.starts_with(|letter: char| letter.is_ascii_digit()) {
                continue;
            }
            if let Some(value) = rest.strip_prefix('=')
                && !value.starts_with('=')
            {
                let value = self
                    .number(value)
                    .map_or(Value::unknown(Taint::NONE), |number| Value::known(number.to_string()));
                self.state.set(&name, value);
            } else if rest.starts_with("++")
                || rest.starts_with("--")
                || rest.get(1..2) == Some("=")
                    && !rest.starts_with("==")
                    && !rest.starts_with("!=")
                    && !rest.starts_with("<=")
                    && !rest.starts_with(">=")
            {
                self.state.set(&name, Value::unknown(Taint::NONE));
            }
        }
    }

    pub(crate) fn number(&self, text: &str) -> Option<i64> {
        if text.len() > LENGTH_MAX || text.contains(UNKNOWN) {
            return None;
        }
        let mut reader = Reader { engine: self, rest: text, nesting: 0 };
        let value = reader.binary(0)?;
        reader.rest.trim().is_empty().then_some(value)
    }
}

struct Reader<'e, 't> {
    engine: &'e Engine<'e>,
    rest: &'t str,
    nesting: u32,
}

impl Reader<'_, '_> {
    fn binary(&mut self, least: u8) -> Option<i64> {
        const OPERATORS: [(&str, u8); 16] = [
            ("<<", 5),
            (">>", 5),
            ("<=", 4),
            (">=", 4),
            ("==", 3),
            ("!=", 3),
            ("**", 9),
            ("|", 1),
            ("&", 2),
            ("<", 4),
            (">", 4),
            ("+", 6),
            ("-", 6),
            ("*", 7),
            ("/", 7),
            ("%", 7),
        ];
        let mut left = self.unary()?;
        loop {
            self.rest = self.rest.trim_start();
            let found = OPERATORS.iter().find(|(sign, _)| self.rest.starts_with(sign));
            let Some((sign, strength)) = found.filter(|(_, strength)| *strength > least) else {
                return Some(left);
            };
            self.rest = self.rest.get(sign.len()..)?;
            let right = self.binary(*strength)?;
            left = apply(sign, left, right)?;
        }
    }

    fn unary(&mut self) -> Option<i64> {
        self.nesting += 1;
        if self.nesting > NESTING_MAX {
            return None;
        }
        self.rest = self.rest.trim_start();
        let value = match self.rest.chars().next()? {
            '-' => {
                self.rest = self.rest.get(1..)?;
                self.unary()?.checked_neg()
            }
            '+' => {
                self.rest = self.rest.get(1..)?;
                self.unary()
            }
            '!' => {
                self.rest = self.rest.get(1..)?;
                self.unary().map(|value| i64::from(value == 0))
            }
            '(' => {
                self.rest = self.rest.get(1..)?;
                let value = self.binary(0)?;
                self.rest = self.rest.trim_start().strip_prefix(')')?;
                Some(value)
            }
            _ => self.atom(),
        };
        self.nesting -= 1;
        value
    }

    fn atom(&mut self) -> Option<i64> {
        let length = self
            .rest
            .bytes()
            .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b'#')
            .count();
        let (word, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        if let Some(digits) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
            return i64::from_str_radix(digits, 16).ok();
        }
        if let Some((base, digits)) = word.split_once('#') {
            let base = base.parse::<u32>().ok().filter(|base| (2..=36).contains(base))?;
            return i64::from_str_radix(digits, base).ok();
        }
        if word.starts_with(|letter: char| letter.is_ascii_digit()) {
            if word.len() > 1 && word.starts_with('0') {
                return i64::from_str_radix(word, 8).ok();
            }
            return word.parse().ok();
        }
        if word.is_empty() {
            return None;
        }
        let value = self.engine.state.get(word)?;
        value.text.trim().parse().ok()
    }
}

fn apply(sign: &str, left: i64, right: i64) -> Option<i64> {
    match sign {
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "/" => left.checked_div(right),
        "%" => left.checked_rem(right),
        "**" => left.checked_pow(u32::try_from(right).ok()?),
        "<<" => left.checked_shl(u32::try_from(right).ok()?),
        ">>" => left.checked_shr(u32::try_from(right).ok()?),
        "&" => Some(left & right),
        "|" => Some(left | right),
        "==" => Some(i64::from(left == right)),
        "!=" => Some(i64::from(left != right)),
        "<" => Some(i64::from(left < right)),
        ">" => Some(i64::from(left > right)),
        "<=" => Some(i64::from(left <= right)),
        ">=" => Some(i64::from(left >= right)),
        _ => None,
    }
}
