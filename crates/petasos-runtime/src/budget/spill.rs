//! Where results that are too large to show are kept: the port, and whose such a result is.

use std::io;
use std::path::{Path, PathBuf};

use petasos_contract::call::{Refusal, RefusalKind};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::{BoxFuture, CallContext};

/// A result that is too large to show.
#[derive(Debug, Clone, Copy)]
pub struct Large<'a> {
    /// A safe name for it, from the call.
    pub name: &'a str,
    /// All of it.
    pub text: &'a str,
    /// Strangers wrote it; the text carries the label.
    pub untrusted: bool,
}

/// What a path that a call would read has to do with kept results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// Nothing.
    Nothing,
    /// Results of this conversation, in our own words.
    Own,
    /// Words of strangers, perhaps among others.
    Untrusted,
    /// Results of another conversation.
    Others,
}

/// Keeps a result where the model can page through it.
pub trait Spill: Send + Sync {
    /// Writes the text and gives the path that `read_file` takes.
    fn keep<'a>(
        &'a self,
        result: Large<'a>,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, io::Result<PathBuf>>;

    /// What a path has to do with what was kept.
    fn holds(&self, _path: &Path, _cx: &CallContext) -> Holds {
        Holds::Nothing
    }

    /// What the text of a command or program has to do with what was kept.
    fn named_in(&self, _text: &str, _cx: &CallContext) -> Holds {
        Holds::Nothing
    }
}

/// Whether a call would read kept words of strangers, which stay theirs however they are read.
/// Refused when it would read results of another conversation.
pub(crate) fn reads_untrusted(
    spill: &dyn Spill,
    effects: &Effects,
    cx: &CallContext,
) -> Result<bool, Refusal> {
    let mut untrusted = false;
    for effect in effects.iter() {
        let holds = match effect {
            Effect::Read(path) => spill.holds(path, cx),
            Effect::Command { script: text, .. } | Effect::Code { source: text, .. } => {
                spill.named_in(text, cx)
            }
            _ => Holds::Nothing,
        };
        match holds {
            Holds::Nothing | Holds::Own => {}
            Holds::Untrusted => untrusted = true,
            Holds::Others => {
                let message = "This result was kept for another conversation and cannot be read \
                               here. Call the tool again to get it.";
                return Err(Refusal::new(RefusalKind::OutOfScope, message));
            }
        }
    }
    Ok(untrusted)
}
