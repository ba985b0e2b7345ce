//! Names that stand for one thing after another: of a list, or of what a listing finds.

use super::Language;
use super::evaluate::Value;
use super::scan::Token;
use super::walk::Walker;
use crate::words::lists;

/// Words in front of a name that make it one of its own.
const DECLARES: &str = "my our local const let var await function async do fn";
const EACH: &str =
    "each forEach map each_child each_entry each_with_index flatMap for_each filter select";

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
                Some(within) => {
                    let value = self.reader.expression(within + 1, 0).0;
                    // `for i, x in enumerate(…)`
                    names(at + 1, within).last().zip(Some(value))
                }
                None if self.language == Language::Php => {
                    let (value, end) = self.reader.expression(at + 2, 0);
                    named(end + 1, end + 3).filter(|_| word(end, "as")).zip(Some(value))
                }
                None if self.language == Language::Perl => {
                    let open = (at + 1..at + 4).find(|place| self.sign(*place, '('));
                    open.map(|open| {
                        let name = named(at + 1, open).unwrap_or_else(|| "$_".to_owned());
                        let (items, _) = self.reader.arguments(open, 0);
                        let items = items.iter().flat_map(Value::each);
                        (name, Value::List(items.map(|item| item.text()).collect()))
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
        let value = match &self.receiver {
            Some((place, value)) if *place == at => Some(value.clone()),
            _ => self.reader.constants.get(owner).cloned(),
        };
        if let Some((name, value)) = named(at + 1, at + 6).zip(value) {
            self.stands_for(&name, &value);
        }
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
