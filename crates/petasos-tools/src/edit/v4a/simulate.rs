//! Applies steps to texts in memory, one after the other.

use std::collections::BTreeMap;

use super::{Fault, Step, hunk};
use crate::edit::text::Text;

/// What a patch would make of the files.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Every file that the patch names, as it would be; `None` when it would be gone.
    pub(crate) files: BTreeMap<String, Option<Text>>,
    /// Files that got another name: the new one and the old one.
    pub(crate) renamed: BTreeMap<String, String>,
}

/// Applies the steps; `load` gives the text of a file, or `None` when there is none.
pub(crate) fn simulate(
    steps: &[Step],
    load: impl Fn(&str) -> Result<Option<Text>, String>,
) -> Result<Outcome, Fault> {
    let mut state = State { load: &load, outcome: Outcome::default(), changes: 0 };
    for step in steps {
        state.step(step)?;
    }
    if state.changes == 0 {
        return Err(Fault::NoChange);
    }
    Ok(state.outcome)
}

struct State<'a> {
    load: &'a dyn Fn(&str) -> Result<Option<Text>, String>,
    outcome: Outcome,
    changes: usize,
}

impl State<'_> {
    fn step(&mut self, step: &Step) -> Result<(), Fault> {
        match step {
            Step::Add { path, content } => {
                self.free(path)?;
                self.changes += 1;
                self.put(path, Some(Text::fresh(content)));
            }
            Step::Delete { path } => {
                self.there(path)?;
                self.changes += 1;
                self.put(path, None);
            }
            Step::Move { path, to } => {
                let text = self.there(path)?;
                self.rename(path, to, text)?;
            }
            Step::Update { path, to, hunks } => {
                let mut text = self.there(path)?;
                let mut from = 0;
                for one in hunks {
                    let applied = hunk::apply(&text, one, from).map_err(|why| fault(path, why))?;
                    if let Some((changed, end)) = applied {
                        self.changes += usize::from(changed != text);
                        (text, from) = (changed, end);
                    }
                }
                match to {
                    Some(to) => self.rename(path, to, text)?,
                    None => self.put(path, Some(text)),
                }
            }
        }
        Ok(())
    }

    fn rename(&mut self, path: &str, to: &str, text: Text) -> Result<(), Fault> {
        self.free(to)?;
        self.changes += 1;
        let origin = self.outcome.renamed.remove(path).unwrap_or_else(|| path.to_owned());
        self.put(path, None);
        self.put(to, Some(text));
        self.outcome.renamed.insert(to.to_owned(), origin);
        Ok(())
    }

    fn put(&mut self, path: &str, text: Option<Text>) {
        self.outcome.files.insert(path.to_owned(), text);
    }

    fn now(&self, path: &str) -> Result<Option<Text>, Fault> {
        match self.outcome.files.get(path) {
            Some(known) => Ok(known.clone()),
            None => (self.load)(path).map_err(|why| fault(path, why)),
        }
    }

    fn there(&self, path: &str) -> Result<Text, Fault> {
        self.now(path)?.ok_or_else(|| fault(path, "there is no such file".to_owned()))
    }

    fn free(&self, path: &str) -> Result<(), Fault> {
        match self.now(path)? {
            None => Ok(()),
            Some(_) => Err(fault(path, "there is such a file already: update it".to_owned())),
        }
    }
}

fn fault(path: &str, why: String) -> Fault {
    Fault::File { path: path.to_owned(), why }
}
