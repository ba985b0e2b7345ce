//! Calls that hand something over: a function by its name, a module that was required, a text that
//! is a command.

use super::calls::{self, Action};
use super::evaluate::Value;
use super::scan::Token;
use super::walk::Walker;
use super::{Language, verbs};
use crate::flow::guess::announces;
use crate::rule::Signal;
use crate::shell::normalise::UNKNOWN;
use crate::sql;
use crate::words::{holds, lists};

/// Words in the names of functions that run what they are given.
const RUNS: &str = "run exec execute command commands cmd shell sh system call spawn launch process popen \
    invoke send bash ssh perform task job script sudo local remote terminal capture subprocess proc";

/// Words in names that start programs, and in names of what only shows, keeps or compares a text.
const STARTS: &str =
    "system exec spawn popen subprocess shell execsync child_process process command";
const SHOWS: &str = "print println puts log warn error info debug write append push add match test search compile \
    replace split join dumps stringify encode quote escape parse includes contains index starts ends equal assert \
    expect count len format raise exception echo die strip sub gsub scan find in not and or if like message say";

/// Whether words are a command that does harm.
fn is_command<'a>(mut words: impl Iterator<Item = &'a str>) -> bool {
    let first = words.next().unwrap_or_default();
    announces(first.rsplit('/').next().unwrap_or(first), words.next().unwrap_or_default())
}

impl Walker<'_, '_, '_> {
    /// Calls that name what they call in an argument or in their own name.
    pub(super) fn by_other_name(
        &mut self,
        name: &str,
        args: &[Value],
        place: (usize, usize, usize),
    ) -> bool {
        let (at, open, end) = place;
        let verb =
            name.rsplit_once("git.").filter(|(head, _)| head.is_empty() || head.ends_with('.'));
        if let Some((_, verb)) = verb.filter(|(_, verb)| !verb.contains('.')) {
            let words = args.iter().map(Value::text);
            let argv = ["git".to_owned(), verb.replace('_', "-")].into_iter().chain(words);
            self.program(argv.collect());
            return true;
        }
        if let Some(method) = self.sent(name, open) {
            let rest = args.get(1..).unwrap_or_default().to_vec();
            self.act(&method, &rest, at, end);
            return true;
        }
        if let Some(program) =
            name.strip_prefix("sh.").filter(|_| self.language == Language::Python)
        {
            let words = args.iter().map(Value::text);
            self.program(std::iter::once(program.to_owned()).chain(words).collect());
            return true;
        }
        if name == "getattr" && self.sign(end, '(') {
            let method = args.get(1).map(Value::text).unwrap_or_default();
            let (inner, _) = self.reader.arguments(end, 0);
            self.act(&format!("os.{method}"), &inner, at, end);
            return true;
        }
        false
    }

    /// `require("rimraf").sync("x")`: a method of what was required.
    pub(super) fn required(&mut self, module: &str, at: usize) {
        let Some(Token::Name(method)) = self.reader.tokens.get(at).cloned() else { return };
        if self.sign(at + 1, '(') && lists("rimraf del trash rmtree", module) {
            let (args, end) = self.reader.arguments(at + 1, 0);
            self.act(&format!("{module}{method}"), &args, at, end);
        }
    }

    /// A text that is a command, or words that are one, given to a function of which nothing is
    /// known.
    pub(super) fn hand_over(&mut self, name: &str, args: &[Value], at: usize, end: usize) {
        let last = name.rsplit(['.', '>', ':']).next().unwrap_or_default();
        let address = args.iter().find_map(|value| match value {
            Value::Text(text) if text.starts_with("http") => Some(text),
            Value::Text(text) if text.starts_with('/') && self.seen.network => Some(text),
            _ => None,
        });
        let remote = address.is_some_and(|text| !holds("//localhost //127.", text));
        if remote && last.eq_ignore_ascii_case("delete") {
            self.engine.report.signal(Signal::CloudDelete, self.span, name);
        }
        let asks = verbs::words(last).iter().any(|word| lists("query exec execute sql raw", word));
        let statement = args.iter().map(Value::text).find(|text| sql::is_destructive(text));
        if let Some(text) = statement.filter(|_| asks) {
            self.engine.report.signal(Signal::DestructiveSql, self.span, text);
        }
        let runs = verbs::words(name)
            .iter()
            .any(|word| lists(RUNS, word.trim_end_matches(char::is_numeric)));
        if !runs || calls::action(name).is_some() && self.language != Language::Other {
            return;
        }
        for value in args.iter().take(4) {
            let Value::Text(text) = value else { continue };
            if is_command(text.split_whitespace()) {
                self.shell(text.clone());
            }
        }
        // Lists are built by calls in some languages.
        let tokens = self.reader.tokens.iter().take(end.max(at + 10)).skip(at);
        let words: Vec<String> = tokens
            .take_while(|token| !matches!(token, Token::Sign(';' | '\n')))
            .filter_map(|token| token.text().map(str::to_owned))
            .collect();
        if words.len() > 1 && is_command(words.iter().map(String::as_str)) {
            self.program(words);
        }
    }

    /// A text that may be run, where it is a command that does harm.
    pub(super) fn hand(&mut self, text: &str) {
        if is_command(text.split_whitespace()) {
            self.shell(text.to_owned());
        }
    }

    /// Commands in the text of a program that starts some, where no call accounts for them: a name
    /// that is built, a function that is handed on. What is printed or compared is no command.
    pub(super) fn unaccounted(&mut self) {
        let tokens = self.reader.tokens;
        let runner = |token: &Token| match token {
            Token::Name(name) | Token::Text(name)
                if !name.contains(' ') && !name.starts_with("process.") =>
            {
                verbs::words(name).iter().any(|word| lists(STARTS, word))
            }
            _ => false,
        };
        if !tokens.iter().any(runner) {
            return;
        }
        for (at, token) in tokens.iter().enumerate() {
            let Token::Text(text) = token else { continue };
            let before = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at));
            let shown = |token: Option<&Token>| matches!(token, Some(Token::Name(name)) if verbs::words(name).iter().any(|word| lists(SHOWS, word)));
            let pattern = matches!(before(2), Some(Token::Name(name)) if name == ".exec")
                && before(3) == Some(&Token::Sign('/'));
            let kept = matches!(before(1), Some(Token::Sign('=' | ':')));
            if (1..=3).any(|back| shown(before(back))) || kept || pattern {
                continue;
            }
            let behind = tokens.iter().skip(at).take(16);
            let listed = behind
                .take_while(|token| !matches!(token, Token::Sign(')' | ';' | '\n')))
                .filter_map(|token| token.text().map(str::to_owned));
            let mut listed: Vec<String> = listed.collect();
            if listed.iter().skip(1).all(|word| word.starts_with('-')) {
                listed.push(UNKNOWN.to_string());
            }
            if is_command(text.split_whitespace()) {
                self.shell(text.clone());
            } else if listed.len() > 1 && is_command(listed.iter().map(String::as_str)) {
                self.program(listed);
            }
        }
    }

    /// `map(shutil.rmtree, ["x"])`, `forEach(fs.unlinkSync)`: a function that is handed over, with
    /// what it will be given where that follows.
    pub(super) fn passed_on(&mut self, name: &str, at: usize) {
        if !name.contains('.') || !self.sign(at + 1, ',') && !self.sign(at + 1, ')') {
            return;
        }
        let each = at > 1
            && self.sign(at + 1, ')')
            && matches!(self.reader.tokens.get(at - 2), Some(Token::Name(outer)) if lists("forEach map each", outer.rsplit('.').next().unwrap_or_default()));
        let action = calls::action(name);
        let runs = matches!(action, Some(Action::Command | Action::Program));
        if !runs && !matches!(action, Some(Action::DeleteTree | Action::Delete)) {
            return;
        }
        if each {
            self.act(name, &[], at, at + 1);
        } else if self.sign(at + 1, ',') {
            let (given, _) = self.reader.loose_items(at + 2, 0);
            let words = |value: &Value| matches!(value, Value::List(items) if !items.iter().any(|item| item.contains(' ')));
            if runs && given.first().is_some_and(words) {
                self.act(name, &given, at, at + 1);
                return;
            }
            for value in given.iter().flat_map(Value::each).take(8) {
                self.act(name, &[value], at, at + 1);
            }
        }
    }

    /// The function that is called by its name: `send(:system, …)`, `call_user_func("system", …)`.
    pub(super) fn sent(&self, name: &str, open: usize) -> Option<String> {
        let last = name.rsplit('.').next().unwrap_or_default();
        if !lists("send __send__ public_send call_user_func call_user_func_array", last)
            && name != "do.call"
        {
            return None;
        }
        let at = open + 1 + usize::from(self.sign(open + 1, ':'));
        match self.reader.tokens.get(at) {
            Some(Token::Name(method) | Token::Text(method)) => {
                calls::action(method).map(|_| method.clone())
            }
            _ => None,
        }
    }
}
