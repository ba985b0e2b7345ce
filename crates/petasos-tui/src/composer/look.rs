//! The signs before the lines that are typed.

use std::borrow::Cow;
use std::sync::Arc;

use parking_lot::Mutex;
use reedline::{Color, PromptEditMode, PromptHistorySearch, PromptViMode};

use crate::line::Colour;
use crate::skin::Skin;

/// The sign before the first line.
pub(super) fn sign(styled: bool) -> &'static str {
    if styled { "❯ " } else { "> " }
}

/// A short sign, so that narrow windows have room, below the status line.
#[derive(Debug, Clone)]
pub(super) struct Prompt {
    pub(super) skin: Arc<Mutex<Skin>>,
    /// None for a line that was sent: what is past needs no status.
    pub(super) status: Option<Arc<Mutex<String>>>,
}

impl reedline::Prompt for Prompt {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        let status = self.status.as_ref().map(|status| status.lock().clone());
        match status.filter(|status| !status.is_empty()) {
            Some(status) => Cow::Owned(status + "\n"),
            None => Cow::Borrowed(""),
        }
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    /// Letters that are commands are told apart from letters that are typed.
    fn render_prompt_indicator(&self, mode: PromptEditMode) -> Cow<'_, str> {
        let styled = self.skin.lock().is_styled();
        Cow::Borrowed(match mode {
            PromptEditMode::Vi(PromptViMode::Normal | PromptViMode::Visual) if styled => "❮ ",
            PromptEditMode::Vi(PromptViMode::Normal | PromptViMode::Visual) => ": ",
            _ => sign(styled),
        })
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed("· ")
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        Cow::Owned(format!("(earlier: {}) ", search.term))
    }

    /// The status line brings its own style.
    fn get_prompt_color(&self) -> Color {
        Color::Default
    }

    fn get_prompt_multiline_color(&self) -> Color {
        self.get_indicator_color()
    }

    fn get_indicator_color(&self) -> Color {
        let skin = *self.skin.lock();
        let own = if skin == Skin::Terminal { Color::Cyan } else { Color::Default };
        skin.place(Colour::Cyan).map_or(own, Color::Fixed)
    }
}
