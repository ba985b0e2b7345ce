//! Files: the parts that the file tools are made of.
//!
//! `site` says where the files are, `place` how a path is shown, `directory` where a program would
//! run, `guard` which files are not shown, `confine` which lie outside the sandbox; `judged` binds a file to the judgement of its call; `open` gets at the bytes, `kind` tells text from the
//! rest, `window` pages through text, `search` looks for it and `write` changes it.
//! Nothing here knows about tools or their JSON.

pub(crate) mod available;
mod buffers;
pub(crate) mod confine;
pub(crate) mod directory;
pub(crate) mod document;
pub(crate) mod guard;
pub(crate) mod judged;
pub(crate) mod kind;
pub(crate) mod line;
pub(crate) mod open;
pub(crate) mod place;
pub(crate) mod search;
pub(crate) mod similar;
pub(crate) mod site;
pub(crate) mod watch;
pub(crate) mod window;
pub(crate) mod write;
