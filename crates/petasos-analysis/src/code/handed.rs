//! Calls that hand something over: a function by its name, a module that was required, a text that
//! is a command.

use super::calls;
use super::evaluate::Value;
use super::scan::Token;
use super::walk::Walker;
use super::{Language, verbs};
use crate::flow::guess::announces;
use crate::words::lists;

/// Words in the names of functions that run what they are given.
const RUNS: &str = "run exec execute command commands cmd shell sh system call spawn launch process popen \
    invoke send bash ssh perform task job script sudo local remote terminal capture subprocess proc";

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

    /// A text that is a command, given to a function of which nothing is known.
    pub(super) fn hand_over(&mut self, name: &str, args: &[Value]) {
        let runs = verbs::words(name).iter().any(|word| lists(RUNS, word));
        if !runs || calls::action(name).is_some() {
            return;
        }
        for value in args.iter().take(4) {
            let Value::Text(text) = value else { continue };
            let mut words = text.split_whitespace();
            let first = words.next().unwrap_or_default();
            if announces(first, words.next().unwrap_or_default()) {
                self.shell(text.clone());
            }
        }
    }

    /// The function that is called by its name: `send(:system, …)`, `call_user_func("system", …)`.
    pub(super) fn sent(&self, name: &str, open: usize) -> Option<String> {
        let last = name.rsplit('.').next().unwrap_or_default();
        if !lists("send __send__ public_send call_user_func call_user_func_array", last) {
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
