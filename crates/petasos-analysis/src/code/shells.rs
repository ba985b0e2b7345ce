//! Shells with a grammar of their own (fish, csh, nu, …), read loosely: statements are cut at
//! separators, keywords are taken off, plain variables are filled in, every command is looked at.

use crate::flow::engine::Engine;
use crate::flow::report::Deed;
use crate::flow::value::Arg;
use crate::shell::normalise::UNKNOWN;
use crate::words::lists;
use std::collections::HashMap;

/// Words in front of a command that say when it runs.
const KEYWORDS: &str = "begin end if else elif while until not and or do done then fi { } loop try catch \
    time builtin command noglob nocorrect repeat let mut const def each par-each endif breaksw default: \
    foreach for function switch case";
/// So many statements and values of a variable are followed.
const STATEMENTS_MAX: usize = 512;
const VALUES_MAX: usize = 8;

struct Reading<'w, 'e> {
    engine: &'w mut Engine<'e>,
    code: &'w Arg,
    variables: HashMap<String, Vec<String>>,
    aliases: HashMap<String, Vec<String>>,
    left: usize,
}

/// Looks at every command of a text.
pub(crate) fn run(engine: &mut Engine<'_>, code: &Arg) {
    let (variables, aliases) = (HashMap::new(), HashMap::new());
    Reading { engine, code, variables, aliases, left: STATEMENTS_MAX }.text(&code.text, 0);
}

impl Reading<'_, '_> {
    fn text(&mut self, text: &str, nesting: u32) {
        for words in statements(text, false) {
            let size = words.iter().map(String::len).sum::<usize>() + 400;
            if nesting > 8 || self.left == 0 || !self.engine.charge(size, self.code.span) {
                return;
            }
            self.left -= 1;
            self.statement(words, nesting);
        }
    }

    fn statement(&mut self, mut words: Vec<String>, nesting: u32) {
        self.substitute(&mut words, nesting);
        while let Some(first) = words.first().cloned() {
            match first.as_str() {
                "for" | "foreach" => {
                    let name = words.get(1).cloned().unwrap_or_default();
                    let listed = words.iter().position(|word| matches!(word.as_str(), "in" | "("));
                    let from = listed.map_or(words.len(), |at| at + 1);
                    let end = words.iter().position(|word| word == ")").unwrap_or(words.len());
                    let items: Vec<String> =
                        words.drain(..end.max(from).min(words.len())).collect();
                    let items = items.get(from..).unwrap_or_default().to_vec();
                    self.variables.insert(name, items);
                }
                "function" | "switch" | "case" | "def" => return,
                "repeat" => drop(words.drain(..2.min(words.len()))),
                word if lists(KEYWORDS, word) || matches!(word, "(" | ")") => {
                    words.remove(0);
                    // A condition in parentheses is no command.
                    if lists("if while", word) && words.first().is_some_and(|word| word == "(") {
                        let end = words.iter().position(|word| word == ")");
                        words.drain(..end.map_or(words.len(), |end| end + 1));
                    }
                }
                _ => break,
            }
        }
        match words.first().map(String::as_str) {
            None => {}
            Some("set" | "let" | "mut" | "setenv" | "set-env") => self.assign(&words),
            Some("alias" | "abbr") => self.alias(&words),
            Some("source" | ".") if words.len() == 2 => {
                let path = words.get(1).map(|file| self.engine.resolve(file)).unwrap_or_default();
                let held = self.engine.held(&path).and_then(|held| held.text);
                self.text(&held.unwrap_or_default(), nesting + 1);
            }
            Some("eval" | "source" | ".") if words.len() > 1 => {
                let rest = words.iter().skip(1).flat_map(|word| self.filled(word));
                let rest = rest.collect::<Vec<_>>().join(" ");
                self.text(&rest, nesting + 1);
            }
            _ => self.command(words),
        }
    }

    fn assign(&mut self, words: &[String]) {
        // `set -g f -rf`: behind the name an option is a value.
        let mut rest = words.iter().skip(1).skip_while(|word| word.starts_with('-'));
        let Some(name) = rest.next() else { return };
        let (name, first) = name.split_once('=').unwrap_or((name, ""));
        let first = Some(first.to_owned()).filter(|value| !value.is_empty());
        let values = rest.filter(|word| !matches!(word.as_str(), "=" | "(" | ")")).cloned();
        self.variables.insert(name.to_owned(), first.into_iter().chain(values).collect());
    }

    fn alias(&mut self, words: &[String]) {
        let rest: Vec<String> = words
            .iter()
            .skip(1)
            .filter(|word| !matches!(word.as_str(), "-s" | "="))
            .cloned()
            .collect();
        let Some((name, body)) = rest.split_first() else { return };
        let (name, first) = name.split_once('=').unwrap_or((name, ""));
        let body = std::iter::once(first.to_owned()).chain(body.iter().cloned());
        let words =
            body.flat_map(|word| word.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        self.aliases.insert(name.to_owned(), words.collect());
    }

    /// `(echo x)` is `x`; any other substitution is run, and what it prints is not known.
    fn substitute(&mut self, words: &mut Vec<String>, nesting: u32) {
        if words.first().is_some_and(|word| lists("for foreach if while switch else", word)) {
            return;
        }
        while let Some(close) = words.iter().position(|word| word == ")") {
            let open = words.iter().take(close).rposition(|word| word == "(");
            let Some(open) = open.filter(|open| *open > 0) else { return };
            let inner: Vec<String> = words.drain(open..=close).collect();
            let inner = inner.get(1..inner.len() - 1).unwrap_or_default().to_vec();
            let printed = match inner.split_first() {
                Some((first, rest)) if lists("echo printf string", first) => rest.to_vec(),
                _ => {
                    self.statement(inner, nesting + 1);
                    vec![UNKNOWN.to_string()]
                }
            };
            words.splice(open..open, printed);
        }
    }

    fn command(&mut self, words: Vec<String>) {
        let mut argv: Vec<String> = Vec::new();
        // `${ command; }` of ksh.
        for (_, code) in words.iter().filter_map(|word| word.split_once("$ ")) {
            self.text(code, 8);
        }
        for word in words {
            argv.extend(self.filled(&word));
        }
        if let Some(body) = argv.first().and_then(|first| self.aliases.get(first)) {
            let body = body.clone();
            argv.splice(..1, body);
        }
        let mut args = Vec::new();
        let mut rest = argv.into_iter();
        while let Some(word) = rest.next() {
            let arg = |text: &str| Arg { glob: text.contains('*'), ..self.code.with_text(text) };
            if lists("> >> ^ out> save", &word) && (!args.is_empty() || word == "save") {
                if let Some(path) = rest.find(|word| !word.starts_with('-')) {
                    let resolved = self.engine.resolve(&path);
                    self.engine.touch_path(Deed::Write, &arg(&path), &resolved);
                }
            } else {
                args.push(arg(&word));
            }
        }
        self.engine.dispatch(&args, self.code.span, &[]);
    }

    /// A word with its variable filled in, split where it holds several words.
    fn filled(&self, word: &str) -> Vec<String> {
        let Some((head, tail)) = word.split_once('$') else { return vec![word.to_owned()] };
        let tail = tail.trim_start_matches('{');
        // `${(z):-words}` of zsh: flags, no name, and what stands for it.
        let flagged = tail.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        if let Some(words) = flagged.map_or(tail, |(_, rest)| rest).strip_prefix(":-") {
            return words.split_whitespace().map(|word| word.replace('"', "")).collect();
        }
        let end = tail.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let (name, after) = tail.split_at_checked(end.unwrap_or(tail.len())).unwrap_or((tail, ""));
        let Some(values) = self.variables.get(name) else {
            return vec![if name.eq_ignore_ascii_case("home") {
                format!("{head}{}{after}", self.engine.home())
            } else {
                format!("{head}{UNKNOWN}{after}")
            }];
        };
        let after = after.trim_start_matches('}');
        let words = values.iter().take(VALUES_MAX).flat_map(|value| value.split_whitespace());
        words.map(|value| format!("{head}{value}{after}")).collect()
    }
}

/// The words of every statement; quotes are taken off. Parentheses stand alone, but in the texts of
/// `windows`, where they part words as commas do and a backslash is a letter.
pub(super) fn statements(text: &str, windows: bool) -> Vec<Vec<String>> {
    let mut found = vec![Vec::new()];
    let mut word = String::new();
    let mut quote = None;
    let mut letters = text.chars().peekable();
    let mut started = false;
    while let Some(letter) = letters.next() {
        let apart = match (quote, letter) {
            (None, '\'' | '"') => {
                quote = Some(letter);
                started = true;
                continue;
            }
            (Some(open), _) if open == letter => {
                quote = None;
                continue;
            }
            (None, '\\') if !windows => {
                word.extend(letters.next());
                continue;
            }
            (Some(_), _) => false,
            (None, ';' | '|' | '&' | '\n' | '{' | '}') => true,
            (None, '[' | ']') => !windows,
            (None, ',') => windows,
            (None, '(' | ')' | ' ' | '\t') => true,
            (None, _) => false,
        };
        if !apart {
            word.push(letter);
            continue;
        }
        // `${x}` and `$[cmd]` are not taken apart at their sign.
        if letter == '{' && word.ends_with('$') && !windows {
            word.extend(std::iter::from_fn(|| letters.next_if(|next| *next != '}')));
            letters.next();
            continue;
        }
        let whole = std::mem::take(&mut word);
        let whole =
            if windows { whole } else { whole.trim_end_matches(['$', '!', '@']).to_owned() };
        if let Some(last) = found.last_mut() {
            if !whole.is_empty() || started {
                last.push(whole);
            }
            if matches!(letter, '(' | ')') && !windows {
                last.push(letter.to_string());
            }
        }
        started = false;
        if !matches!(letter, '(' | ')' | ' ' | '\t' | ',') {
            found.push(Vec::new());
        }
    }
    if let Some(last) = found.last_mut().filter(|_| !word.is_empty() || started) {
        last.push(word);
    }
    found.retain(|words| !words.is_empty());
    found
}
