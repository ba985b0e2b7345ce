//! `read_file`: a numbered window of lines from one text file.
//!
//! It reads where the terminal is; what a window is and which files are refused is decided in
//! `files`, and `shape` words what the model reads. A page that the model has already is told in
//! one line, and one that it keeps asking for is refused.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use encoding_rs_io::DecodeReaderBytes;
use petasos_contract::bridging::{PlannedTool, Planning};
use petasos_contract::ports::Ports;
use petasos_contract::settings::{Section, SectionError};
use petasos_contract::tool::{Concurrency, Example, InPlanMode, Limit, Patch};
use petasos_contract::{
    Args, CallContext, Plan, Settings, ToolDef, ToolError, ToolName, ToolOutput,
};
use petasos_redact::Redactor;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::files::available::FILES;
use crate::files::document::{self, Document};
use crate::files::kind::{self, Kind};
use crate::files::open::Unreadable;
use crate::files::site::{About, FilePlace, Site, Sites, reads};
use crate::files::watch::Watch;
use crate::files::window::{self, Page, Window};
use crate::memory::{FileMemory, Fingerprint, Seen};
use crate::mention::{self, Mention};

mod print;
mod shape;

/// The definition.
pub(super) static TOOL: ToolDef = ToolDef {
    name: "read_file",
    toolset: "file",
    description: "Read a text file as numbered lines, page by page",
    emoji: "📖",
    core: true,
    idempotent: true,
    concurrency: Concurrency::ByPath { path: "path", alone: &[] },
    // Spilling a page to a file would only ask for another page.
    result_chars_max: Limit::Unlimited,
    check: Some(&FILES),
    schema,
    examples: EXAMPLES,
    build: |ports| Arc::new(Planning::new(ReadFile::new(ports))),
    in_plan_mode: InPlanMode::ByEffects,
    ..ToolDef::USUAL
};

const EXAMPLES: &[Example] = &[
    Example { title: "a whole file", args: r#"{"path":"README.md"}"#, shows: "1|# Sample" },
    Example {
        title: "two lines from the second on",
        args: r#"{"path":"src/main.rs","offset":2,"limit":2}"#,
        shows: r#""next_offset":4"#,
    },
    Example {
        title: "a name that is not quite right",
        args: r#"{"path":"readme.txt"}"#,
        shows: r#""similar_files":["README.md"]"#,
    },
];

const MENTIONS: &[Mention] =
    &[Mention { words: " Better than cat in the terminal.", tools: &["terminal"] }];

fn schema() -> Value {
    json!({
        "description": "Read a text file as lines `N|text`, page by page. Notebooks, Word and Excel \
            come as text; pictures and other binary files are refused. Better than cat in the \
            terminal.",
        "parameters": {
            "type": "object",
            "properties": {
                "path": { "type": "string" },
                "offset": {
                    "type": "integer",
                    "description": "First line",
                    "default": FIRST_LINE,
                    "minimum": FIRST_LINE
                },
                "limit": { "type": "integer", "default": LINES_USUAL, "maximum": 2000 }
            },
            "required": ["path"]
        }
    })
}

const FIRST_LINE: u64 = 1;
const LINES_USUAL: u64 = 500;

/// Long enough to count the lines of several gigabytes, short enough for a conversation.
const COUNTING_MAX: Duration = Duration::from_secs(20);

/// From so many requests for what the model has already on, it is refused.
const REPEATS_REFUSED: u32 = 3;

#[derive(Debug, Deserialize)]
struct Input {
    path: String,
    offset: Option<i64>,
    limit: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(default)]
struct OutputLimits {
    max_lines: u64,
    max_line_length: usize,
}

impl Default for OutputLimits {
    fn default() -> Self {
        Self { max_lines: 2000, max_line_length: 2000 }
    }
}

impl Section for OutputLimits {
    const NAME: &'static str = "tool_output";
}

#[derive(Debug, Deserialize)]
struct CharsMax(usize);

impl Default for CharsMax {
    fn default() -> Self {
        Self(100_000)
    }
}

impl Section for CharsMax {
    const NAME: &'static str = "file_read_max_chars";
}

struct ReadFile {
    sites: Sites,
    memory: Arc<FileMemory>,
}

impl ReadFile {
    fn new(ports: &Ports) -> Self {
        Self { sites: Sites::new(ports), memory: FileMemory::of(ports) }
    }

    /// The page, or a word when the model has it already.
    fn told(&self, mut read: Text, input: &Input, page: Page, cx: &CallContext) -> ToolOutput {
        if let Cow::Owned(redacted) = Redactor::of(&cx.settings).text(&read.window.content) {
            read.window.content = redacted;
        }
        let (path, shown) = (read.about.real.as_path(), read.window.content.as_str());
        let of = (path, page.first, page.lines_max);
        let seen = self.memory.page(cx, of, shown);
        let in_a_row = match seen {
            Seen::New => {
                self.memory.progressed(cx);
                self.memory.repeated(cx, of)
            }
            Seen::Unchanged(_) => self.memory.repeated(cx, of),
        };
        self.memory.saw(cx, path, read.print);
        match seen {
            Seen::New => ToolOutput::json(&shape::told(&read, input, page)),
            Seen::Unchanged(times) if times >= REPEATS_REFUSED || in_a_row > REPEATS_REFUSED => {
                shape::repeated(&input.path, times + 1)
            }
            Seen::Unchanged(_) => shape::unchanged(&input.path, in_a_row),
        }
    }
}

/// A read that was planned.
struct Work {
    input: Input,
    place: FilePlace,
    path: PathBuf,
    /// What was there.
    about: Result<About, Unreadable>,
}

impl PlannedTool for ReadFile {
    type Work = Option<Work>;

    fn schema_patch(&self, granted: &BTreeSet<ToolName>) -> Result<Patch, ToolError> {
        Ok(mention::patch(schema, MENTIONS, granted))
    }

    fn plan(&self, args: Args, cx: &CallContext) -> Result<(Plan, Option<Work>), ToolError> {
        let input: Input = args.clone().parse()?;
        if input.path.trim().is_empty() {
            return Ok((Plan::new(args), None));
        }
        let place = self.sites.find(cx)?;
        let site = place.site(cx);
        let path = site.resolve(&input.path);
        let about = site.look(&path);
        let plan = place.plan(args).with_effects(reads(&path, about.as_ref().ok()));
        Ok((plan, Some(Work { input, place, path, about })))
    }

    fn call(&self, work: Option<Work>, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let Some(Work { input, place, path, about }) = work else {
            return Ok(ToolOutput::plain_error("`path` is empty: name the file to read"));
        };
        let page = page(&input, &cx.settings)
            .map_err(|error| ToolError::new("InvalidConfiguration", error.to_string()))?;
        let site = place.site(cx);
        let read = about.map_err(Failure::from).and_then(|about| read(&path, about, page, &site));
        match read {
            Ok(read) => Ok(self.told(read, &input, page, cx)),
            Err(Failure::Unreadable(unreadable)) => {
                Ok(shape::unreadable(&path, &unreadable, &site))
            }
            Err(Failure::NotText(kind)) => Ok(shape::not_text(&path, kind, &site)),
            Err(Failure::Document(kind, why)) => Ok(shape::no_document(&path, kind, &why, &site)),
            Err(Failure::Cancelled) => Err(ToolError::new("Cancelled", "the call was cancelled")),
        }
    }
}

fn page(input: &Input, settings: &Settings) -> Result<Page, SectionError> {
    let limits: OutputLimits = settings.section()?;
    let CharsMax(chars_max) = settings.section()?;
    let asked = input.limit.map_or(LINES_USUAL, |limit| u64::try_from(limit).unwrap_or(1));
    Ok(Page {
        first: input.offset.map_or(FIRST_LINE, |offset| u64::try_from(offset).unwrap_or(1)).max(1),
        lines_max: asked.clamp(1, limits.max_lines.max(1)),
        line_chars_max: limits.max_line_length.max(1),
        chars_max,
    })
}

enum Failure {
    Unreadable(Unreadable),
    NotText(Kind),
    Document(Document, String),
    Cancelled,
}

impl<E: Into<Unreadable>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Unreadable(error.into())
    }
}

/// A page of a file, and what the file was.
struct Text {
    window: Window,
    about: About,
    file_size: u64,
    document: Option<Document>,
    print: Fingerprint,
}

fn read(path: &Path, about: About, page: Page, site: &Site<'_>) -> Result<Text, Failure> {
    if about.is_folder {
        return Err(Unreadable::Folder.into());
    }
    if let Some(kind) = Document::of(path).filter(|_| about.size <= document::BYTES_MAX) {
        let bytes = site.bytes(&about, document::BYTES_MAX)?;
        match kind.text(&bytes) {
            Ok(text) => return extracted((kind, &text), &bytes, page, about, site),
            // Any JSON is text and can be shown as such.
            Err(_) if kind == Document::Notebook => {}
            Err(why) => return Err(Failure::Document(kind, why)),
        }
    }
    if let Some(kind) = kind::by_name(path).or_else(|| kind::by_name(&about.real)) {
        return Err(Failure::NotText(kind));
    }
    let mut file = print::Printed::new(site.reader(&about)?);
    let sample = sample(&mut file)?;
    let kind = kind::by_content(&sample);
    let bytes = Cursor::new(sample).chain(&mut file);
    let watch = Watch::new(site.cx, COUNTING_MAX);
    let window = match kind {
        Kind::Text => window::read(bytes, page, &watch)?,
        Kind::Utf16 => window::read(DecodeReaderBytes::new(bytes), page, &watch)?,
        Kind::Image | Kind::Binary => return Err(Failure::NotText(kind)),
    };
    let window = window.ok_or(Failure::Cancelled)?;
    // Files that the kernel makes up while they are read say that they are empty.
    let file_size = if about.size == 0 { window.total_bytes } else { about.size };
    let print = Fingerprint {
        size: about.size,
        modified_ns: about.modified_ns,
        content: if window.is_partial { None } else { file.content() },
    };
    Ok(Text { window, about, file_size, document: None, print })
}

fn extracted(
    (kind, text): (Document, &str),
    bytes: &[u8],
    page: Page,
    about: About,
    site: &Site<'_>,
) -> Result<Text, Failure> {
    let watch = Watch::new(site.cx, COUNTING_MAX);
    let window = window::read(text.as_bytes(), page, &watch)?.ok_or(Failure::Cancelled)?;
    let file_size = about.size;
    let print = Fingerprint::of(bytes);
    Ok(Text { window, about, file_size, document: Some(kind), print })
}

fn sample(file: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut sample = Vec::with_capacity(kind::SAMPLE_BYTES);
    file.take(kind::SAMPLE_BYTES as u64).read_to_end(&mut sample)?;
    Ok(sample)
}
