//! What a tool says it will touch is what it touches, however its argument is written.

use std::fs;
use std::path::{Path, PathBuf};

use petasos_contract::SessionId;
use petasos_contract::effect::Effect;
use petasos_contract::path::TargetPath;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::bench::{Bench, put};

const BEFORE: [&str; 18] = [
    "",
    " ",
    "\t",
    "~/",
    " ~/",
    "~",
    "./",
    "../work/",
    "sub/../",
    "out/",
    "out/../",
    "back/",
    "back/../",
    "~/link/",
    "~/../work/",
    " sub/",
    "sub /",
    "~nobody-here/",
];
const NAMES: [&str; 8] = ["f", " f", "f ", "sub/f", "../f", "new", "", "."];
const PLACES: [&str; 3] = ["work", "work/sub", "home"];

/// Folders, files that hold their own real path, and links between them.
fn tree(bench: &Bench) {
    let folders =
        ["work", "work/sub", "work/ sub", "work/sub ", "work/~", "work/ ~", "home", "other"];
    for folder in folders {
        let folder = bench.root.join(folder);
        fs::create_dir_all(&folder).unwrap();
        for name in ["f", " f", "f "] {
            let file = folder.join(name);
            put(&file, format!("«{}»\n", file.display()));
        }
    }
    for (link, to) in [("work/out", "other"), ("work/back", "work/sub"), ("home/link", "work")] {
        std::os::unix::fs::symlink(bench.root.join(to), bench.root.join(link)).unwrap();
    }
}

/// Where a path leads, whether or not its end exists.
fn real(path: &Path) -> PathBuf {
    let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
    let named = || Some(parent?.join(path.file_name()?));
    path.canonicalize().ok().or_else(named).unwrap_or_else(|| path.to_owned())
}

fn stated(bench: &Bench, tool: &str, args: &Value) -> Vec<PathBuf> {
    let effects = bench.effects(tool, args);
    let paths = effects.iter().map(|effect| match effect {
        Effect::Write(path) | Effect::Read(path) => real(path),
        Effect::Command { cwd, .. } | Effect::Code { cwd, .. } => real(cwd),
        other => panic!("{other:?}"),
    });
    paths.collect()
}

/// Files that hold a text.
fn holding(folder: &Path, text: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            holding(&entry.path(), text, found);
        } else if kind.is_file()
            && fs::read_to_string(entry.path()).is_ok_and(|it| it.contains(text))
        {
            found.push(entry.path());
        }
    }
}

/// The real paths that a result quotes.
fn quoted(told: &Value) -> Vec<PathBuf> {
    let text = told.to_string();
    let parts = text.split('«').skip(1).filter_map(|part| part.split('»').next());
    parts.map(|part| PathBuf::from(part.replace("\\t", "\t"))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn what_is_stated_is_what_is_touched(
        before in prop::sample::select(&BEFORE[..]),
        name in prop::sample::select(&NAMES[..]),
        place in prop::sample::select(&PLACES[..]),
        absolute in prop::bool::weighted(0.1),
        after in prop::sample::select(&["", "", " ", "\n"][..]),
    ) {
        let mut bench = Bench::local(&json!({}));
        tree(&bench);
        bench.cx.session = SessionId::new("located");
        let cwd = TargetPath::new(bench.root.join(place));
        bench.ports.environments.as_ref().unwrap().set_cwd(&bench.cx, cwd);
        let mut path = format!("{before}{name}{after}");
        if absolute {
            path = bench.root.join("work").join(&path).display().to_string();
        }
        for (tool, args) in [
            ("read_file", json!({ "path": path })),
            ("search_files", json!({ "pattern": "«", "path": path })),
        ] {
            let stated = stated(&bench, tool, &args);
            for touched in quoted(&bench.run(tool, &args)) {
                let known = stated.iter().any(|path| touched.starts_with(path));
                prop_assert!(known, "{tool} {path:?} in {place}: {touched:?}, stated {stated:?}");
            }
        }
        let update = format!("*** Update File: {path}\n-«\n+«by v4a");
        for (tool, mark, args) in [
            ("patch", "by patch", json!({ "path": path, "old_string": "«", "new_string": "«by patch" })),
            ("patch", "by v4a", json!({ "mode": "patch", "patch": update })),
            ("write_file", "by write", json!({ "path": path, "content": "by write" })),
        ] {
            let stated = stated(&bench, tool, &args);
            bench.run(tool, &args);
            let mut touched = Vec::new();
            holding(&bench.root, mark, &mut touched);
            prop_assert!(
                touched.iter().all(|path| stated.contains(path)),
                "{tool} {path:?} in {place}: {touched:?}, stated {stated:?}"
            );
        }
        let args = json!({ "command": "pwd -P", "workdir": path });
        let stated = stated(&bench, "terminal", &args);
        let told = bench.run("terminal", &args);
        if told["exit_code"] == 0 {
            let entered = PathBuf::from(told["output"].as_str().unwrap().trim_end_matches('\n'));
            prop_assert_eq!(vec![entered], stated, "workdir {:?} in {}", path, place);
        }
    }
}
