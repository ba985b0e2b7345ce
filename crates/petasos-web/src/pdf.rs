//! PDF as text, page by page. Such files are often hostile, so that this runs in a process of its
//! own with little to spend: `apart` starts it, and [`serve`] is what it does.

use std::io::{self, Read, Write};

use lopdf::{Document, LoadOptions};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

use crate::fault::WebError;

const PAGES_MAX: usize = 200;
/// What such a process may spend: bytes of memory, seconds of the processor.
const MEMORY_MAX: u64 = 1 << 30;
const SECONDS_MAX: u64 = 30;
/// Larger files are not fetched.
const FILE_BYTES_MAX: u64 = 32 << 20;
const STREAM_BYTES_MAX: usize = 50 << 20;
/// More is cut by whoever asked, who is told that there was more.
const CHARS_MAX: usize = crate::extract::STORED_CHARS_MAX + 1;
/// Pages with less text are pictures of text.
const CHARS_A_PAGE_MIN: usize = 20;

/// What the process says of a file.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Told {
    Text(String),
    Broken(String),
    Encrypted {},
    Scanned {},
}

impl Told {
    /// The text, or why there is none.
    pub(crate) fn text(self) -> Result<String, WebError> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Broken(why) => {
                Err(WebError::new("upstream", format!("the PDF is broken: {why}")))
            }
            Self::Encrypted {} => {
                Err(WebError::new("unsupported", "the PDF is encrypted; it cannot be read here"))
            }
            Self::Scanned {} => {
                let why = "the PDF holds no text: it seems to be scanned";
                Err(WebError::new("no_result", why)
                    .with("hint", "vision_analyze can read pictures of pages"))
            }
        }
    }
}

/// The whole life of the process: limits itself, reads one file and tells what it holds.
///
/// # Errors
///
/// When a limit cannot be set, the file cannot be read or nobody listens.
pub fn serve(input: impl Read, mut output: impl Write) -> io::Result<()> {
    for (what, most) in [
        (Resource::As, MEMORY_MAX),
        (Resource::Cpu, SECONDS_MAX),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
    ] {
        // What is narrower already stays.
        let most = Some(getrlimit(what).maximum.map_or(most, |max| max.min(most)));
        setrlimit(what, Rlimit { current: most, maximum: most })?;
    }
    let mut bytes = Vec::new();
    input.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    output.write_all(&serde_json::to_vec(&told(&bytes))?)?;
    output.flush()
}

fn told(bytes: &[u8]) -> Told {
    let limit =
        LoadOptions { max_decompressed_size: Some(STREAM_BYTES_MAX), ..LoadOptions::default() };
    let document = match Document::load_mem_with_options(bytes, limit) {
        Ok(document) => document,
        Err(error) => return Told::Broken(error.to_string()),
    };
    // Its own answer overlooks a lock that is written into the trailer.
    if document.is_encrypted() || document.trailer.get(b"Encrypt").is_ok() {
        return Told::Encrypted {};
    }
    let numbers: Vec<u32> = document.get_pages().keys().copied().collect();
    let (mut parts, mut chars) = (Vec::new(), 0);
    for number in numbers.iter().take(PAGES_MAX) {
        let page =
            document.extract_text_with_limit(&[*number], STREAM_BYTES_MAX).unwrap_or_default();
        let lines: Vec<String> = page
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .filter(|line| !line.is_empty())
            .collect();
        let page = lines.join("\n");
        chars += page.chars().count();
        parts.push(format!("## Page {number}\n\n{page}"));
        if chars > CHARS_MAX {
            break;
        }
    }
    if chars < CHARS_A_PAGE_MIN * parts.len().max(1) {
        return Told::Scanned {};
    }
    if numbers.len() > PAGES_MAX {
        parts.push(format!("…and {} more pages", numbers.len() - PAGES_MAX));
    }
    Told::Text(parts.join("\n\n").chars().take(CHARS_MAX).collect())
}
