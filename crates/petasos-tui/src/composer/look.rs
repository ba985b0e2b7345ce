//! The signs before the lines that are typed.

use std::borrow::Cow;

use reedline::{PromptEditMode, PromptHistorySearch};

/// A short sign, so that narrow windows have room.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prompt {
    pub(super) colour: bool,
}

impl reedline::Prompt for Prompt {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed(if self.colour { "❯ " } else { "> " })
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed("· ")
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        Cow::Owned(format!("(earlier: {}) ", search.term))
    }
}
