//! Names that stand for one thing after another: of a list, or of what a listing finds.

use super::Language;
use super::evaluate::Value;
use super::scan::Token;
use super::walk::Walker;
use crate::words::lists;

/// Words in front of a name that make it one of its own.
const DECLARES: &str = "my our local const let var await function async do fn";
const EACH: &str = "each forEach map each_child each_entry each_with_index flatMap for_each filter \
    select array_map array_walk lapply sapply";

impl Walker<'_, '_, '_> {
    /// `for x in …`, `for (const x of …)`, `foreach (… as $x)`, `for my $x (…)`, `.each { |x| … }`.
    pub(super) fn iterate(&mut self, name: &str, at: usize) {
        let tokens = self.reader.tokens;
        let word = |place: usize, words: &str| matches!(tokens.get(place), Some(Token::Name(name)) if lists(words, name));
        let names = |from: usize, to: usize| {
            tokens.iter().take(to).skip(from).filter_map(|token| match token {
                Token::Name(name) if !lists(DECLARES, name) => Some(name.clone()),
                _ => None,
            })
        };
        let named = |from: usize, to: usize| names(from, to).next();
        if lists("for foreach", name) {
            let within = (at + 2..at + 8).find(|place| word(*place, "in of"));
            let found = match within {
                Some(within) if self.sign(within + 1, '(') => {
                    names(at + 1, within).next_back().zip(Some(self.listed(within + 1)))
                }
                Some(within) => {
                    // `for i, x in enumerate(…)`
                    names(at + 1, within)
                        .next_back()
                        .zip(Some(self.reader.expression(within + 1, 0).0))
                }
                None if self.language == Language::Php => {
                    let (value, end) = self.reader.expression(at + 2, 0);
                    named(end + 1, end + 3).filter(|_| word(end, "as")).zip(Some(value))
                }
                None if self.language == Language::Perl => {
                    let open = (at + 1..at + 4).find(|place| self.sign(*place, '('));
                    open.map(|open| {
                        let name = named(at + 1, open).unwrap_or_else(|| "$_".to_owned());
                        (name, self.listed(open))
                    })
                }
                None => None,
            };
            if let Some((name, value)) = found {
                self.stands_for(&name, &value);
            }
            return;
        }
        let (owner, last) = name.rsplit_once('.').unwrap_or(("", name));
        if !lists(EACH, last) {
            return;
        }
        self.take_group(name, at);
        if self.sign(at + 1, '(') {
            self.each_given(at + 1);
        }
        let value = match &self.receiver {
            Some((place, value)) if *place == at => Some(value.clone()),
            _ => self.reader.constants.get(owner).cloned(),
        };
        if let Some((name, value)) = named(at + 1, at + 6).zip(value) {
            self.stands_for(&name, &value);
        }
    }

    /// `array_map(fn($x) => …, ["a"])`, `Enum.each(["a"], &f/1)`: a list, and what is done with each.
    fn each_given(&mut self, open: usize) {
        let (args, end) = self.reader.arguments(open, 0);
        let Some(list) = args.into_iter().find(|value| matches!(value, Value::List(_))) else {
            return;
        };
        for at in open + 1..end {
            let ahead = |steps: usize| self.reader.tokens.get(at + steps);
            match (ahead(0), ahead(1), ahead(2)) {
                (Some(Token::Sign('&')), Some(Token::Name(name)), _) => {
                    for value in list.each().into_iter().take(8) {
                        self.act(name, &[value], at + 1, at + 2);
                    }
                }
                (Some(Token::Name(word)), Some(Token::Name(name)), _)
                | (Some(Token::Name(word)), Some(Token::Sign('(')), Some(Token::Name(name)))
                    if lists("fn lambda function", word) =>
                {
                    self.stands_for(name, &list);
                }
                _ => {}
            }
        }
    }

    fn listed(&mut self, open: usize) -> Value {
        let (items, _) = self.reader.arguments(open, 0);
        Value::List(items.iter().flat_map(Value::each).map(|item| item.text()).collect())
    }

    /// Takes the thing of this round; what a listing finds is all of it at once.
    pub(super) fn stands_for(&mut self, name: &str, value: &Value) {
        let item = match value {
            Value::List(items) => {
                self.rounds = self.rounds.max(items.len());
                items.get(self.round).or_else(|| items.last()).cloned()
            }
            Value::Text(text) if text.contains('*') => Some(text.clone()),
            _ => None,
        };
        if let Some(item) = item {
            // What stands in front of its loop is read in a second round.
            if self.reader.tokens.len() < 2000 {
                self.rounds = self.rounds.max(2);
            }
            self.reader.constants.insert(name.to_owned(), Value::Text(item));
        }
    }
}
