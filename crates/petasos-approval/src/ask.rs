//! Asking somebody: at a terminal, over a chat or editor, or a reviewing model first (`smart`).
//!
//! Every approver has a deadline of its own and ends in one of the distinct answers of the contract.
//! None of them decides: what must be asked about comes from the policy.

mod desk;
mod record;
mod show;
mod store;
mod terminal;

use std::time::Duration;

use petasos_contract::Settings;

pub use desk::{Desk, Notifier};
pub use record::{AnswerError, Card, Decided, Reply, State};
pub use show::{Look, shown, stored};
pub use store::{answer, pending};
pub use terminal::{Console, Input, TerminalApprover};

use crate::settings::Approvals;

/// How long a question stays open, when the settings cannot be read: as long as by default.
fn patience(settings: &Settings, of: fn(&Approvals) -> Duration, default: Duration) -> Duration {
    Approvals::read(settings).map_or(default, |approvals| of(&approvals))
}
