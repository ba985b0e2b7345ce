//! Index of the programs that run other programs. Kept in step with the folder by the build; do not edit.

mod each;
mod elsewhere;
mod escapes;
mod git;
mod interpreters;
mod make;
mod petasos;
mod prefix;
mod remote;
mod runners;
mod shells;
mod transfer;
mod windows;

use crate::wrapper::Wrapper;

pub(crate) use each::{find_actions, find_roots, is_narrowed};
pub(crate) use interpreters::tcl_commands;
pub(crate) use make::rules as make_rules;

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub(crate) static WRAPPERS: &[&Wrapper] = &[
    &each::WRAPPER,
    &elsewhere::WRAPPER,
    &escapes::WRAPPER,
    &git::WRAPPER,
    &interpreters::WRAPPER,
    &make::WRAPPER,
    &petasos::WRAPPER,
    &prefix::WRAPPER,
    &remote::WRAPPER,
    &runners::WRAPPER,
    &shells::WRAPPER,
    &transfer::WRAPPER,
    &windows::WRAPPER,
];
