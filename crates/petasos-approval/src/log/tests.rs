//! The chain holds, tells what was changed, and survives a killed writer.

use super::*;
use petasos_contract::approval::{Intent, Settlement, Verdict};
use petasos_contract::context::Surface;
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::{CallContext, Plan, SessionId, Settings, ToolName};
use std::sync::Arc;

use crate::policy::decision::Decision;

fn add(home: &Path, script: &str) {
    let settings = Arc::new(Settings::from_values(serde_json::Map::new()));
    let cx = CallContext::new(settings, Surface::Cli, SessionId::new("s"));
    let tool = ToolName::new("terminal");
    let effects = Effects::one(Effect::Command { script: script.to_owned(), cwd: "/".into() });
    let intent =
        Intent { tool: &tool, plan: &Plan::default().with_effects(effects), escalated: &[] };
    let settled = Settlement { intent: &intent, verdict: &Verdict::Allow, answer: None };
    let decision = Decision {
        verdict: Verdict::Allow,
        observed: Vec::new(),
        commands: Vec::new(),
        written: Vec::new(),
        reading: petasos_contract::approval::Reading::default(),
    };
    append(home, entry(&settled, &decision, &cx)).unwrap();
}

fn rewrite(home: &Path, change: impl Fn(&str) -> String) {
    let text = std::fs::read_to_string(file(home)).unwrap();
    petasos_fs::write(&file(home), change(&text).as_bytes(), petasos_fs::Mode::Exactly(0o600))
        .unwrap();
}

fn three() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    for script in ["one", "two", "three"] {
        add(home.path(), script);
    }
    home
}

#[test]
fn an_untouched_log_holds_and_reads_back() {
    let home = three();
    let found = verify(home.path()).unwrap();
    assert_eq!((found.entries, found.broken, found.torn.len()), (3, None, 0));
    assert_eq!(found.head.unwrap().len(), 64);
    let entries = read(home.path(), 2).unwrap();
    let subjects: Vec<&str> = entries.iter().map(|entry| entry.subject.as_str()).collect();
    assert_eq!(subjects, ["two", "three"]);
    assert_eq!(entries.last().unwrap().seq, 3);
}

#[test]
fn a_changed_a_removed_and_an_exchanged_line_are_found() {
    type Change = fn(Vec<&str>) -> Vec<&str>;
    let cases: [(Change, u64); 3] = [
        (|mut lines| [lines.remove(0), lines.remove(1)].into(), 2),
        (|mut lines| lines.split_off(1), 1),
        // Garbling a line is no way to pass it off as half written.
        (|lines| vec![lines[0], "{", lines[2]], 3),
    ];
    for (change, line) in cases {
        let home = three();
        rewrite(home.path(), |text| change(text.lines().collect()).join("\n"));
        assert_eq!(verify(home.path()).unwrap().broken.unwrap().line, line);
    }
    let home = three();
    rewrite(home.path(), |text| text.replace("\"two\"", "\"too\""));
    assert_eq!(verify(home.path()).unwrap().broken.unwrap().line, 2);
}

#[test]
fn a_half_line_of_a_killed_writer_is_told_and_the_chain_goes_on() {
    let home = three();
    rewrite(home.path(), |text| format!("{text}{{\"seq\":4,\"at\":17"));
    add(home.path(), "four");
    add(home.path(), "five");
    let found = verify(home.path()).unwrap();
    assert_eq!((found.entries, found.broken, found.torn), (5, None, vec![4]));
}

#[test]
fn many_writers_make_one_chain() {
    let home = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..25).for_each(|_| add(home.path(), "x")));
        }
    });
    let found = verify(home.path()).unwrap();
    assert_eq!((found.entries, found.broken), (100, None));
}
