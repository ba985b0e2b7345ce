//! Files that go along with a prompt, as `--file` and `--image` name them.

use std::path::PathBuf;

use petasos_contract::message::{Content, Part};
use petasos_session::attach;

use crate::report::Report;

/// What is said: the words, then the files, then the pictures.
pub(super) fn content(
    words: Vec<String>,
    files: &[PathBuf],
    images: &[PathBuf],
) -> Result<Content, Report> {
    let content =
        attach::content(words, files).map_err(|error| Report::usage(format!("--file: {error}")))?;
    if images.is_empty() {
        return Ok(content);
    }
    let mut parts = match content {
        Content::Text(text) => vec![Part::text(text)],
        Content::Parts(parts) => parts,
    };
    for file in images {
        let image = attach::image(file);
        parts.push(image.map_err(|error| Report::usage(format!("--image: {error}")))?);
    }
    Ok(Content::Parts(parts))
}
