//! Documents as text: notebooks, Word and Excel files.
//!
//! Only what a person would read comes out; layout, pictures and formulas stay behind. A document
//! is unpacked in memory and never grows past a limit, whatever it claims about itself.

mod excel;
mod notebook;
mod word;

use std::io::{Cursor, Read};
use std::path::Path;

use zip::ZipArchive;

/// A document is read whole.
pub(crate) const BYTES_MAX: u64 = 50_000_000;

/// What the parts of one may have together once they are unpacked.
const UNPACKED_MAX: u64 = 256 << 20;

/// Enough text for hundreds of pages.
const TEXT_MAX: usize = 16 << 20;

/// Stands at the end of what was cut.
const CUT: &str = "\n[the document is longer; the rest is left out]\n";

/// A kind of document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Document {
    /// Cells of code and text.
    Notebook,
    /// A text document.
    Word,
    /// Sheets of cells.
    Excel,
}

impl Document {
    /// The kind that a name says.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "ipynb" => Some(Self::Notebook),
            "docx" | "docm" => Some(Self::Word),
            "xlsx" | "xlsm" => Some(Self::Excel),
            _ => None,
        }
    }

    /// For the result.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Notebook => "notebook",
            Self::Word => "word",
            Self::Excel => "excel",
        }
    }

    /// Its text, or why there is none.
    pub(crate) fn text(self, bytes: &[u8]) -> Result<String, String> {
        match self {
            Self::Notebook => notebook::text(bytes).ok_or_else(|| "it has no cells".to_owned()),
            Self::Word => word::text(bytes),
            Self::Excel => excel::text(bytes),
        }
    }
}

/// Opens a packed document that does not claim to be larger than anybody reads.
fn unpacked(bytes: &[u8]) -> Result<ZipArchive<Cursor<&[u8]>>, String> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    let mut size: u64 = 0;
    for index in 0..archive.len() {
        let part = archive.by_index_raw(index).map_err(|error| error.to_string())?;
        size = size.saturating_add(part.size());
    }
    if size > UNPACKED_MAX {
        return Err(format!("it would have {size} bytes unpacked, which is too much"));
    }
    Ok(archive)
}

/// One part of a packed document as text.
fn part(archive: &mut ZipArchive<Cursor<&[u8]>>, name: &str) -> Result<String, String> {
    let part = archive.by_name(name).map_err(|error| format!("`{name}`: {error}"))?;
    let mut text = String::new();
    // The size in the table of contents is only a claim.
    let read = part.take(UNPACKED_MAX).read_to_string(&mut text);
    read.map_err(|error| format!("`{name}`: {error}"))?;
    Ok(text)
}

#[cfg(test)]
mod tests;
