//! Files that go along with a prompt, as `--file` names them.

use std::path::PathBuf;

use petasos_contract::message::Content;

use crate::report::Report;

/// What is said: the words, then the files.
pub(super) fn content(words: Vec<String>, files: &[PathBuf]) -> Result<Content, Report> {
    petasos_session::attach::content(words, files)
        .map_err(|error| Report::usage(format!("--file: {error}")))
}
