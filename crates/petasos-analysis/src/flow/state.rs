//! What the shell remembers between commands. Changes made inside a subshell are
//! undone from a journal when it ends, so that a subshell costs nothing to enter.

use super::value::{Arg, Stream, Value};
use crate::shell::tree::{Script, Steps};
use std::collections::HashMap;
use std::rc::Rc;

/// A function body with the text it points into.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) script: Rc<Script>,
    pub(crate) body: Steps,
}

#[derive(Debug)]
enum Undo {
    Variable(Box<str>, Option<Value>),
    Function(Box<str>, Option<Function>),
    Alias(Box<str>, Option<String>),
}

/// Marks a point to return to.
#[derive(Debug)]
pub(crate) struct Mark {
    length: usize,
    cwd: Option<String>,
    positional: Option<Rc<Vec<Arg>>>,
    lastpipe: bool,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    variables: HashMap<Box<str>, Value>,
    functions: HashMap<Box<str>, Function>,
    aliases: HashMap<Box<str>, String>,
    /// Files written by this command line, with what they then hold.
    pub(crate) files: HashMap<String, Stream>,
    pub(crate) cwd: Option<String>,
    /// `$1`…; `None` while they are those of whoever runs the line.
    pub(crate) positional: Option<Rc<Vec<Arg>>>,
    /// The last command of a pipe runs in this shell.
    pub(crate) lastpipe: bool,
    journal: Vec<Undo>,
    scopes: u32,
}

impl State {
    pub(crate) fn enter(&mut self) -> Mark {
        self.scopes += 1;
        Mark {
            length: self.journal.len(),
            cwd: self.cwd.clone(),
            positional: self.positional.clone(),
            lastpipe: self.lastpipe,
        }
    }

    pub(crate) fn leave(&mut self, mark: Mark) {
        self.scopes = self.scopes.saturating_sub(1);
        self.rewind(mark.length);
        self.cwd = mark.cwd;
        self.positional = mark.positional;
        self.lastpipe = mark.lastpipe;
    }

    /// Scopes and branches around the current command.
    pub(crate) fn depth(&self) -> u32 {
        self.scopes
    }

    /// Ends a scope whose changes stay, such as that of `eval`.
    pub(crate) fn keep(&mut self, mark: &Mark) {
        self.scopes = self.scopes.saturating_sub(1);
        if self.scopes == 0 {
            self.journal.truncate(mark.length);
        }
    }

    /// Gives a variable back the value it had.
    pub(crate) fn restore(&mut self, name: &str, old: Option<Value>) {
        match old {
            Some(old) => self.set(name, old),
            None => {
                let now = self.variables.remove(name);
                if self.scopes > 0 {
                    self.journal.push(Undo::Variable(name.into(), now));
                }
            }
        }
    }

    fn rewind(&mut self, length: usize) {
        while self.journal.len() > length {
            match self.journal.pop() {
                Some(Undo::Variable(name, old)) => put(&mut self.variables, name, old),
                Some(Undo::Function(name, old)) => put(&mut self.functions, name, old),
                Some(Undo::Alias(name, old)) => put(&mut self.aliases, name, old),
                None => break,
            }
        }
    }

    /// Starts a branch that may not run; pair with [`State::join`].
    pub(crate) fn branch(&mut self) -> usize {
        self.scopes += 1;
        self.journal.len()
    }

    /// Ends a branch: what it changed may be either value from now on.
    pub(crate) fn join(&mut self, start: usize) {
        self.scopes = self.scopes.saturating_sub(1);
        // Values overwritten on the way are values the variable may have kept.
        for undo in self.journal.iter().skip(start).take(256) {
            let Undo::Variable(name, Some(old)) = undo else { continue };
            let Some(now) = self.variables.get_mut(name) else { continue };
            if now.text != old.text && now.others.len() < 4 && !now.others.contains(&old.text) {
                now.others.push(old.text.clone());
                now.others.extend(old.others.iter().take(2).cloned());
            }
        }
        if self.scopes == 0 {
            self.journal.truncate(start);
        }
    }

    pub(crate) fn set(&mut self, name: &str, value: Value) {
        let old = self.variables.insert(name.into(), value);
        if self.scopes > 0 {
            self.journal.push(Undo::Variable(name.into(), old));
        }
    }

    /// Makes a variable stand for the one that its value names.
    pub(crate) fn refer(&mut self, name: &str) {
        // Longer than any name is no name.
        let named = |value: &&Value| value.text.len() < 256 && value.array.is_none();
        if let Some(value) = self.variables.get(name).filter(named).cloned() {
            self.set(name, Value { reference: true, ..value });
        }
    }

    /// Whether changes need no record, because nothing encloses them.
    pub(crate) fn is_top(&self) -> bool {
        self.scopes == 0
    }

    /// The value of a variable that is set again at once; not copied where nothing encloses it.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        if self.is_top() { self.variables.remove(name) } else { self.variables.get(name).cloned() }
    }

    /// A variable of that name goes; where there is none, a function.
    pub(crate) fn unset(&mut self, name: &str) {
        if self.get(name).is_none() {
            self.set_function(name, None);
        }
        self.set(name, Value::default());
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        if self.variables.is_empty() {
            return None;
        }
        self.variables.get(name)
    }

    /// The names and texts of all variables.
    pub(crate) fn texts(&self) -> Vec<(String, String)> {
        let pairs = self.variables.iter();
        pairs.map(|(name, value)| (name.to_string(), value.text.clone())).collect()
    }

    pub(crate) fn set_function(&mut self, name: &str, function: Option<Function>) {
        let old = match function {
            Some(function) => self.functions.insert(name.into(), function),
            None => self.functions.remove(name),
        };
        if self.scopes > 0 {
            self.journal.push(Undo::Function(name.into(), old));
        }
    }

    pub(crate) fn function(&self, name: &str) -> Option<Function> {
        if self.functions.is_empty() {
            return None;
        }
        self.functions.get(name).cloned()
    }

    pub(crate) fn set_alias(&mut self, name: &str, text: String) {
        let old = self.aliases.insert(name.into(), text);
        if self.scopes > 0 {
            self.journal.push(Undo::Alias(name.into(), old));
        }
    }

    pub(crate) fn alias(&self, name: &str) -> Option<String> {
        if self.aliases.is_empty() {
            return None;
        }
        self.aliases.get(name).cloned()
    }
}

fn put<V>(map: &mut HashMap<Box<str>, V>, name: Box<str>, old: Option<V>) {
    match old {
        Some(old) => {
            map.insert(name, old);
        }
        None => {
            map.remove(&name);
        }
    }
}
