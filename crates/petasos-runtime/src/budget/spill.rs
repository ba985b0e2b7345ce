//! Where results that are too large to show are kept: the port, and whose such a result is.

use std::io;
use std::path::{Path, PathBuf};

use petasos_contract::call::{Refusal, RefusalKind};
use petasos_contract::context::Surface;
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
            Effect::Read(path) => {
                unkept(|home| is_kept(path, home), cx)?;
                spill.holds(path, cx)
            }
            Effect::Command { script: text, .. } | Effect::Code { source: text, .. } => {
                unkept(|home| is_named(text, home), cx)?;
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

/// Where the home keeps things of every conversation: jobs and what they printed, snapshots, notes,
/// logs.
const KEPT: [&str; 4] = ["jobs", "checkpoints", "memories", "logs"];
/// Where files of people are, under names that nobody guesses: each may be read, the list may not.
const CACHE: &str = "cache";
/// How the names of the store and of the list of jobs begin, and of what a death left of either.
const STORES: [&str; 2] = ["petasos.db", "processes."];

/// Refused when a call from a chat or over HTTP would read what the home keeps for conversations:
/// several people may be there, and each has tools for what is theirs.
fn unkept(reads: impl Fn(&Path) -> bool, cx: &CallContext) -> Result<(), Refusal> {
    if !matches!(cx.surface, Surface::Gateway | Surface::ApiServer) {
        return Ok(());
    }
    let home = cx.settings.home();
    let real = std::fs::canonicalize(home).unwrap_or_else(|_| home.to_owned());
    if !reads(home) && !reads(&real) {
        return Ok(());
    }
    let message = "This is kept for conversations, perhaps of other people, and is not read from \
                   here. `process`, `memory` and `session_search` give what is yours.";
    Err(Refusal::new(RefusalKind::OutOfScope, message))
}

fn is_kept(path: &Path, home: &Path) -> bool {
    let Ok(below) = path.strip_prefix(home) else { return false };
    let mut parts = below.components().map(|part| part.as_os_str().to_string_lossy());
    let Some(name) = parts.next() else { return false };
    // `cache/images` is a list, `cache/images/NAME` a file.
    let is_list = name == CACHE && parts.count() < 2;
    KEPT.contains(&name.as_ref()) || STORES.iter().any(|store| name.starts_with(store)) || is_list
}

fn is_named(text: &str, home: &Path) -> bool {
    let at = |name: &str| home.join(name).display().to_string();
    KEPT.iter().chain(&STORES).any(|name| text.contains(&at(name))) || lists(text, &at(CACHE))
}

/// Whether a command names a folder of people's files, and not only files in it.
fn lists(text: &str, cache: &str) -> bool {
    text.split(cache).skip(1).any(|rest| {
        let end = |c: char| c.is_whitespace() || "\"';|&()<>".contains(c);
        let rest = rest.split(end).next().unwrap_or_default();
        let mut parts = rest.split('/').skip(1).filter(|part| !part.is_empty());
        let file = parts.nth(1).unwrap_or_default();
        let whole = !rest.starts_with('/') && !rest.is_empty();
        !whole && (file.is_empty() || file.contains(['*', '?', '[', '{']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_home_keeps_for_conversations_is_known_by_its_place() {
        let home = Path::new("/h/.petasos");
        for kept in ["jobs/proc_1.log", "memories/x/USER.md", "petasos.db-wal", "checkpoints"] {
            assert!(is_kept(&home.join(kept), home), "{kept}");
        }
        for other in ["/h/.petasos/cache/images/1.png", "/h/.petasos/skills/a/SKILL.md", "/h/jobs"]
        {
            assert!(!is_kept(Path::new(other), home), "{other}");
        }
        for list in ["cache", "cache/documents", "processes.json", "processes.draft"] {
            assert!(is_kept(&home.join(list), home), "{list}");
        }
        for line in
            ["ls /h/.petasos/cache", "ls /h/.petasos/cache/images/", "cat /h/.petasos/cache/*/*"]
        {
            assert!(is_named(line, home), "{line}");
        }
        assert!(!is_named("file '/h/.petasos/cache/images/0a1b.png'", home));
        assert!(!is_named("ls /h/.petasos/cached", home));
        assert!(is_named("cat /h/.petasos/jobs/proc_1.log", home));
        assert!(!is_named("ls /h/.petasos/skills", home));
    }
}
