//! An Excel workbook as text: each sheet under its name, each row as its cells between tabs.
//!
//! Cells are taken one after the other: a single cell at the far corner of a sheet must not make
//! room for the billions before it.

use std::io::Cursor;

use calamine::{DataRef, ExcelDateTime, Reader, Xlsx};

use super::{CUT, TEXT_MAX, unpacked};

/// More columns than anybody reads.
const COLUMNS_MAX: u32 = 256;

/// The text of a workbook.
pub(super) fn text(bytes: &[u8]) -> Result<String, String> {
    drop(unpacked(bytes)?);
    let mut book = Xlsx::new(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    let mut text = String::new();
    for name in book.sheet_names() {
        text.extend(["# sheet: ", name.as_str(), "\n"]);
        sheet(&mut book, &name, &mut text).map_err(|why| format!("sheet `{name}`: {why}"))?;
        text.push('\n');
        if text.len() > TEXT_MAX {
            text.push_str(CUT);
            break;
        }
    }
    Ok(text)
}

fn sheet(book: &mut Xlsx<Cursor<&[u8]>>, name: &str, text: &mut String) -> Result<(), String> {
    let mut cells = book.worksheet_cells_reader(name).map_err(|error| error.to_string())?;
    let mut at: Option<(u32, u32)> = None;
    while let Some(cell) = cells.next_cell().map_err(|error| error.to_string())? {
        let (row, column) = cell.get_position();
        let shown = shown(cell.get_value());
        if shown.is_empty() || column >= COLUMNS_MAX {
            continue;
        }
        let before = match at {
            Some((last, before)) if last == row => before,
            Some(_) => {
                text.push('\n');
                0
            }
            None => 0,
        };
        text.push_str(&"\t".repeat(column.saturating_sub(before) as usize));
        text.push_str(&shown);
        at = Some((row, column));
        if text.len() > TEXT_MAX {
            return Ok(());
        }
    }
    if at.is_some() {
        text.push('\n');
    }
    Ok(())
}

fn shown(value: &DataRef<'_>) -> String {
    match value {
        DataRef::Int(number) => number.to_string(),
        DataRef::Float(number) => number.to_string(),
        DataRef::String(text) => one_line(text),
        DataRef::SharedString(text) => one_line(text),
        DataRef::Bool(true) => "TRUE".to_owned(),
        DataRef::Bool(false) => "FALSE".to_owned(),
        DataRef::DateTime(moment) => dated(*moment),
        DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => text.clone(),
        DataRef::Error(error) => error.to_string(),
        DataRef::Empty => String::new(),
    }
}

/// A cell is one field of one line.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r', '\t'], " ")
}

fn dated(moment: ExcelDateTime) -> String {
    if moment.is_duration() {
        return moment.as_f64().to_string();
    }
    let (year, month, day, hour, minute, second, _) = moment.to_ymd_hms_milli();
    let date = format!("{year:04}-{month:02}-{day:02}");
    let time = format!("{hour:02}:{minute:02}:{second:02}");
    match (moment.as_f64() < 1.0, (hour, minute, second)) {
        (true, _) => time,
        (false, (0, 0, 0)) => date,
        (false, _) => format!("{date} {time}"),
    }
}
