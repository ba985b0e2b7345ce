//! Text that program text works out from numbers, lists and formats. Only what can be
//! seen in full is worked out; everything else stays unknown.

use super::evaluate::{Reader, Value};
use super::scan::{NAME_CLOSE, NAME_OPEN, Token};
use crate::flow::decode;
use crate::flow::printf::unescape;
use crate::path;
use crate::shell::normalise::UNKNOWN;
use crate::words::lists;

/// Whether a function or a property of that name is the home of the user.
pub(super) fn is_home(last: &str) -> bool {
    let plain: String = last.chars().filter(char::is_ascii_alphanumeric).collect();
    lists(
        "homedir userhome userhomedir gethomedir gethomedirectory homedirectory nshomedirectory myhome \
        homedirectoryforcurrentuser pwdir userhomedirpathname gethome userhomepath",
        &plain.to_ascii_lowercase(),
    )
}

/// The letters with these codes.
fn letters<'v>(codes: impl Iterator<Item = &'v str>) -> Option<Vec<String>> {
    codes
        .map(|code| {
            let code = code.trim().parse::<u32>().ok()?;
            char::from_u32(code).map(String::from)
        })
        .collect()
}

/// The letters that a list of codes stands for, or that many codes in a row do.
pub(super) fn from_codes(values: &[Value]) -> Value {
    let mut found = Vec::new();
    for value in values {
        let more = match value {
            Value::List(items) => letters(items.iter().map(String::as_str)),
            Value::Number(code) => letters([code.to_string().as_str()].into_iter()),
            _ => None,
        };
        match more {
            Some(more) if found.len() < 4096 => found.extend(more),
            _ => return Value::Unknown,
        }
    }
    if found.is_empty() { Value::Unknown } else { Value::List(found) }
}

/// The same as one text.
pub(super) fn text_from_codes(values: &[Value]) -> Value {
    match from_codes(values) {
        Value::List(items) => Value::Text(items.concat()),
        _ => Value::Unknown,
    }
}

/// `%s`, `%c` and `%d` replaced by what follows.
pub(super) fn formatted(format: &str, values: &[Value]) -> Value {
    let mut values = values.iter();
    let mut output = String::new();
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            output.push(letter);
            continue;
        }
        match letters.next() {
            Some('%') => output.push('%'),
            Some('c') => match values.next() {
                Some(Value::Number(code)) => {
                    let code = u32::try_from(*code).ok().and_then(char::from_u32);
                    output.push(code.unwrap_or(UNKNOWN));
                }
                value => output.push_str(&value.map_or(UNKNOWN.to_string(), Value::text)),
            },
            Some('s' | 'd' | 'i' | 'v') => {
                output.push_str(&values.next().map_or(UNKNOWN.to_string(), Value::text));
            }
            _ => output.push(UNKNOWN),
        }
    }
    Value::Text(output)
}

/// `{}` and `{0}` replaced by what is given.
pub(super) fn braced(format: &str, values: &[Value]) -> Value {
    let mut output = String::new();
    let mut rest = format;
    let mut next = 0;
    while let Some((head, tail)) = rest.split_once('{') {
        output.push_str(head);
        let Some((inner, after)) = tail.split_once('}') else { break };
        let at = inner.parse().unwrap_or(next);
        next += 1;
        output.push_str(&values.get(at).map_or(UNKNOWN.to_string(), Value::text));
        rest = after;
        if output.len() > 1 << 14 {
            return Value::Unknown;
        }
    }
    output.push_str(rest);
    Value::Text(output)
}

fn percent_decoded(text: &str) -> String {
    unescape(&text.replace('\\', "\\\\").replace('%', "\\x"), true)
}

impl Reader<'_> {
    /// A name that stands for known text without being a variable.
    pub(super) fn well_known(
        &mut self,
        name: &str,
        at: usize,
        nesting: u32,
    ) -> Option<(Value, usize)> {
        let last = name.rsplit(['.', ':']).next().unwrap_or_default();
        if lists("os.sep os.path.sep path.sep File::SEPARATOR DIRECTORY_SEPARATOR", name) {
            return Some((Value::Text("/".to_owned()), at + 1));
        }
        let descriptor = matches!(
            (self.tokens.get(at + 1), self.tokens.get(at + 2)),
            (Some(Token::Sign('(')), Some(Token::Number(zero) | Token::Text(zero)))
                if matches!(zero.as_str(), "0" | "/dev/stdin" | "php://stdin")
        );
        let reads = name.contains("stdin")
            || descriptor && lists("readFileSync file_get_contents open", last)
            || name.contains("STDIN")
            || matches!(name, "input" | "gets" | "raw_input");
        if reads && (descriptor || lists("read readline gets input raw_input", last)) {
            let end =
                if self.opens(at + 1) { self.arguments(at + 1, nesting + 1).1 } else { at + 1 };
            let text = self.stdin.as_deref().map(|text| match last {
                "read" | "readFileSync" | "file_get_contents" => text.trim_end_matches('\n'),
                _ => text.lines().next().unwrap_or_default(),
            });
            return Some((text.map_or(Value::Unknown, |text| Value::Text(text.to_owned())), end));
        }
        if name == "map" {
            return self.mapped(at, nesting + 1);
        }
        if name == "chr" {
            return self.comprehended(at, nesting + 1);
        }
        None
    }

    fn opens(&self, at: usize) -> bool {
        self.tokens.get(at) == Some(&Token::Sign('('))
    }

    fn is_name(&self, at: usize, name: &str) -> bool {
        matches!(self.tokens.get(at), Some(Token::Name(found)) if found == name)
    }

    /// `map(chr, [1, 2])` and `map { chr } (1, 2)`.
    fn mapped(&mut self, at: usize, nesting: u32) -> Option<(Value, usize)> {
        if self.opens(at + 1) && self.is_name(at + 2, "chr") {
            let (args, end) = self.arguments(at + 1, nesting);
            return Some((from_codes(args.get(1..).unwrap_or_default()), end));
        }
        if self.tokens.get(at + 1) == Some(&Token::Sign('{')) && self.is_name(at + 2, "chr") {
            let open = (at + 3..at + 9).find(|place| self.opens(*place))?;
            let (args, end) = self.arguments(open, nesting);
            return Some((from_codes(&args), end));
        }
        None
    }

    /// `chr(x) for x in [1, 2]`.
    fn comprehended(&mut self, at: usize, nesting: u32) -> Option<(Value, usize)> {
        let within = self.opens(at + 1)
            && self.is_name(at + 4, "for")
            && self.is_name(at + 6, "in")
            && self.tokens.get(at + 2) == self.tokens.get(at + 5);
        if !within {
            return None;
        }
        let list = match self.tokens.get(at + 7) {
            Some(Token::Sign('(')) => {
                let (args, end) = self.arguments(at + 7, nesting);
                (from_codes(&args), end)
            }
            _ => {
                let (value, end) = self.expression(at + 7, nesting);
                (from_codes(&[value]), end)
            }
        };
        Some(list)
    }

    /// Functions that put text together; `None` for all others.
    pub(super) fn computed(&mut self, name: &str, last: &str, args: &[Value]) -> Option<Value> {
        if let Some(value) = parted(name, args.first()) {
            return Some(value);
        }
        let first = args.first().cloned().unwrap_or(Value::Unknown);
        let rest = args.get(1..).unwrap_or_default();
        Some(match last {
            "reversed" | "strrev" | "reverse" => match first {
                Value::Text(text) => Value::Text(text.chars().rev().collect()),
                Value::List(items) => Value::List(items.into_iter().rev().collect()),
                _ => Value::Unknown,
            },
            "scalar" => first,
            "implode" => joined(&first, rest),
            "join" if name == "join" && self.loose => joined(&first, rest),
            "chr" | "fromCharCode" => text_from_codes(args),
            "apply" if name.contains("fromCharCode") => text_from_codes(rest),
            "bytes" | "bytearray" if matches!(first, Value::List(_)) => text_from_codes(args),
            "pack" if first.text().starts_with(['C', 'c', 'U', 'W']) => text_from_codes(rest),
            "array_map" if first.text() == "chr" => from_codes(rest),
            "sprintf" => formatted(&first.text(), rest),
            "glob" | "iglob" | "globSync" => first,
            // Entries that know their folder, or names without it.
            "scandir" if name != last => Value::Text(format!("{}/*", first.text())),
            "listdir" | "readdirSync" | "readdir" | "scandir" | "children" => {
                Value::Text("*".to_owned())
            }
            "c" if self.labelled => Value::List(args.iter().map(Value::text).collect()),
            "ipairs" | "pairs" | "enumerate" | "sorted" | "list" | "tuple" | "set" | "iter" => {
                first
            }
            "gettempdir" | "tmpdir" => Value::Text("/tmp".to_owned()),
            "mkdtemp" | "mktmpdir" if args.is_empty() => Value::Text(path::FRESH.to_owned()),
            "str_rot13" => Value::Text(decode::rot13(&first.text())),
            "unescape" | "decodeURIComponent" | "unquote" | "urldecode" | "rawurldecode" => {
                self.decoded = true;
                Value::Text(percent_decoded(&first.text()))
            }
            "new" if matches!(name, "Pathname.new" | "File.new" | "Dir.new") => first,
            _ => return None,
        })
    }

    /// Text with the variables that are named in it.
    pub(super) fn interpolated(&self, text: &str) -> String {
        if !text.contains(['$', NAME_OPEN]) {
            return text.to_owned();
        }
        let mut text = text.replace("$ENV{HOME}", &self.home).replace("$HOME", &self.home);
        for (name, value) in self.constants.iter().take(32) {
            if name.starts_with('$')
                && let Value::Text(value) = value
            {
                text = text.replace(name.as_str(), value);
            }
        }
        if !text.contains(NAME_OPEN) {
            return text;
        }
        let mut output = String::new();
        let mut rest = text.as_str();
        while let Some((head, tail)) = rest.split_once(NAME_OPEN) {
            output.push_str(head);
            let (name, after) = tail.split_once(NAME_CLOSE).unwrap_or((tail, ""));
            match self.constants.get(name) {
                Some(value) if output.len() < 1 << 14 => output.push_str(&value.text()),
                _ => output.push(UNKNOWN),
            }
            rest = after;
        }
        output.push_str(rest);
        output
    }
}

fn joined(separator: &Value, rest: &[Value]) -> Value {
    let items = rest.iter().flat_map(Value::each).map(|item| item.text());
    Value::Text(items.collect::<Vec<_>>().join(&separator.text()))
}

/// The directory of a path, and the words of a command that is given as one text.
fn parted(name: &str, first: Option<&Value>) -> Option<Value> {
    let Some(Value::Text(text)) = first else { return None };
    if name == "shlex.split" {
        return Some(Value::List(text.split_whitespace().map(str::to_owned).collect()));
    }
    let parent =
        text.trim_end_matches('/').rsplit_once('/').filter(|_| name.ends_with("dirname"))?.0;
    Some(Value::Text(if parent.is_empty() { "/" } else { parent }.to_owned()))
}

pub(super) fn concatenated(left: &Value, right: &Value, between: &str) -> Value {
    match (left, right) {
        (Value::List(left), Value::List(right)) => {
            Value::List(left.iter().chain(right).cloned().collect())
        }
        (Value::Number(left), Value::Number(right)) if between.is_empty() => {
            Value::Number(left.saturating_add(*right))
        }
        _ => {
            let text = format!("{}{between}{}", left.text(), right.text());
            if text.len() > 1 << 16 { Value::Unknown } else { Value::Text(text) }
        }
    }
}

pub(super) fn method(name: &str, value: &Value, args: &[Value]) -> Value {
    match (name.trim_start_matches('.'), value) {
        ("join", Value::Text(separator)) if matches!(args, [Value::List(_)]) => {
            let items = args.iter().flat_map(Value::each).map(|item| item.text());
            Value::Text(items.collect::<Vec<_>>().join(separator))
        }
        // `Pathname("/").join("etc")`
        ("join" | "joinpath" | "join_path", Value::Text(_)) if !args.contains(&Value::Unknown) => {
            args.iter().fold(value.clone(), |value, arg| concatenated(&value, arg, "/"))
        }
        (
            "rglob" | "glob" | "iterdir" | "children" | "each_child" | "entries",
            Value::Text(root),
        ) => Value::Text(format!("{root}/*")),
        ("listdir" | "readdirSync" | "readdir" | "scandir", _) => Value::Text("*".to_owned()),
        ("join", Value::List(items)) => {
            let separator = args.first().map_or_else(|| ",".to_owned(), Value::text);
            Value::Text(items.join(&separator))
        }
        ("split", Value::Text(text)) => {
            let separator = args.first().map(Value::text);
            let items: Vec<String> = match separator {
                Some(separator) if separator.is_empty() => {
                    text.chars().take(4096).map(String::from).collect()
                }
                Some(separator) => text.split(separator.as_str()).map(str::to_owned).collect(),
                None => text.split_whitespace().map(str::to_owned).collect(),
            };
            Value::List(items)
        }
        ("replace", Value::Text(text)) => match args {
            [from, to, ..] => Value::Text(text.replace(&from.text(), &to.text())),
            _ => Value::Unknown,
        },
        ("chars", Value::Text(text)) => {
            Value::List(text.chars().take(4096).map(String::from).collect())
        }
        ("reverse", Value::List(items)) => Value::List(items.iter().rev().cloned().collect()),
        ("reverse", Value::Text(text)) => Value::Text(text.chars().rev().collect()),
        ("lower" | "toLowerCase" | "downcase", Value::Text(text)) => {
            Value::Text(text.to_lowercase())
        }
        (
            "expanduser" | "expand_path" | "resolve" | "absolute" | "decode" | "encode" | "strip"
            | "toString" | "to_s" | "trim" | "chomp",
            _,
        ) => value.clone(),
        ("concat", Value::Text(_)) => {
            args.iter().fold(value.clone(), |value, arg| concatenated(&value, arg, ""))
        }
        _ => Value::Unknown,
    }
}
