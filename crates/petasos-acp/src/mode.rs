//! The modes of a session in an editor: what is asked before it happens.

use agent_client_protocol_schema::v1::{SessionMode, SessionModeState};

/// How much is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Every edit, and every command that may change something.
    #[default]
    Ask,
    /// Edits inside the workspace are made without a question.
    AcceptEdits,
    /// Edits are made without a question, wherever they are.
    DontAsk,
    /// Nothing that writes or runs.
    Plan,
}

impl Mode {
    const ALL: [Self; 4] = [Self::Ask, Self::AcceptEdits, Self::DontAsk, Self::Plan];

    /// The mode of a name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.id() == name)
    }

    /// Its name on the wire.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Ask => "default",
            Self::AcceptEdits => "accept_edits",
            Self::DontAsk => "dont_ask",
            Self::Plan => "plan",
        }
    }

    /// Its name for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ask => "Ask",
            Self::AcceptEdits => "Accept edits",
            Self::DontAsk => "Do not ask",
            Self::Plan => "Plan",
        }
    }

    /// What it means, in a line.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Ask => "Asks before edits and before commands that may change something",
            Self::AcceptEdits => {
                "Edits inside the workspace without a question; protected files always ask"
            }
            Self::DontAsk => "Edits without a question; protected files and dangerous commands ask",
            Self::Plan => "Reads and thinks; nothing is written or run",
        }
    }

    /// All modes with this one chosen.
    pub(crate) fn state(self) -> SessionModeState {
        let mode = |mode: Self| {
            SessionMode::new(mode.id(), mode.name()).description(mode.about().to_owned())
        };
        SessionModeState::new(self.id(), Self::ALL.map(mode).to_vec())
    }

    /// Each mode as a value to choose: its id, its name, what it means.
    pub(crate) fn all() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
        Self::ALL.into_iter().map(|mode| (mode.id(), mode.name(), mode.about()))
    }
}
