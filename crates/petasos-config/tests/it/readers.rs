//! Every key is obeyed by somebody or marked as reserved. Held against the sources, because a
//! documented setting that nothing reads is a lie nobody notices.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use petasos_config::explain::explain;
use petasos_config::keys::{self, Key};
use petasos_config::load;

use crate::Setting;

/// The production sources of each crate but this one, without comments and unit tests.
fn sources() -> BTreeMap<String, String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(crates).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        if matches!(name.as_str(), "petasos-config" | "petasos-testkit" | "petasos-index") {
            continue;
        }
        let mut text = String::new();
        walk(&folder.join("src"), &mut text);
        all.insert(name, text);
    }
    assert!(all.len() > 8, "the sources are beside this crate: {:?}", all.keys());
    all
}

fn walk(folder: &Path, text: &mut String) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path: PathBuf = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            walk(&path, text);
        } else if path.extension().is_some_and(|ext| ext == "rs") && name != "tests" {
            let whole = std::fs::read_to_string(&path).unwrap();
            let production = whole.split("\nmod tests {").next().unwrap_or_default();
            let lines = production.lines().filter(|line| !line.trim_start().starts_with("//"));
            lines.for_each(|line| {
                text.push_str(line);
                text.push('\n');
            });
        }
    }
}

/// Whether the whole path is written somewhere, or begins a text that is filled in.
fn is_named(key: &Key, sources: &BTreeMap<String, String>) -> bool {
    let fixed = key.path.split(['*', '@']).next().unwrap_or_default();
    let pattern = key.is_pattern();
    sources.values().any(|text| {
        (!pattern && text.contains(&format!("\"{}\"", key.path)) && key.path.contains('.'))
            || (pattern && key.path.ends_with(".*") && text.contains(&format!("\"{fixed}{{")))
    })
}

/// Whether the snapshot is asked for the key by its whole name.
fn is_got(key: &Key, sources: &BTreeMap<String, String>) -> bool {
    let forms = ["get", "names", "text"].map(|method| format!("{method}(\"{}\")", key.path));
    sources.values().any(|text| forms.iter().any(|form| text.contains(form)))
}

/// A key at the root is asked for by name, with a method of the snapshot.
fn is_asked_for(key: &Key, sources: &BTreeMap<String, String>) -> bool {
    let path = key.path;
    let asked = [
        format!("get(\"{path}\")"),
        format!("get(\"{path}."),
        format!("names(\"{path}\")"),
        format!("text(\"{path}\")"),
        format!("(settings, \"{path}\")"),
        format!("NAME: &'static str = \"{path}\""),
        format!("NAME: &str = \"{path}\""),
        format!("KEY: &str = \"{path}\""),
        format!("\"{path}.{{"),
        format!("[\"{path}\""),
        format!(", \"{path}\"]"),
        format!("&[\"{path}\", \"agent."),
        format!("\"{path}\".to_owned()"),
        format!("per_user(\"{path}\""),
        // A chat platform's section has its name.
        format!("    name: \"{path}\""),
    ];
    !path.contains('.') && sources.values().any(|text| asked.iter().any(|form| text.contains(form)))
}

/// Whether one crate reads the section and has the last name as a field or a text.
fn is_field(key: &Key, sources: &BTreeMap<String, String>) -> bool {
    let names: Vec<&str> = key.path.split('.').collect();
    let fixed: Vec<&str> =
        names.iter().copied().take_while(|name| *name != "*" && *name != "@task").collect();
    let around = if fixed.len() == names.len() { fixed.len() - 1 } else { fixed.len() };
    let last = names.iter().rfind(|name| **name != "*" && **name != "@task").unwrap();
    let section = |text: &str| {
        (1..=around).any(|length| {
            let section = fixed[..length].join(".");
            text.contains(&format!("\"{section}\"")) || text.contains(&format!("\"{section}."))
        })
    };
    let field = |text: &str| {
        text.contains(&format!("\"{last}\""))
            || text.contains(&format!(" {last}: "))
            || text.contains(&format!("\"{last}_"))
    };
    let entry = format!("\"{}.{{", key.path);
    let read = |text: &String| section(text) && field(text) || text.contains(&entry);
    key.path.contains('.') && sources.values().any(read)
}

#[test]
fn every_key_has_a_reader_or_is_reserved() {
    let sources = sources();
    let dead: Vec<&str> = keys::all()
        .filter(|key| key.reserved.is_none())
        .filter(|key| {
            !is_named(key, &sources) && !is_asked_for(key, &sources) && !is_field(key, &sources)
        })
        .map(|key| key.path)
        .collect();
    assert_eq!(dead, [""; 0], "read these, or mark them with `.reserved(..)`");
}

#[test]
fn what_is_reserved_is_read_by_nobody() {
    let sources = sources();
    let alive: Vec<&str> = keys::all()
        .filter(|key| key.reserved.is_some())
        .filter(|key| is_named(key, &sources) || is_got(key, &sources))
        .map(|key| key.path)
        .collect();
    assert_eq!(alive, [""; 0], "these are read: take the mark away");
}

#[test]
fn a_reserved_key_says_that_it_has_no_effect() {
    let setting = Setting::new().user("agent: {prefill_messages_file: a.json, max_turns: 3}\n");
    let settings = load(&setting.inputs()).unwrap();
    let said: Vec<&str> = settings.notices().iter().map(|notice| notice.key.as_str()).collect();
    assert_eq!(said, ["agent.prefill_messages_file"]);
    assert!(settings.notices()[0].what.starts_with("reserved: no effect in this version"));
    let explained = explain(&settings, "agent.prefill_messages_file");
    assert!(explained.reserved.unwrap().contains("it waits for"));
    assert_eq!(explain(&settings, "agent.max_turns").reserved, None);
    let needless = explain(&settings, "display.persistent_output").reserved.unwrap();
    assert!(!needless.contains("waits") && needless.contains("the terminal keeps"), "{needless}");
    let silent = Setting::new();
    assert!(load(&silent.inputs()).unwrap().notices().is_empty());
}
