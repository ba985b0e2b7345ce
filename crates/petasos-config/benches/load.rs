//! How long a start spends on its configuration.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set up has nothing to measure")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use petasos_config::{Inputs, load};

const TYPICAL: &str = include_str!("../tests/it/typical.yaml");

fn main() {
    divan::main();
}

/// A home in a directory of its own, removed at the end.
fn home(config: Option<&str>) -> (tempfile::TempDir, Inputs) {
    let dir = tempfile::tempdir().unwrap();
    if let Some(text) = config {
        let file = dir.path().join("config.yaml");
        petasos_fs::write(&file, text.as_bytes(), petasos_fs::Mode::KeepOr(0o600)).unwrap();
    }
    let mut environment: BTreeMap<String, String> = (0..60)
        .map(|n| (format!("SOME_VARIABLE_{n}"), "a value of some length".repeat(2)))
        .collect();
    environment.insert("PETASOS_HOME".to_owned(), dir.path().display().to_string());
    environment.insert("OPENAI_API_KEY".to_owned(), "sk-0123456789".to_owned());
    let cwd = PathBuf::from("/");
    (dir, Inputs { environment, cwd: cwd.clone(), user_home: Some(cwd), ..Inputs::default() })
}

#[divan::bench]
fn nothing_there(bencher: divan::Bencher<'_, '_>) {
    let (_dir, inputs) = home(None);
    bencher.bench(|| load(&inputs).unwrap());
}

#[divan::bench]
fn typical_file(bencher: divan::Bencher<'_, '_>) {
    let (_dir, inputs) = home(Some(TYPICAL));
    bencher.bench(|| load(&inputs).unwrap());
}

#[divan::bench]
fn get_of_a_default(bencher: divan::Bencher<'_, '_>) {
    let (_dir, inputs) = home(None);
    let settings = load(&inputs).unwrap();
    bencher.bench(|| petasos_config::explain::get(&settings, "terminal.timeout"));
}

#[divan::bench]
fn append_to_a_list_with_500_texts(bencher: divan::Bencher<'_, '_>) {
    let lines: Vec<String> = (0..500).map(|n| format!("  - category {n}\n")).collect();
    let text =
        TYPICAL.replace("command_allowlist:\n", &format!("command_allowlist:\n{}", lines.concat()));
    let (dir, _) = home(Some(&text));
    let file = dir.path().join("config.yaml");
    let mut flip = false;
    bencher.bench_local(|| {
        flip = !flip;
        let key = "command_allowlist";
        if flip {
            petasos_config::edit::append_to_list(&file, key, "one more").unwrap()
        } else {
            petasos_config::edit::remove_from_list(&file, key, "one more").unwrap()
        }
    });
}
