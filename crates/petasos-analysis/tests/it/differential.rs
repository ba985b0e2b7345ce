//! A second reader of shell grammar agrees on what is valid.

use petasos_analysis::{Facts, judge_command};
use serde_json::Value;

fn second_reader_accepts(command: &str) -> bool {
    let options = brush_parser::ParserOptions::default();
    let mut parser =
        brush_parser::Parser::new(std::io::BufReader::new(command.as_bytes()), &options);
    parser.parse_program().is_ok()
}

#[test]
fn what_the_second_reader_accepts_is_not_malformed_for_us() {
    let facts = Facts::default();
    let mut wrong = Vec::new();
    for text in [include_str!("../data/dev.jsonl"), include_str!("../data/own.jsonl")] {
        for line in text.lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            let command = row["command"].as_str().unwrap();
            let ours = !judge_command(command, &facts)
                .findings
                .iter()
                .any(|finding| finding.rule == "malformed command");
            if second_reader_accepts(command) && !ours {
                wrong.push(command.to_owned());
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
