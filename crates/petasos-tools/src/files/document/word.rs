//! A Word document as text: paragraphs, headings and list items as lines, table rows with bars.

use quick_xml::Reader;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};

use super::{CUT, TEXT_MAX, part, unpacked};

/// The text of a document.
pub(super) fn text(bytes: &[u8]) -> Result<String, String> {
    let mut archive = unpacked(bytes)?;
    let xml = part(&mut archive, "word/document.xml")?;
    let mut body = Body::default();
    let mut reader = Reader::from_str(&xml);
    loop {
        match reader.read_event().map_err(|error| error.to_string())? {
            Event::Eof => break,
            Event::Start(tag) => body.open(&tag),
            Event::Empty(tag) => {
                body.open(&tag);
                body.close(tag.local_name().into_inner());
            }
            Event::End(tag) => body.close(tag.local_name().into_inner()),
            Event::Text(text) if body.is_text => body.line.push_str(&text.xml10_content()),
            Event::CData(text) if body.is_text => body.line.push_str(&text.xml10_content()),
            Event::GeneralRef(entity) if body.is_text => body.entity(&entity),
            _ => {}
        }
        if body.text.len() > TEXT_MAX {
            body.text.push_str(CUT);
            break;
        }
    }
    Ok(body.text)
}

#[derive(Default)]
struct Body {
    text: String,
    line: String,
    /// Inside a run's text, and not in what stands between the tags.
    is_text: bool,
    /// Before the paragraph: the marks of a heading or a list item.
    mark: String,
    /// Rows that are open, one inside the other; each with its cells so far.
    rows: Vec<Vec<String>>,
    cells: Vec<String>,
    /// How deep in something that repeats or defines and says nothing.
    aside: u32,
}

impl Body {
    fn open(&mut self, tag: &BytesStart<'_>) {
        match tag.local_name().into_inner() {
            "tabs" | "Fallback" => self.aside += 1,
            _ if self.aside > 0 => {}
            "t" => self.is_text = true,
            "tab" => self.line.push('\t'),
            "br" | "cr" => self.line.push('\n'),
            "noBreakHyphen" => self.line.push('-'),
            "pStyle" => self.styled(&value(tag)),
            "numPr" if self.mark.is_empty() => "- ".clone_into(&mut self.mark),
            "tr" => self.rows.push(Vec::new()),
            "tc" => self.cells.push(String::new()),
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "tabs" | "Fallback" => self.aside = self.aside.saturating_sub(1),
            _ if self.aside > 0 => {}
            "t" => self.is_text = false,
            "p" => self.paragraph(),
            "tc" => {
                let cell = self.cells.pop().unwrap_or_default();
                if let Some(row) = self.rows.last_mut() {
                    row.push(cell.trim().replace('\n', " / "));
                }
            }
            "tr" => {
                let row = self.rows.pop().unwrap_or_default();
                self.put(&format!("| {} |\n", row.join(" | ")));
            }
            "tbl" => self.put("\n"),
            _ => {}
        }
    }

    fn paragraph(&mut self) {
        let line = std::mem::take(&mut self.line);
        let mark = std::mem::take(&mut self.mark);
        self.put(&format!("{mark}{line}\n"));
    }

    /// Into the cell that is open, or the text.
    fn put(&mut self, text: &str) {
        self.cells.last_mut().unwrap_or(&mut self.text).push_str(text);
    }

    fn styled(&mut self, style: &str) {
        if style.eq_ignore_ascii_case("title") {
            "# ".clone_into(&mut self.mark);
        }
        let level = style.to_ascii_lowercase();
        let level = level.strip_prefix("heading").and_then(|level| level.parse::<usize>().ok());
        if let Some(level) = level {
            self.mark = format!("{} ", "#".repeat(level.clamp(1, 9)));
        }
    }

    fn entity(&mut self, entity: &BytesRef<'_>) {
        if let Ok(Some(letter)) = entity.resolve_char_ref() {
            self.line.push(letter);
        } else if let Some(known) = resolve_xml_entity(&entity.xml10_content()) {
            self.line.push_str(known);
        }
    }
}

/// The one value of a tag, `w:val`.
fn value(tag: &BytesStart<'_>) -> String {
    let found = tag.attributes().flatten().find(|at| at.key.local_name().into_inner() == "val");
    found.map(|at| at.value.into_owned()).unwrap_or_default()
}
