//! Replies that cannot be used as they are: what is mended, what is asked again, when it is enough.

use std::collections::BTreeSet;

use petasos_contract::ToolName;
use petasos_contract::message::{Assistant, RequestedCall};
use petasos_contract::model::{Finish, Reply};
use serde_json::Value;

/// How alike a name must be to be taken for another one.
const SIMILAR_MIN: f64 = 0.9;

/// How often a turn has met what; each kind has its own end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Patience {
    /// Replies with unknown tools.
    pub unknown: u32,
    /// Replies with arguments that are no JSON.
    pub malformed: u32,
    /// Replies that were cut off.
    pub cut: u32,
    /// Replies that said nothing.
    pub empty: u32,
    /// Replies that want to go on.
    pub incomplete: u32,
}

/// What to do with a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is good.
    Take,
    /// Ask again; nothing of it is kept.
    Again {
        /// Words added to the question, when silence alone would not help.
        nudge: Option<&'static str>,
    },
    /// Keep it and let the model go on.
    GoOn {
        /// Words between the parts.
        nudge: Option<&'static str>,
    },
    /// It said nothing and will not.
    Empty,
    /// A filter stopped it.
    Filtered,
}

const UNKNOWN_MAX: u32 = 3;
const MALFORMED_MAX: u32 = 3;
const CUT_MAX: u32 = 4;
const EMPTY_MAX: u32 = 3;
const INCOMPLETE_MAX: u32 = 3;
/// What a reply that is asked for again may write at most.
const ROOM_FIRST: u32 = 4096;
const ROOM_MAX: u32 = 32_768;

impl Patience {
    /// Judges a reply and counts.
    pub fn judge(&mut self, reply: &Reply) -> Verdict {
        let said = &reply.message;
        match reply.finish {
            Finish::ContentFilter if said.tool_calls.is_empty() => return Verdict::Filtered,
            Finish::Length if !said.tool_calls.is_empty() && self.cut < CUT_MAX => {
                // Arguments may be cut anywhere: none of these calls runs.
                self.cut += 1;
                return Verdict::Again { nudge: None };
            }
            Finish::Length if !said.is_silent() && self.cut < CUT_MAX => {
                self.cut += 1;
                return Verdict::GoOn { nudge: Some("Continue exactly where you stopped.") };
            }
            Finish::Incomplete
                if said.tool_calls.is_empty() && self.incomplete < INCOMPLETE_MAX =>
            {
                self.incomplete += 1;
                return Verdict::GoOn { nudge: None };
            }
            _ => {}
        }
        if said.is_silent() {
            self.empty += 1;
            return match self.empty {
                1 => Verdict::Again {
                    nudge: Some("Your last reply was empty. Answer, or call a tool."),
                },
                n if n <= EMPTY_MAX => Verdict::Again { nudge: None },
                _ => Verdict::Empty,
            };
        }
        if said.tool_calls.iter().any(is_malformed) && self.malformed < MALFORMED_MAX {
            self.malformed += 1;
            return Verdict::Again { nudge: None };
        }
        Verdict::Take
    }

    /// Counts a reply with unknown tools; `false` when it was one too many.
    pub fn bear_unknown(&mut self, unknown: usize) -> bool {
        if unknown > 0 {
            self.unknown += 1;
        }
        self.unknown < UNKNOWN_MAX
    }

    /// What the next request may write, when the last one was cut off.
    pub fn room(&self, configured: Option<u32>) -> Option<u32> {
        if self.cut == 0 {
            return configured;
        }
        let room = configured.unwrap_or(ROOM_FIRST).saturating_mul(1 << self.cut.min(8));
        Some(room.min(ROOM_MAX))
    }
}

fn is_malformed(call: &RequestedCall) -> bool {
    let text = call.arguments.trim();
    !text.is_empty() && !serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object())
}

/// Gives calls the names of tools that are really there, and identities of their own. Tells how
/// many names nobody knows.
pub fn mend_calls(said: &mut Assistant, granted: &BTreeSet<ToolName>, request: u32) -> usize {
    let mut seen = BTreeSet::new();
    let mut unknown = 0;
    for (at, call) in said.tool_calls.iter_mut().enumerate() {
        if call.id.as_str().is_empty() || seen.contains(&call.id) {
            call.id = format!("call_{request}_{at}_own").into();
        }
        seen.insert(call.id.clone());
        if granted.contains(call.name.as_str()) || is_bridge(call.name.as_str()) {
            continue;
        }
        match nearest(call.name.as_str(), granted) {
            Some(name) => call.name = name,
            None => unknown += 1,
        }
    }
    unknown
}

fn is_bridge(name: &str) -> bool {
    matches!(name, "tool_search" | "tool_describe" | "tool_call")
}

/// The one tool that is meant: the same letters in another spelling, or very nearly so.
fn nearest(name: &str, granted: &BTreeSet<ToolName>) -> Option<ToolName> {
    let plain = |name: &str| -> String {
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let wanted = plain(name);
    let same = granted.iter().find(|tool| plain(tool.as_str()) == wanted);
    same.cloned().or_else(|| {
        let scored = granted.iter().map(|tool| (strsim::jaro_winkler(name, tool.as_str()), tool));
        let near = scored.filter(|(score, _)| *score >= SIMILAR_MIN);
        near.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, tool)| tool.clone())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_another_spelling_is_understood() {
        let granted: BTreeSet<ToolName> =
            ["read_file", "search_files", "terminal"].into_iter().map(ToolName::from).collect();
        for (written, meant) in [
            ("ReadFile", Some("read_file")),
            ("read-file", Some("read_file")),
            ("search_file", Some("search_files")),
            ("launch_missiles", None),
        ] {
            assert_eq!(nearest(written, &granted).as_ref().map(ToolName::as_str), meant);
        }
    }
}
