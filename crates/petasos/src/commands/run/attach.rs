//! Files that go along with a prompt: text inside marks that name them, images as images.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use petasos_contract::message::{Content, Part};

use crate::report::Report;

/// More text than this belongs into the workspace, where the agent can page through it.
const TEXT_MAX: u64 = 512 * 1024;
const IMAGE_MAX: u64 = 20 * 1024 * 1024;

/// What is said: the words, then the files.
pub(super) fn content(mut words: Vec<String>, files: &[PathBuf]) -> Result<Content, Report> {
    let mut images = Vec::new();
    for file in files {
        match kind(file) {
            Some(kind) => images.push(image(file, kind)?),
            None => words.push(text(file)?),
        }
    }
    let words = words.join("\n\n");
    if images.is_empty() {
        return Ok(Content::Text(words));
    }
    let mut parts = vec![Part::text(words.as_str())];
    parts.extend(images);
    Ok(Content::Parts(parts))
}

fn text(file: &Path) -> Result<String, Report> {
    let bytes = read(file, TEXT_MAX)?;
    let text = String::from_utf8(bytes).map_err(|_| {
        bad(file, "is neither text nor an image").hint("give its path in the prompt instead")
    })?;
    Ok(format!("<file path=\"{}\">\n{}\n</file>", file.display(), text.trim_end()))
}

fn image(file: &Path, kind: &str) -> Result<Part, Report> {
    let bytes = read(file, IMAGE_MAX)?;
    let data = base64::engine::general_purpose::STANDARD.encode(bytes);
    Ok(Part::image(format!("data:image/{kind};base64,{data}").as_str()))
}

fn kind(file: &Path) -> Option<&'static str> {
    match file.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "png" => Some("png"),
        "jpg" | "jpeg" => Some("jpeg"),
        "gif" => Some("gif"),
        "webp" => Some("webp"),
        _ => None,
    }
}

fn read(file: &Path, most: u64) -> Result<Vec<u8>, Report> {
    let size = std::fs::metadata(file).map_err(|error| bad(file, &error.to_string()))?.len();
    if size > most {
        return Err(bad(file, &format!("has {size} bytes, more than {most}"))
            .hint("put it into the workspace and name its path in the prompt"));
    }
    std::fs::read(file).map_err(|error| bad(file, &error.to_string()))
}

fn bad(file: &Path, why: &str) -> Report {
    Report::usage(format!("`--file {}`: {why}", file.display()))
}
