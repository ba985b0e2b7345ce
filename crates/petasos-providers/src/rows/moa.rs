//! Mixture of Agents.

use crate::row::{Auth, Row};

pub(super) const ROW: Row = Row {
    id: "moa",
    name: "Mixture of Agents",
    auth: Auth::Virtual,
    base_url: "moa://local",
    default_model: Some("default"),
    ..Row::EMPTY
};
