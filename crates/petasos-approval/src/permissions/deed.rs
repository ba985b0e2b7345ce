//! What one effect of a call comes down to, in the words that rules are written in.

use std::borrow::Cow;

/// How a path is touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Access {
    Read,
    Write,
    Delete,
}

/// One path, absolute where that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Touch {
    pub(crate) access: Access,
    pub(crate) path: String,
    /// With everything in it.
    pub(crate) recursive: bool,
}

/// One command that would run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) argv: Vec<String>,
    pub(crate) via: Vec<String>,
    /// Where it runs, when that is known.
    pub(crate) cwd: Option<String>,
}

/// What kind of effect it was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A shell command or a program: only a rule that names its commands can allow it.
    Program,
    /// A file.
    File,
    /// A host.
    Host,
    /// Somebody who is written to, or something that is moved.
    Target,
    /// Something that only the tool names.
    #[default]
    Other,
}

/// One effect.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deed {
    pub(crate) tool: String,
    pub(crate) kind: Kind,
    /// The text of a shell command.
    pub(crate) script: Option<String>,
    pub(crate) steps: Vec<Step>,
    pub(crate) touched: Vec<Touch>,
    pub(crate) hosts: Vec<String>,
    /// Who is written to, or what is moved.
    pub(crate) targets: Vec<String>,
}

impl Deed {
    pub(crate) fn new(tool: &str, kind: Kind) -> Self {
        Self { tool: tool.to_owned(), kind, ..Self::default() }
    }
}

/// Whether a command is more than one simple command: such a text is never taken for an allowed one.
pub(crate) fn is_compound(script: &str) -> bool {
    script.contains(['\n', '\r', ';', '&', '|', '<', '>', '`']) || script.contains("$(")
}

/// Whether a command writes or reads beside its commands: redirections and substitutions. What goes
/// to nowhere, or joins two streams, does not count.
pub(crate) fn has_side_channel(script: &str) -> bool {
    const HARMLESS: &str =
        "2>&1,1>&2,>&2,2>/dev/null,2> /dev/null,&>/dev/null,&> /dev/null,>/dev/null,> /dev/null";
    let mut rest = Cow::Borrowed(script);
    for text in HARMLESS.split(',') {
        if rest.contains(text) {
            rest = Cow::Owned(without(&rest, text));
        }
    }
    rest.contains(['\n', '\r', '<', '>', '`']) || rest.contains("$(")
}

/// The text without a word, where it stands as one: `>/dev/nullx` keeps its own.
fn without(text: &str, word: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(word) {
        kept.push_str(before);
        if !after.is_empty() && !after.starts_with([' ', '\t', ';', '&', '|', ')', '2']) {
            kept.push_str(word);
        }
        rest = after;
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silencing_a_stream_is_no_side_channel_and_writing_a_file_is() {
        for text in ["git push 2>&1", "git push >/dev/null 2>&1", "a && b", "a 2>/dev/null; b"] {
            assert!(!has_side_channel(text), "{text}");
        }
        for text in
            ["a > b", "a >/dev/null/../../b", "a >/dev/nullx", "a <b", "a `b`", "a $(b)", "a\nb"]
        {
            assert!(has_side_channel(text), "{text}");
        }
    }
}
