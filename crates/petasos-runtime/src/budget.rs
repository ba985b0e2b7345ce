//! How much of a result the model sees, and where the rest is kept.

mod spill;
mod temp;
#[cfg(test)]
mod tests;

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use futures::FutureExt;
use petasos_contract::call::{Content, ToolResult};
use petasos_contract::tool::Limit;
use petasos_contract::{CallContext, Settings, wait};
use serde_json::Value;

use crate::dispatch::Dispatcher;
use crate::registry::Entry;
use crate::untrusted;

pub(crate) use spill::reads_untrusted;
pub use spill::{Holds, Large, Spill};
pub use temp::TempSpill;

/// Marks a result that was moved to a file.
const OPEN: &str = "<persisted-output>";
const CLOSE: &str = "</persisted-output>";
/// A result that was moved to a file is never longer: its preview, a path and a few words.
const SPILLED_CHARS_MAX: usize = 7_000;
/// How long keeping a result may take.
const SPILL_DEADLINE: Duration = Duration::from_secs(30);

/// Limits in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// For one result.
    pub result_chars: u32,
    /// For all results of one turn.
    pub turn_chars: u32,
    /// Shown of a result that was moved to a file.
    pub preview_chars: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { result_chars: 100_000, turn_chars: 200_000, preview_chars: 1_500 }
    }
}

impl Budget {
    /// The limits for a model with this context window: a result may take 15 % of it, a turn 30 %,
    /// within bounds.
    pub fn for_window(context_tokens: Option<u32>) -> Self {
        let full = Self::default();
        let Some(tokens) = context_tokens else { return full };
        let chars = u64::from(tokens) * 4;
        let share = |percent: u64, low: u32, high: u32| {
            u32::try_from(chars * percent / 100).unwrap_or(high).clamp(low, high)
        };
        Self {
            result_chars: share(15, 8_000, full.result_chars),
            turn_chars: share(30, 16_000, full.turn_chars),
            ..full
        }
    }

    /// The limits for the model that reads the results; without one, as the settings describe it.
    pub fn of(cx: &CallContext) -> Self {
        let configured = || cx.settings.get("model.context_length").and_then(Value::as_u64);
        let window = cx.window.or_else(configured);
        Self::for_window(window.and_then(|tokens| u32::try_from(tokens).ok()))
    }

    /// When a tool's result is moved to a file; `None` means never.
    pub fn limit_for(&self, entry: &Entry, settings: &Settings) -> Option<u32> {
        if entry.result_chars_max == Limit::Unlimited {
            return None;
        }
        let own = settings
            .get("tools.result_max_chars")
            .and_then(|limits| limits.get(entry.name.as_str())?.as_u64());
        if let Some(own) = own {
            return u32::try_from(own).ok();
        }
        match entry.result_chars_max {
            Limit::Chars(chars) => Some(chars.min(self.result_chars)),
            Limit::Default | Limit::Unlimited => Some(self.result_chars),
        }
    }
}

/// Whether a text has more characters than the limit, counting only as far as needed.
pub(crate) fn exceeds(text: &str, limit: u32) -> bool {
    let limit = limit as usize;
    text.len() > limit && text.chars().nth(limit).is_some()
}

/// Moves a text to a file and gives what the model sees instead.
pub(crate) async fn spill(text: &str, id: &str, store: &dyn Spill, cx: &CallContext) -> String {
    let preview = untrusted::closed(preview(text, Budget::default().preview_chars));
    let chars = text.chars().count();
    let name = safe_name(id);
    let large = Large { name: &name, text, untrusted: untrusted::is_labelled(text) };
    let keep = AssertUnwindSafe(async { store.keep(large, cx).await }).catch_unwind();
    // The call itself may have used up its time; keeping its result has time of its own.
    let keep = wait::until(Instant::now() + SPILL_DEADLINE, "a large result to be kept", keep);
    let Some(kept) = wait::unless_cancelled(&cx.cancel, wait::LAST_WORDS, keep).await else {
        return truncated(&preview, chars, "the user interrupted");
    };
    match kept {
        Ok(Ok(Ok(path))) => format!(
            "{OPEN}\nThe result has {chars} characters, too many to show here. All of it is in \
             {path}: page through it with read_file (offset, limit), or search it with \
             search_files.\n\nPreview:\n{preview}\n{CLOSE}",
            path = path.display()
        ),
        Ok(Ok(Err(error))) => truncated(&preview, chars, &error.to_string()),
        Ok(Err(_)) => truncated(&preview, chars, "the place for it failed"),
        Err(elapsed) => truncated(&preview, chars, &elapsed.to_string()),
    }
}

fn truncated(preview: &str, chars: usize, why: &str) -> String {
    format!(
        "{preview}\n\n[Truncated: {chars} characters in all. The rest could not be kept ({why}); \
         ask for less at a time.]"
    )
}

/// The beginning, cut at the last line end when that keeps more than half.
fn preview(text: &str, chars: usize) -> String {
    let end = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let head = text.get(..end).unwrap_or(text);
    let cut = head.rfind('\n').filter(|at| *at > head.len() / 2);
    cut.and_then(|at| head.get(..at)).unwrap_or(head).to_owned()
}

/// A file name from a call id: unsafe characters become `_`, and a digest keeps such names apart.
fn safe_name(id: &str) -> String {
    const LENGTH_MAX: usize = 120;
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let mut name: String =
        id.chars().take(LENGTH_MAX).map(|c| if safe(c) { c } else { '_' }).collect();
    if name != id || name.is_empty() || name.starts_with('.') {
        use sha2::{Digest as _, Sha256};
        let digest = Sha256::digest(id.as_bytes());
        name = name.replace("..", "__");
        name.push('-');
        name.push_str(&hex(&digest, 6));
    }
    name
}

/// The first bytes of a digest as text.
fn hex(digest: &[u8], bytes: usize) -> String {
    use std::fmt::Write as _;
    digest.iter().take(bytes).fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        write!(text, "{byte:02x}").unwrap_or_default();
        text
    })
}

/// Brings the results of a batch under the turn's budget: the largest that are still whole are
/// moved to files first. A tool that reads files never has its result moved to one.
pub async fn fit_turn(results: &mut [ToolResult], dispatcher: &Dispatcher, cx: &CallContext) {
    let budget = Budget::of(cx).turn_chars as usize;
    let mut sizes: Vec<usize> = results.iter().map(|result| result.content.chars()).collect();
    let mut total: usize = sizes.iter().sum();
    let tools = dispatcher.registry().seen_by(cx.origin());
    let stays = |result: &ToolResult| {
        let entry = tools.get(result.name.as_str());
        entry.is_some_and(|entry| entry.result_chars_max == Limit::Unlimited)
    };
    let mut order: Vec<usize> = (0..results.len()).filter(|at| !stays(&results[*at])).collect();
    order.sort_by_key(|at| std::cmp::Reverse(sizes[*at]));
    for at in order {
        if total <= budget {
            return;
        }
        let result = &mut results[at];
        let Content::Text(text) = &result.content else { continue };
        // A text that merely mentions the mark is as long as it was.
        if sizes[at] <= SPILLED_CHARS_MAX && text.contains(OPEN) {
            continue;
        }
        let shown = spill(text, result.id.as_str(), dispatcher.spill(), cx).await;
        let size = shown.chars().count();
        if size < sizes[at] {
            total = total - sizes[at] + size;
            sizes[at] = size;
            result.content = Content::Text(shown);
        }
    }
}
