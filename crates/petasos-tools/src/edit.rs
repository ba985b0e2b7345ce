//! Changing text: what `write_file` and `patch` do to a content before anything is written.
//!
//! Everything here is a pure function over strings. `text` keeps byte order mark and line ends,
//! `fuzzy` finds the place to change, `v4a` reads patches of many files, `diff` tells what
//! changed and `syntax` whether the result still parses. Nothing here touches a file.

pub(crate) mod diff;
pub(crate) mod fuzzy;
pub(crate) mod own_words;
pub(crate) mod replace;
pub(crate) mod syntax;
pub(crate) mod text;
pub(crate) mod v4a;
