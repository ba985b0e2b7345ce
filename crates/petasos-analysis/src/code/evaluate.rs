//! Strings put together in plain sight: constants, concatenation, joins, homes.

use super::compute;
use super::scan::Token;
use crate::flow::decode;
use crate::flow::value::Arg;
use crate::shell::normalise::UNKNOWN;
use crate::words::{holds, lists};
use std::collections::HashMap;
use std::rc::Rc;

/// How deep expressions are followed.
const NESTING_MAX: u32 = 16;

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Text(String),
    List(Vec<String>),
    Number(i64),
    Unknown,
}

impl Value {
    /// The text, with unknown text for what is not one.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::List(items) => items.join(" "),
            Self::Number(number) => number.to_string(),
            Self::Unknown => UNKNOWN.to_string(),
        }
    }

    /// What stands in a list, or the one value.
    pub(crate) fn each(&self) -> Vec<Self> {
        match self {
            Self::List(items) => items.iter().cloned().map(Self::Text).collect(),
            value => vec![value.clone()],
        }
    }
}

/// Reads expressions from tokens.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent traits of a language and its text")]
pub(crate) struct Reader<'t> {
    pub(crate) tokens: &'t [Token],
    pub(crate) constants: HashMap<String, Value>,
    pub(crate) home: String,
    /// Something was decoded on the way.
    pub(crate) decoded: bool,
    /// Functions may be called without parentheses.
    pub(crate) loose: bool,
    /// Arguments may have labels, as in `f(at: x)`.
    pub(crate) labelled: bool,
    /// What flows in, when it is known.
    pub(crate) stdin: Option<String>,
    /// Variables that the program can ask for.
    pub(crate) environment: Vec<(String, String)>,
    /// The arguments of the program, where they are known.
    pub(crate) given: Option<Rc<Vec<Arg>>>,
    /// Work left; at nothing the rest is unknown and the caller refuses.
    pub(crate) steps: usize,
}

impl Reader<'_> {
    fn sign(&self, at: usize, sign: char) -> bool {
        self.tokens.get(at) == Some(&Token::Sign(sign))
    }

    /// The arguments of the call whose parenthesis is at `open`, and where it ends.
    pub(crate) fn arguments(&mut self, open: usize, nesting: u32) -> (Vec<Value>, usize) {
        self.items(open, (')', 64), nesting)
    }

    /// What stands between commas up to `close`, so many at most.
    fn items(
        &mut self,
        open: usize,
        (close, most): (char, usize),
        nesting: u32,
    ) -> (Vec<Value>, usize) {
        let mut values = Vec::new();
        let mut at = open + 1;
        while at < self.tokens.len() && !self.sign(at, close) && values.len() < most {
            let named = matches!(self.tokens.get(at), Some(Token::Name(_)));
            let label = matches!(self.tokens.get(at), Some(Token::Name(name)) if lists("args path command cmd", name));
            if self.labelled && close == ')' && named && self.sign(at + 1, ':')
                || label && values.is_empty() && self.sign(at + 1, '=')
            {
                at += 2;
            }
            let (value, next) = self.expression(at, nesting + 1);
            values.push(value);
            at = next.max(at + 1);
            while at < self.tokens.len() && !self.sign(at, ',') && !self.sign(at, close) {
                at = self.skip(at);
            }
            at += usize::from(self.sign(at, ','));
        }
        (values, at + 1)
    }

    /// Arguments without parentheses.
    pub(super) fn loose_items(&mut self, start: usize, nesting: u32) -> (Vec<Value>, usize) {
        let mut values = Vec::new();
        let mut at = start;
        while values.len() < 64 {
            let (value, next) = self.expression(at, nesting);
            values.push(value);
            at = next;
            let arrow = self.sign(at, '=') && self.sign(at + 1, '>');
            if !self.sign(at, ',') && !arrow {
                break;
            }
            at += 1 + usize::from(arrow);
        }
        (values, at)
    }

    /// Past one token or one bracketed group.
    fn skip(&mut self, at: usize) -> usize {
        if self.steps == 0 {
            return self.tokens.len();
        }
        let end = self.group_end(at);
        self.steps = self.steps.saturating_sub(end - at);
        if self.steps == 0 { self.tokens.len() } else { end }
    }

    fn group_end(&self, at: usize) -> usize {
        if !matches!(self.tokens.get(at), Some(Token::Sign('(' | '[' | '{'))) {
            return at + 1;
        }
        let mut nested = 0u32;
        for (position, token) in self.tokens.iter().enumerate().skip(at) {
            match token {
                Token::Sign('(' | '[' | '{') => nested += 1,
                Token::Sign(')' | ']' | '}') => {
                    nested -= 1;
                    if nested == 0 {
                        return position + 1;
                    }
                }
                _ => {}
            }
        }
        self.tokens.len()
    }

    /// The value of the expression at `at`, and where it ends.
    pub(crate) fn expression(&mut self, at: usize, nesting: u32) -> (Value, usize) {
        if nesting > NESTING_MAX {
            return (Value::Unknown, at + 1);
        }
        let (mut value, mut at) = self.operand(at, nesting);
        loop {
            at = self.postfix(&mut value, at, nesting);
            match self.tokens.get(at) {
                Some(Token::Sign(sign @ ('+' | '.' | '~' | '/'))) => {
                    let between = if *sign == '/' { "/" } else { "" };
                    let (mut right, next) = self.operand(at + 1, nesting + 1);
                    at = self.postfix(&mut right, next, nesting + 1);
                    value = self.joined(value, &right, between);
                }
                // Texts beside each other are one, in AWK also a text and a variable.
                Some(Token::Name(_) | Token::Text(_))
                    if matches!(value, Value::Text(_)) && self.continues(at) =>
                {
                    let (right, next) = self.operand(at, nesting + 1);
                    value = self.joined(value, &right, "");
                    at = next;
                }
                Some(Token::Sign('%')) if matches!(value, Value::Text(_)) => {
                    let (right, next) = if self.sign(at + 1, '(') {
                        self.arguments(at + 1, nesting + 1)
                    } else {
                        let (right, next) = self.operand(at + 1, nesting + 1);
                        (vec![right], next)
                    };
                    let listed: Vec<Value> = right.iter().flat_map(Value::each).collect();
                    value = compute::formatted(&value.text(), &listed);
                    at = next;
                }
                Some(Token::Sign('*')) => {
                    let (right, next) = self.operand(at + 1, nesting + 1);
                    value = match (&value, right) {
                        (Value::Text(text), Value::Number(count)) => {
                            Value::Text(text.repeat(usize::try_from(count).unwrap_or(1).min(64)))
                        }
                        _ => Value::Unknown,
                    };
                    at = next;
                }
                _ => return (value, at),
            }
        }
    }

    /// Whether a text goes on with what stands here.
    fn continues(&self, at: usize) -> bool {
        match self.tokens.get(at) {
            Some(Token::Name(name)) => self.constants.contains_key(name),
            Some(Token::Text(_)) => true,
            _ => false,
        }
    }

    /// Puts `right` behind `left`, in place where both are plain text.
    fn joined(&mut self, left: Value, right: &Value, between: &str) -> Value {
        match (left, right) {
            (Value::Text(mut text), Value::Text(more)) if text.len() + more.len() < 1 << 16 => {
                self.steps = self.steps.saturating_sub(more.len() / 64);
                text.push_str(between);
                text.push_str(more);
                Value::Text(text)
            }
            (left, right) => compute::concatenated(&left, right, between),
        }
    }

    /// Methods and subscripts behind a value.
    fn postfix(&mut self, value: &mut Value, mut at: usize, nesting: u32) -> usize {
        loop {
            match self.tokens.get(at) {
                Some(Token::Name(name)) if name.starts_with('.') => {
                    let name = name.clone();
                    at += 1;
                    let start = at;
                    let mut args = Vec::new();
                    if self.sign(at, '(') {
                        (args, at) = self.arguments(at, nesting + 1);
                    }
                    let last = name.trim_start_matches('.');
                    let module =
                        matches!(value, Value::Text(text) if lists("path node:path os.path", text));
                    *value = match last {
                        _ if module => self.function(&format!("path{name}"), last, &args),
                        "b64decode" | "urlsafe_b64decode" | "decode64" | "fromhex"
                        | "unhexlify" | "decompress" | "loads" => self.function(&name, last, &args),
                        _ if last == "home" || compute::is_home(last) => {
                            Value::Text(self.home.clone())
                        }
                        "readFileSync" | "readFile" if is_descriptor(args.first()) => {
                            self.stdin.clone().map_or(Value::Unknown, Value::Text)
                        }
                        "sep" => Value::Text("/".to_owned()),
                        "map" | "collect" if self.names_codes(start, at) => {
                            compute::from_codes(std::slice::from_ref(value))
                        }
                        "format" => compute::braced(&value.text(), &args),
                        "pack" if matches!(value, Value::List(_)) => {
                            compute::text_from_codes(std::slice::from_ref(value))
                        }
                        "pack" | "unpack" | "unpack1" => {
                            self.decoded = true;
                            decode::hex(&value.text()).map_or(Value::Unknown, Value::Text)
                        }
                        _ => compute::method(&name, value, &args),
                    };
                }
                Some(Token::Sign('[')) => {
                    let reversed = self.sign(at + 1, ':') && self.sign(at + 2, ':');
                    at = self.skip(at);
                    *value = match value {
                        Value::Text(text) if reversed => Value::Text(text.chars().rev().collect()),
                        _ => Value::Unknown,
                    };
                }
                _ => return at,
            }
        }
    }

    /// Whether the tokens between these places turn codes into letters.
    fn names_codes(&self, start: usize, end: usize) -> bool {
        self.tokens.get(start..end).unwrap_or_default().iter().any(|token| {
            matches!(token, Token::Name(name) if name.ends_with("chr") || name.ends_with("fromCharCode"))
        })
    }

    pub(super) fn operand(&mut self, at: usize, nesting: u32) -> (Value, usize) {
        self.steps = self.steps.saturating_sub(1);
        if nesting > NESTING_MAX || self.steps == 0 {
            return (Value::Unknown, at + 1);
        }
        match self.tokens.get(at) {
            Some(Token::Text(text)) => (Value::Text(self.interpolated(text)), at + 1),
            Some(Token::Number(text)) => (number(text), at + 1),
            Some(Token::Sign('-')) => match self.tokens.get(at + 1) {
                Some(Token::Number(text)) => match number(text) {
                    Value::Number(number) => (Value::Number(-number), at + 2),
                    _ => (Value::Unknown, at + 2),
                },
                _ => (Value::Unknown, at + 1),
            },
            Some(Token::Sign('(')) => {
                let (value, next) = self.expression(at + 1, nesting + 1);
                let end = if self.sign(next, ')') { next + 1 } else { self.skip(at) };
                (value, end)
            }
            // `*ARGV`: all of them.
            Some(Token::Sign('*'))
                if matches!(self.tokens.get(at + 1), Some(Token::Name(_) | Token::Text(_))) =>
            {
                self.operand(at + 1, nesting + 1)
            }
            Some(Token::Sign('[')) => self.list(at, ']', nesting),
            Some(Token::Sign('{')) if self.labelled => self.list(at, '}', nesting),
            // `...[1, 2]`
            Some(Token::Sign('.')) if self.sign(at + 1, '.') && self.sign(at + 2, '.') => {
                self.operand(at + 3, nesting + 1)
            }
            Some(Token::Name(name)) => {
                let name = name.clone();
                self.named(&name, at, nesting)
            }
            _ => (Value::Unknown, at + 1),
        }
    }

    fn list(&mut self, open: usize, close: char, nesting: u32) -> (Value, usize) {
        let (items, end) = self.items(open, (close, 256), nesting);
        (Value::List(items.iter().map(Value::text).collect()), end)
    }

    fn named(&mut self, name: &str, at: usize, nesting: u32) -> (Value, usize) {
        let last = name.rsplit(['.', ':', '>']).next().unwrap_or_default();
        if matches!(name, "process.env.HOME" | "$HOME") || compute::is_home(last) {
            let call = at + 1 + usize::from(self.sign(at + 1, '!'));
            let end = if self.sign(call, '(') { self.skip(call) } else { at + 1 };
            return (Value::Text(self.home.clone()), end);
        }
        if lists("environ ENV env $ENV _ENV $_ENV $_SERVER ENVIRON", last)
            && matches!(self.tokens.get(at + 1), Some(Token::Sign('[' | '{')))
        {
            let value = match self.tokens.get(at + 2) {
                Some(Token::Text(key) | Token::Name(key)) => self.variable(key),
                _ => Value::Unknown,
            };
            return (value, self.skip(at + 1));
        }
        if let Some(key) = name.strip_prefix("process.env.") {
            return (self.variable(key), at + 1);
        }
        if let Some(value) = self.given_argument(name, last, at) {
            return value;
        }
        if let Some(found) = self.well_known(name, at, nesting) {
            return found;
        }
        if let Some((head, method)) = name.split_once('.')
            && let Some(value @ (Value::Text(_) | Value::List(_))) =
                self.constants.get(head).cloned()
        {
            // A property of an entry of a listing is where it stands.
            if !self.sign(at + 1, '(') {
                let entry = lists("path to_s to_path fullname FullName PSPath", method);
                return (if entry { value } else { Value::Unknown }, at + 1);
            }
            let (args, next) = self.arguments(at + 1, nesting + 1);
            return (compute::method(&format!(".{method}"), &value, &args), next);
        }
        if self.sign(at + 1, '(') {
            let (args, next) = self.arguments(at + 1, nesting + 1);
            return (self.function(name, last, &args), next);
        }
        let follows = matches!(
            self.tokens.get(at + 1),
            Some(Token::Text(_) | Token::Number(_) | Token::Name(_) | Token::Sign('['))
        );
        if self.loose
            && follows
            && lists("join reverse scalar sprintf pack chr lc uc glob readdir", name)
        {
            return self.loose_call(name, at, nesting);
        }
        if name.ends_with("Dir.home") {
            return (Value::Text(self.home.clone()), at + 1);
        }
        let value = self.constants.get(name).cloned().unwrap_or(Value::Unknown);
        if let Value::Text(text) = &value {
            // Long texts are dear to copy over and over.
            self.steps = self.steps.saturating_sub(text.len() / 32);
        }
        (value, at + 1)
    }

    /// A variable of the environment.
    fn variable(&self, name: &str) -> Value {
        if name == "HOME" {
            return Value::Text(self.home.clone());
        }
        let known = self.environment.iter().find(|(known, _)| known == name);
        known.map_or(Value::Unknown, |(_, text)| Value::Text(text.clone()))
    }

    /// `join " ", "a", "b"`.
    fn loose_call(&mut self, name: &str, at: usize, nesting: u32) -> (Value, usize) {
        // Few of these stand inside each other.
        let (args, at) = self.loose_items(at + 1, nesting + 4);
        (self.function(name, name, &args), at)
    }

    /// Plain text that was spelt otherwise.
    fn decoded_by(&mut self, decoder: fn(&str) -> Option<String>, value: &Value) -> Value {
        self.decoded = true;
        match value {
            Value::Text(text) => decoder(text).map_or(Value::Unknown, Value::Text),
            _ => Value::Unknown,
        }
    }

    fn function(&mut self, name: &str, last: &str, args: &[Value]) -> Value {
        if let Some(value) = self.computed(name, last, args) {
            return value;
        }
        let first = args.first().cloned().unwrap_or(Value::Unknown);
        let second = args.get(1).map(Value::text).unwrap_or_default();
        match last {
            "expanduser" | "expand_path" | "expand" => match first {
                Value::Text(text) => Value::Text(
                    text.strip_prefix('~')
                        .map_or(text.clone(), |rest| format!("{}{rest}", self.home)),
                ),
                _ => Value::Unknown,
            },
            "home" => Value::Text(self.home.clone()),
            "getenv" | "get" | "fetch" if last == "getenv" || holds("env ENV", name) => {
                self.variable(&first.text())
            }
            "text" | "sql" | "raw" if args.len() == 1 => first,
            "of" | "get" if matches!(name.rsplit('.').nth(1), Some("Path" | "Paths")) => first,
            "join" | "resolve" | "Join" if !name.starts_with('.') => {
                let parts: Vec<String> = args.iter().map(Value::text).collect();
                Value::Text(parts.join("/"))
            }
            "Path" | "PurePath" | "str" | "String" | "abspath" | "realpath" | "quote" | "bytes"
            | "PosixPath" | "normpath" | "Pathname" | "expandvars" => first,
            "b64decode" | "atob" | "base64_decode" | "decode_base64" | "decode64"
            | "strict_decode64" | "urlsafe_b64decode" => self.decoded_by(decode::base64, &first),
            "fromhex" | "unhexlify" | "hex2bin" => self.decoded_by(decode::hex, &first),
            "decode" if second.contains("rot") => Value::Text(decode::rot13(&first.text())),
            "from" if second == "base64" => self.decoded_by(decode::base64, &first),
            "from" if second == "hex" => self.decoded_by(decode::hex, &first),
            "pack" | "unpack" if first.text().starts_with(['H', 'h', 'u', 'm']) => {
                self.decoded_by(decode::hex, args.get(1).unwrap_or(&Value::Unknown))
            }
            "decompress" | "gzinflate" | "gzuncompress" | "loads" | "inflate" => {
                self.decoded = true;
                Value::Unknown
            }
            "require" | "__import__" | "import_module" => first,
            _ => Value::Unknown,
        }
    }
}

/// Whether what is read is what flows in.
fn is_descriptor(value: Option<&Value>) -> bool {
    value == Some(&Value::Number(0))
        || matches!(value, Some(Value::Text(path)) if path == "/dev/stdin")
}

fn number(text: &str) -> Value {
    let plain = text.replace('_', "");
    let parsed = if let Some(digits) = plain.strip_prefix("0o").or_else(|| plain.strip_prefix("0O"))
    {
        i64::from_str_radix(digits, 8)
    } else if let Some(digits) = plain.strip_prefix("0x") {
        i64::from_str_radix(digits, 16)
    } else if plain.len() > 1 && plain.starts_with('0') {
        i64::from_str_radix(&plain, 8)
    } else {
        plain.parse()
    };
    parsed.map_or(Value::Unknown, Value::Number)
}
