//! Files on this machine: the parts that the file tools are made of.
//!
//! `place` says which path is meant, `guard` which files are not shown, `open` gets at the bytes,
//! `kind` tells text from the rest, `window` pages through text and `search` looks for it.
//! Nothing here writes, and nothing here knows about tools or their JSON.

pub(crate) mod guard;
pub(crate) mod kind;
pub(crate) mod line;
pub(crate) mod open;
pub(crate) mod place;
pub(crate) mod search;
pub(crate) mod similar;
pub(crate) mod watch;
pub(crate) mod window;
