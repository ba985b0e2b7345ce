//! The completion menus: one that Tab opens, and one that opens by itself while the name of a
//! command is typed. Where nothing fits, nothing is shown and Enter sends the line.

use reedline::{
    ColumnarMenu, Completer, Editor, Menu, MenuBuilder as _, MenuEvent, MenuSettings, Painter,
    Suggestion,
};

/// The menu that Tab opens.
pub(super) const TAB: &str = "completion";
/// The menu of commands.
pub(super) const COMMANDS: &str = "commands";

/// A menu that shows only what there is.
pub(super) struct QuietMenu {
    inner: ColumnarMenu,
    /// Only for a line that is the beginning of a command.
    commands_only: bool,
    applies: bool,
}

impl QuietMenu {
    /// The one for Tab.
    pub(super) fn tab(sign: &str) -> Self {
        Self::named(TAB, sign, false)
    }

    /// The one that opens with a slash.
    pub(super) fn commands(sign: &str) -> Self {
        Self::named(COMMANDS, sign, true)
    }

    /// The sign before the line stays what it is while a menu is open.
    fn named(name: &str, sign: &str, commands_only: bool) -> Self {
        let inner = ColumnarMenu::default().with_name(name).with_marker(sign);
        let inner = if commands_only { inner.with_columns(1) } else { inner };
        Self { inner, commands_only, applies: !commands_only }
    }

    fn look(&mut self, editor: &Editor) {
        if self.commands_only {
            let line = editor.get_buffer();
            self.applies = line.starts_with('/') && !line.contains(char::is_whitespace);
        }
    }
}

impl Menu for QuietMenu {
    fn settings(&self) -> &MenuSettings {
        self.inner.settings()
    }

    fn is_active(&self) -> bool {
        self.inner.is_active()
    }

    fn set_active(&mut self, active: bool) {
        self.inner.set_active(active);
    }

    fn clear_input(&mut self) {
        self.inner.clear_input();
    }

    fn menu_event(&mut self, event: MenuEvent) {
        // A menu that never completes by itself has to look up its own values.
        let event = match event {
            MenuEvent::Activate(_) if self.commands_only => MenuEvent::Activate(false),
            MenuEvent::Edit(_) if self.commands_only => MenuEvent::Edit(false),
            other => other,
        };
        self.inner.menu_event(event);
    }

    fn can_quick_complete(&self) -> bool {
        !self.commands_only && self.inner.can_quick_complete()
    }

    fn can_partially_complete(
        &mut self,
        values_updated: bool,
        editor: &mut Editor,
        completer: &mut dyn Completer,
    ) -> bool {
        !self.commands_only && self.inner.can_partially_complete(values_updated, editor, completer)
    }

    fn update_values(&mut self, editor: &mut Editor, completer: &mut dyn Completer) {
        self.look(editor);
        self.inner.update_values(editor, completer);
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
        self.look(editor);
        self.inner.update_working_details(editor, completer, painter);
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
        self.inner.results_are_provisional()
    }

    fn is_awaiting_first_answer(&self) -> bool {
        self.inner.is_awaiting_first_answer()
    }
}
