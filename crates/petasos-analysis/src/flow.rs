//! What a tree does: values of variables, the current directory, what flows down
//! a pipe, and which commands run in the end. Never runs anything.
//!
//! `engine` walks the tree, `expand` turns words into arguments, `call` looks
//! through wrappers, `produce` predicts the output of plain text tools.

pub(crate) mod arithmetic;
pub(crate) mod brace;
pub(crate) mod builtin;
pub(crate) mod call;
mod compiled;
pub(crate) mod copies;
pub(crate) mod decode;
mod dialect;
mod embedded;
pub(crate) mod engine;
pub(crate) mod expand;
pub(crate) mod filter;
pub(crate) mod guess;
pub(crate) mod imports;
pub(crate) mod links;
mod loaded;
mod locals;
pub(crate) mod options;
pub(crate) mod parameter;
mod printed;
pub(crate) mod printf;
pub(crate) mod produce;
pub(crate) mod redirect;
pub(crate) mod rehearsal;
pub(crate) mod report;
mod roles;
mod scripts;
pub(crate) mod spelling;
pub(crate) mod state;
mod track;
pub(crate) mod triggers;
pub(crate) mod value;
