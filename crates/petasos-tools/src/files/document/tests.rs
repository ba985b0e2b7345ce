//! Documents as their programs write them, made here part by part.

use std::io::Write;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;

fn packed(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in parts {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn word(body: &str) -> String {
    let xml = format!(
        "<?xml version=\"1.0\"?><w:document xmlns:w=\"urn:w\"><w:body>{body}</w:body></w:document>"
    );
    Document::Word.text(&packed(&[("word/document.xml", &xml)])).unwrap()
}

#[test]
fn a_word_document_is_its_paragraphs_lists_and_tables() {
    let run = |text: &str| format!("<w:r><w:t xml:space=\"preserve\">{text}</w:t></w:r>");
    let body = [
        "<w:p><w:pPr><w:pStyle w:val=\"Heading2\"/></w:pPr>",
        &run("A &amp; B"),
        "</w:p>\n  <w:p><w:pPr><w:tabs><w:tab w:val=\"left\"/></w:tabs></w:pPr>",
        &run("one "),
        &run("line&#233;"),
        "<w:r><w:tab/><w:delText>gone</w:delText><w:t>end</w:t></w:r></w:p>",
        "<w:p><w:pPr><w:numPr><w:ilvl w:val=\"0\"/></w:numPr></w:pPr>",
        &run("item"),
        "</w:p><w:tbl><w:tr><w:tc><w:p>",
        &run("x"),
        "</w:p><w:p>",
        &run("y"),
        "</w:p></w:tc><w:tc><w:p>",
        &run("z"),
        "</w:p></w:tc></w:tr></w:tbl>",
    ]
    .concat();
    assert_eq!(word(&body), "## A & B\none lineé\tend\n- item\n| x / y | z |\n\n");
}

const WORKBOOK: &str = r#"<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="Costs" sheetId="1" r:id="rId1"/></sheets></workbook>"#;
const ROOT: &str = r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#;
const LINKS: &str = r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>"#;
const STYLES: &str = r#"<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>"#;
const STRINGS: &str = r#"<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>name</t></si><si><t>two
lines</t></si></sst>"#;
const SHEET: &str = r#"<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>
<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c></row>
<row r="3"><c r="B3"><v>1.5</v></c><c r="C3" s="1"><v>45943</v></c><c r="D3" t="b"><v>1</v></c></row>
<row r="1048576"><c r="XFD1048576"><v>7</v></c></row>
</sheetData></worksheet>"#;

#[test]
fn a_workbook_is_its_rows_and_a_far_cell_costs_nothing() {
    let book = packed(&[
        ("_rels/.rels", ROOT),
        ("xl/workbook.xml", WORKBOOK),
        ("xl/_rels/workbook.xml.rels", LINKS),
        ("xl/styles.xml", STYLES),
        ("xl/sharedStrings.xml", STRINGS),
        ("xl/worksheets/sheet1.xml", SHEET),
    ]);
    let text = Document::Excel.text(&book).unwrap();
    assert_eq!(text, "# sheet: Costs\nname\t\ttwo lines\n\t1.5\t2025-10-13\tTRUE\n\n");
}

#[test]
fn what_is_no_document_says_so() {
    for (kind, bytes) in [
        (Document::Word, b"plain text".to_vec()),
        (Document::Word, packed(&[("other", "")])),
        (Document::Excel, packed(&[("other", "")])),
        (Document::Notebook, b"{}".to_vec()),
    ] {
        assert!(kind.text(&bytes).is_err(), "{kind:?}");
    }
    assert_eq!(Document::of(Path::new("a/B.DOCX")), Some(Document::Word));
    assert_eq!(Document::of(Path::new("a.doc")), None);
}
