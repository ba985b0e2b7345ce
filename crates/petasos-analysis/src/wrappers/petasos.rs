//! Our own program, which runs commands for its caller: its grammar is in `own_program`.

pub(super) use crate::own_program::WRAPPER;
