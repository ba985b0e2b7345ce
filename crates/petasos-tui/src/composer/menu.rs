//! The completion menus: one that Tab opens, and one that opens by itself while the name of a
//! command or, behind an `@`, of a file is typed. Where nothing fits, nothing is shown and Enter
//! sends the line.

use reedline::{
    Color, ColumnarMenu, Completer, Editor, Menu, MenuBuilder as _, MenuEvent, MenuSettings,
    Painter, Suggestion,
};

/// The menu that Tab opens.
pub(super) const TAB: &str = "completion";
/// The menu that opens by itself.
pub(super) const TYPING: &str = "typing";

/// What opens a menu.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opened {
    ByTab,
    /// Only where a command or a file is named.
    ByItself,
}

/// A menu that shows only what there is.
pub(super) struct QuietMenu {
    inner: ColumnarMenu,
    opened: Opened,
    applies: bool,
    /// The line was edited after its values were looked up: keys came faster than the screen.
    behind: bool,
}

impl QuietMenu {
    /// The one for Tab.
    pub(super) fn tab(sign: &str) -> Self {
        Self::named(TAB, sign, Opened::ByTab)
    }

    /// The one that opens with a slash or an `@`.
    pub(super) fn typing(sign: &str) -> Self {
        Self::named(TYPING, sign, Opened::ByItself)
    }

    /// The sign before the line stays what it is while a menu is open.
    fn named(name: &str, sign: &str, opened: Opened) -> Self {
        let by_itself = opened == Opened::ByItself;
        // The terminal's own colour is legible on whatever the person looks at.
        let plain = Color::Default.normal();
        let inner = ColumnarMenu::default()
            .with_name(name)
            .with_marker(sign)
            .with_text_style(plain)
            .with_description_text_style(plain.dimmed())
            .with_selected_text_style(plain.bold().reverse())
            .with_selected_match_text_style(plain.bold().reverse());
        let inner = if by_itself { inner.with_columns(1) } else { inner };
        Self { inner, opened, applies: !by_itself, behind: false }
    }

    fn is_by_itself(&self) -> bool {
        self.opened == Opened::ByItself
    }

    fn look(&mut self) {
        self.behind = false;
        if self.is_by_itself() {
            self.applies = self.inner.get_values().first().is_some_and(opens);
        }
    }
}

/// Whether a menu opens by itself for it: a command at the beginning, or a file.
pub(crate) fn opens(first: &Suggestion) -> bool {
    let command = |rest: &str| first.span.start == 0 && !rest.contains('/');
    first.value.starts_with('@') || first.value.strip_prefix('/').is_some_and(command)
}

impl Menu for QuietMenu {
    fn settings(&self) -> &MenuSettings {
        self.inner.settings()
    }

    /// One that has nothing to show is out of the way of the other.
    fn is_active(&self) -> bool {
        self.inner.is_active() && self.applies
    }

    fn set_active(&mut self, active: bool) {
        self.inner.set_active(active);
    }

    fn clear_input(&mut self) {
        self.inner.clear_input();
    }

    fn menu_event(&mut self, event: MenuEvent) {
        match event {
            MenuEvent::Activate(_) => (self.applies, self.behind) = (true, false),
            MenuEvent::Edit(_) => self.behind = true,
            _ => {}
        }
        // A menu that never completes by itself has to look up its own values.
        let event = match event {
            MenuEvent::Activate(_) if self.is_by_itself() => MenuEvent::Activate(false),
            MenuEvent::Edit(_) if self.is_by_itself() => MenuEvent::Edit(false),
            other => other,
        };
        self.inner.menu_event(event);
    }

    fn can_quick_complete(&self) -> bool {
        !self.is_by_itself() && self.inner.can_quick_complete()
    }

    fn can_partially_complete(
        &mut self,
        values_updated: bool,
        editor: &mut Editor,
        completer: &mut dyn Completer,
    ) -> bool {
        if !self.is_by_itself() {
            return self.inner.can_partially_complete(values_updated, editor, completer);
        }
        // Tab behind letters that came with it takes what fits them all.
        if !self.behind {
            return false;
        }
        self.update_values(editor, completer);
        let fits = !self.get_values().is_empty();
        if fits {
            self.replace_in_buffer(editor);
            self.inner.menu_event(MenuEvent::Deactivate);
        }
        fits
    }

    fn update_values(&mut self, editor: &mut Editor, completer: &mut dyn Completer) {
        self.inner.update_values(editor, completer);
        self.look();
    }

    fn reset_position(&mut self) {
        self.inner.reset_position();
    }

    fn update_working_details(
        &mut self,
        editor: &mut Editor,
        completer: &mut dyn Completer,
        painter: &Painter,
    ) {
        self.inner.update_working_details(editor, completer, painter);
        self.look();
    }

    fn replace_in_buffer(&self, editor: &mut Editor) {
        self.inner.replace_in_buffer(editor);
    }

    fn menu_required_lines(&self, terminal_columns: u16) -> u16 {
        if self.get_values().is_empty() {
            return 0;
        }
        self.inner.menu_required_lines(terminal_columns)
    }

    fn menu_string(&self, available_lines: u16, use_ansi_coloring: bool) -> String {
        if self.get_values().is_empty() {
            return String::new();
        }
        self.inner.menu_string(available_lines, use_ansi_coloring)
    }

    fn min_rows(&self) -> u16 {
        if self.get_values().is_empty() { 0 } else { self.inner.min_rows() }
    }

    fn get_values(&self) -> &[Suggestion] {
        if self.applies { self.inner.get_values() } else { &[] }
    }

    fn results_are_provisional(&self) -> bool {
        (self.is_by_itself() && self.behind) || self.inner.results_are_provisional()
    }

    fn is_awaiting_first_answer(&self) -> bool {
        self.inner.is_awaiting_first_answer()
    }
}
