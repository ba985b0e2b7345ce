//! What a call would do to the world, stated before it does it.
//!
//! Policy judges effects and not tool names, so `write_file x` and `echo > x` meet one rule.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One thing a call would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Effect {
    /// Runs a shell command, in a directory of the target.
    Command {
        /// The text handed to the shell.
        script: String,
        /// Where it would run.
        cwd: PathBuf,
    },
    /// Leaves the confinement that the settings ask for.
    Unconfined,
    /// What is typed is not shown on its terminal: the other effects are judged, and none of their
    /// text is recorded.
    HiddenInput,
    /// Runs a program in another language, such as a Python script.
    Code {
        /// The language, lower-case.
        language: String,
        /// The source text.
        source: String,
        /// Where it would run.
        cwd: PathBuf,
    },
    /// Creates, changes or removes a file.
    Write(PathBuf),
    /// Reads a file whose content reaches the model.
    Read(PathBuf),
    /// Opens a connection to a host.
    Reach(String),
    /// Opens a connection into a private network, to a host and port.
    ReachPrivate(String),
    /// Sends a message to people.
    Send {
        /// The address, as the tool understands it; `self:` and a way is the person whom the
        /// program works for.
        target: String,
    },
    /// Moves something in the world: a lamp, a lock, a player.
    Actuate {
        /// What is moved, as its tool names it: `light.kitchen`, `spotify`.
        target: String,
        /// Whether doors, alarms or the like hang on it, so that somebody agrees each time.
        guarded: bool,
    },
    /// Keeps something for later: a memory, a schedule, an entry of somebody's calendar.
    Remember {
        /// Where it is kept.
        store: String,
    },
    /// Spends money.
    Spend {
        /// The most it may cost.
        cents: u32,
    },
}

/// Everything one call would do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Effects(Vec<Effect>);

impl Effects {
    /// A call that touches nothing outside the conversation.
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// A call with one effect.
    pub fn one(effect: Effect) -> Self {
        Self(vec![effect])
    }

    /// Adds an effect.
    #[must_use]
    pub fn and(mut self, effect: Effect) -> Self {
        self.0.push(effect);
        self
    }

    /// Looks at each effect.
    pub fn iter(&self) -> impl Iterator<Item = &Effect> {
        self.0.iter()
    }

    /// Whether nothing would happen.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<Effect> for Effects {
    fn from_iter<I: IntoIterator<Item = Effect>>(effects: I) -> Self {
        Self(effects.into_iter().collect())
    }
}
