//! Replies that cannot be used as they are: what is mended, what is asked again, when it is enough.

use std::collections::BTreeSet;

use petasos_contract::ToolName;
use petasos_contract::call::ToolCall;
use petasos_contract::message::{Assistant, RequestedCall};
use petasos_contract::model::{Finish, Reply};
use petasos_runtime::search;
use serde_json::Value;

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
    /// The most that a reply wrote before it was cut off.
    pub written: u32,
    /// Replies whose stream broke off.
    pub broken: u32,
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
    /// It is cut off each time, and what it asks for is not whole.
    Cut,
    /// Its stream breaks off each time.
    Broken,
    /// A filter stopped it.
    Filtered,
}

const UNKNOWN_MAX: u32 = 3;
const MALFORMED_MAX: u32 = 3;
const CUT_MAX: u32 = 4;
const EMPTY_MAX: u32 = 3;
const INCOMPLETE_MAX: u32 = 3;
const BROKEN_MAX: u32 = 2;
/// A reply that broke off and is longer than this has no end: it is not asked to go on.
const BROKEN_BYTES_MAX: usize = 1_000_000;
const GO_ON: &str = "Continue exactly where you stopped.";
/// What a reply that is asked for again may write at most.
const ROOM_FIRST: u32 = 4096;
const ROOM_MAX: u32 = 32_768;

impl Patience {
    /// Judges a reply and counts.
    pub fn judge(&mut self, reply: &Reply) -> Verdict {
        let said = &reply.message;
        if reply.broken.is_some() {
            return self.judge_broken(said);
        }
        match reply.finish {
            Finish::ContentFilter if said.tool_calls.is_empty() => return Verdict::Filtered,
            Finish::Length => return self.judge_cut(reply),
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

    /// The network cut it: what came is kept, and the model may go on, but not for ever.
    fn judge_broken(&mut self, said: &Assistant) -> Verdict {
        self.broken += 1;
        match said {
            said if self.broken > BROKEN_MAX || said.text().len() > BROKEN_BYTES_MAX => {
                Verdict::Broken
            }
            said if said.text().is_empty() || !said.tool_calls.is_empty() => {
                Verdict::Again { nudge: None }
            }
            _ => Verdict::GoOn { nudge: Some(GO_ON) },
        }
    }

    /// It ran out of room. Arguments may be cut anywhere: none of these calls ever runs.
    fn judge_cut(&mut self, reply: &Reply) -> Verdict {
        let said = &reply.message;
        self.written = self.written.max(u32::try_from(reply.usage.output).unwrap_or(u32::MAX));
        let whole = !said.text().is_empty() && said.tool_calls.is_empty();
        if self.cut >= CUT_MAX {
            return if whole { Verdict::Take } else { Verdict::Cut };
        }
        self.cut += 1;
        if whole { Verdict::GoOn { nudge: Some(GO_ON) } } else { Verdict::Again { nudge: None } }
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
        // Never less than what was allowed, or written, before.
        let before = configured.unwrap_or(ROOM_FIRST).max(self.written);
        let room = before.saturating_mul(1 << self.cut.min(8));
        Some(room.min(ROOM_MAX.max(before)))
    }
}

fn is_malformed(call: &RequestedCall) -> bool {
    let text = call.arguments.trim();
    !text.is_empty() && !serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object())
}

/// Gives calls identities of their own: an empty or a repeated one cannot be answered.
pub fn identify(said: &mut Assistant, request: u32) {
    let mut seen = BTreeSet::new();
    for (at, call) in said.tool_calls.iter_mut().enumerate() {
        if call.id.as_str().is_empty() || seen.contains(&call.id) {
            call.id = format!("call_{request}_{at}_own").into();
        }
        seen.insert(call.id.clone());
    }
}

/// The calls as they are run, and how many of them name a tool that is not there. The reply itself
/// keeps the model's own words.
pub fn requested(said: &Assistant, granted: &BTreeSet<ToolName>) -> (Vec<ToolCall>, usize) {
    let mut unknown = 0;
    let resolve = |call: &RequestedCall| {
        let name = call.name.as_str();
        let known = granted.contains(name) || search::is_bridge(name);
        let meant = if known { None } else { respelled(name, granted) };
        unknown += usize::from(!known && meant.is_none());
        let name = meant.unwrap_or_else(|| call.name.clone());
        ToolCall::new(call.id.clone(), name, call.arguments.clone())
    };
    let calls = said.tool_calls.iter().map(resolve).collect();
    (calls, unknown)
}

/// The one tool with the same letters in another case or with other separators. A name that is
/// merely alike may be its opposite (`list_pods`, `delete_pods`): the door suggests, the model
/// decides.
fn respelled(name: &str, granted: &BTreeSet<ToolName>) -> Option<ToolName> {
    let letters = |name: &str| -> String {
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let wanted = letters(name);
    let mut same = granted.iter().filter(|tool| letters(tool.as_str()) == wanted);
    same.next().filter(|_| same.next().is_none()).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_for_a_reply_that_was_cut_never_shrinks() {
        let cut = |output: u64| {
            let mut reply = Reply { finish: Finish::Length, ..Reply::default() };
            reply.message.content = Some("half".to_owned());
            reply.usage.output = output;
            reply
        };
        let rooms = |output: u64, configured: Option<u32>| -> Vec<u32> {
            let mut patience = Patience::default();
            let each = (0..CUT_MAX).filter_map(|_| {
                patience.judge(&cut(output));
                patience.room(configured)
            });
            each.collect()
        };
        assert_eq!(rooms(0, None), [8_192, 16_384, 32_768, 32_768]);
        assert_eq!(rooms(65_536, None), [65_536; 4], "the provider's own limit was larger");
        assert_eq!(rooms(0, Some(100_000)), [100_000; 4]);
    }

    #[test]
    fn only_another_spelling_of_the_same_letters_is_understood() {
        let granted = [
            "mcp__k8s__delete_pods",
            "mcp__mail__send_mail",
            "read_file",
            "read_table",
            "search_files",
            "set_issue",
            "sum_up",
            "sumup",
            "terminal",
        ];
        let granted: BTreeSet<ToolName> = granted.into_iter().map(ToolName::from).collect();
        for (written, meant) in [
            ("ReadFile", Some("read_file")),
            ("read-file", Some("read_file")),
            ("READ.FILE", Some("read_file")),
            ("mcp_k8s_delete_pods", Some("mcp__k8s__delete_pods")),
            ("mcp__k8s__list_pods", None),
            ("mcp__mail__read_mail", None),
            ("get_issue", None),
            ("drop_table", None),
            ("search_file", None),
            ("terminal_output", None),
            ("SumUp", None),
            ("", None),
        ] {
            let found = respelled(written, &granted);
            assert_eq!(found.as_ref().map(ToolName::as_str), meant, "{written}");
        }
    }
}
