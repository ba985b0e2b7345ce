//! Asking somebody at a terminal, and the words of a question wherever it is asked. Questions over
//! a chat or an editor are rows of the store and belong to the session.
//!
//! Every approver has a deadline of its own and ends in one of the distinct answers of the contract.
//! None of them decides: what must be asked about comes from the policy.

mod show;
mod terminal;
#[cfg(test)]
mod tests;

pub(crate) use show::{Look, shown, stored};
pub(crate) use terminal::{Console, Input, TerminalApprover};
