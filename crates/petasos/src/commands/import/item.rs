//! One thing of the other home, and what became of it.

use serde::Serialize;

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// It is here now, or would be.
    Taken,
    /// It was here already and stays as it is.
    Kept,
    /// It is not wanted here.
    LeftOut,
    /// It should have been taken.
    Failed,
}

/// One thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Item {
    pub(super) what: String,
    pub(super) state: State,
    pub(super) why: String,
}

impl Item {
    pub(super) fn taken(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), state: State::Taken, why: why.into() }
    }

    pub(super) fn kept(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), state: State::Kept, why: why.into() }
    }

    pub(super) fn left_out(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), state: State::LeftOut, why: why.into() }
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "it is what `map_err` and its like hand over"
    )]
    pub(super) fn failed(what: impl Into<String>, why: impl ToString) -> Self {
        Self { what: what.into(), state: State::Failed, why: why.to_string() }
    }
}
