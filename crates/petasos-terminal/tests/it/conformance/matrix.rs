//! The matrix on the page about backends: held against what a run saw, or written from it.

use std::path::{Path, PathBuf};

/// The beginning of the header of the table.
const HEAD: &str = "| case |";

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/backends.md")
}

fn cells(line: &str) -> Vec<String> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
    inner.split(" | ").map(|cell| cell.trim().to_owned()).collect()
}

/// Fails when the page says something else than this run saw; with `PETASOS_MATRIX=write` the
/// page is made to say it.
#[expect(clippy::disallowed_methods, reason = "the command that writes the page sets a variable")]
pub(super) fn keep(bed: &str, column: &[(&str, &str)]) {
    let text = std::fs::read_to_string(page()).unwrap();
    let new = with(&text, bed, column);
    if std::env::var("PETASOS_MATRIX").is_ok_and(|wish| wish == "write") {
        std::fs::write(page(), new).unwrap();
    } else {
        let advice = "run `PETASOS_MATRIX=write scripts/test conforms` and look at the page";
        let differs = |(old, new): &(&str, &str)| old != new;
        let rows: Vec<_> = text.lines().zip(new.lines()).filter(differs).collect();
        assert!(text == new, "the page is not what {bed} does: {advice}: {rows:#?}");
    }
}

/// The page with this column, and with exactly these rows.
fn with(text: &str, bed: &str, column: &[(&str, &str)]) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let start = lines.iter().position(|line| line.starts_with(HEAD)).expect("a table of cases");
    let end = lines.iter().skip(start).position(|line| !line.starts_with('|'));
    let end = end.map_or(lines.len(), |end| start + end);
    let (before, rest) = lines.split_at(start);
    let (table, after) = rest.split_at(end - start);
    let (mut header, old) = (cells(table[0]), &table[2..]);
    let at = header.iter().position(|name| name == bed).unwrap_or(header.len());
    if at == header.len() {
        header.push(bed.to_owned());
    }
    let rows = column.iter().map(|(case, word)| {
        let known = old.iter().map(|line| cells(line)).find(|row| row[0] == *case);
        let mut row = known.unwrap_or_else(|| vec![(*case).to_owned()]);
        row.resize(header.len(), "–".to_owned());
        (*word).clone_into(&mut row[at]);
        row
    });
    let line = |row: &[String]| format!("| {} |", row.join(" | "));
    let mut new: Vec<String> = before.iter().map(|line| (*line).to_owned()).collect();
    new.extend([line(&header), format!("|{}", "---|".repeat(header.len()))]);
    new.extend(rows.map(|row| line(&row)));
    new.extend(after.iter().map(|line| (*line).to_owned()));
    new.join("\n") + "\n"
}

#[test]
fn a_column_is_written_and_the_others_stay() {
    let text =
        "# x\n\n| case | a | b |\n|---|---|---|\n| one | yes | no |\n| old | yes | yes |\n\nend\n";
    let new = with(text, "c, d", &[("one", "yes"), ("two", "no")]);
    let expected = "# x\n\n| case | a | b | c, d |\n|---|---|---|---|\n| one | yes | no | yes |\n\
                    | two | – | – | no |\n\nend\n";
    assert_eq!(new, expected);
    assert_eq!(with(&new, "c, d", &[("one", "yes"), ("two", "no")]), new);
}
