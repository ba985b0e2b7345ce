//! What a tool says it will touch is what it touches, however its argument is written.

use std::fs;
use std::path::{Path, PathBuf};

use petasos_contract::effect::{Effect, Effects};
use petasos_contract::path::TargetPath;
use petasos_contract::{Args, Cleared, SessionId, ToolOutput};
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

/// A call that is planned, then run as planned although its session has moved meanwhile.
struct Call {
    stated: Vec<PathBuf>,
    told: Value,
}

impl Call {
    fn of(bench: &Bench, tool: &str, args: &Value) -> Self {
        let tool = bench.tool(tool);
        let args = Args::try_from(args.clone()).unwrap();
        let environments = bench.ports.environments.as_ref().unwrap();
        let cwd = environments.cwd(&bench.cx);
        bench.runtime.block_on(async {
            let plan = tool.plan(args, &bench.cx).await.unwrap();
            let stated = plan.effects.iter().map(|effect| match effect {
                Effect::Write(path) | Effect::Read(path) => real(path),
                Effect::Command { cwd, .. } | Effect::Code { cwd, .. } => real(cwd),
                other => panic!("{other:?}"),
            });
            let stated = stated.collect();
            // Another call of the session goes elsewhere before this one runs.
            environments.set_cwd(&bench.cx, TargetPath::new(bench.root.join("other")));
            let told = tool.run(Cleared::new(plan), &bench.cx).await.unwrap();
            environments.set_cwd(&bench.cx, cwd);
            let ToolOutput::Text(text) = told else { panic!("not text") };
            Self { stated, told: serde_json::from_str(&text).unwrap() }
        })
    }
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
            let Call { stated, told } = Call::of(&bench, tool, &args);
            for touched in quoted(&told) {
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
            let Call { stated, .. } = Call::of(&bench, tool, &args);
            let mut touched = Vec::new();
            holding(&bench.root, mark, &mut touched);
            prop_assert!(
                touched.iter().all(|path| stated.contains(path)),
                "{tool} {path:?} in {place}: {touched:?}, stated {stated:?}"
            );
        }
        for (tool, args, output) in [
            ("terminal", json!({ "command": "pwd -P", "workdir": path }), "exit_code"),
            ("terminal", json!({ "command": "pwd -P" }), "exit_code"),
            ("execute_code", json!({ "code": "import os; print(os.getcwd())" }), "exit_code"),
        ] {
            let Call { stated, told } = Call::of(&bench, tool, &args);
            if told[output] == 0 {
                let entered = told["output"].as_str().unwrap().trim_end_matches('\n');
                prop_assert_eq!(vec![PathBuf::from(entered)], stated, "{} {} in {}", tool, args, place);
            }
        }
    }
}

#[test]
fn a_command_runs_with_the_exports_and_in_the_directory_that_were_judged() {
    let bench = Bench::local(&json!({}));
    tree(&bench);
    let run = |command: &str| bench.run("terminal", &json!({ "command": command }));
    run("export WHO=judged");
    run("cd sub");
    let tool = bench.tool("terminal");
    let args = Args::try_from(json!({ "command": "echo $WHO; pwd -P" })).unwrap();
    let plan = bench.runtime.block_on(tool.plan(args, &bench.cx)).unwrap();
    assert_eq!(plan.exports.get("WHO").map(String::as_str), Some("judged"));
    run("export WHO=later");
    run("cd /");
    let told = bench.runtime.block_on(tool.run(Cleared::new(plan), &bench.cx)).unwrap();
    let ToolOutput::Text(text) = told else { panic!() };
    let told: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(told["output"], format!("judged\n{}\n", bench.root.join("work/sub").display()));
}

#[test]
fn a_command_whose_directory_was_replaced_does_not_start() {
    let bench = Bench::local(&json!({}));
    tree(&bench);
    let folder = bench.root.join("work/sub");
    let ways: [(&str, &dyn Fn()); 4] = [
        ("gone", &|| fs::remove_dir_all(&folder).unwrap()),
        ("another one", &|| {
            fs::remove_dir_all(&folder).unwrap();
            // Made before the old one's number is free again.
            fs::rename(bench.root.join("other"), &folder).unwrap();
        }),
        ("a link", &|| {
            fs::remove_dir_all(&folder).unwrap();
            std::os::unix::fs::symlink(bench.root.join("home"), &folder).unwrap();
        }),
        ("there by now", &|| fs::create_dir_all(bench.root.join("work/late")).unwrap()),
    ];
    for (way, replace) in ways {
        let (tool, late) = (bench.tool("terminal"), way == "there by now");
        if !late {
            let _gone = fs::remove_file(&folder);
            fs::create_dir_all(&folder).unwrap();
        }
        let workdir = if late { bench.root.join("work/late") } else { folder.clone() };
        let args = json!({ "command": "touch ran", "workdir": workdir });
        let plan = tool.plan(Args::try_from(args).unwrap(), &bench.cx);
        let plan = bench.runtime.block_on(plan).unwrap();
        replace();
        let told = bench.runtime.block_on(tool.run(Cleared::new(plan), &bench.cx)).unwrap();
        let ToolOutput::Text(text) = told else { panic!() };
        let told: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(told["exit_code"], 126, "{way}: {told}");
        for place in ["work/sub", "work/late", "home", "work", "other"] {
            assert!(!bench.root.join(place).join("ran").exists(), "{way}: {place}");
        }
    }
}

/// The first call to a place that is not open yet is judged where it will act, not on this machine.
fn first_call(bench: &Bench) {
    let terminal = bench.effects("terminal", &json!({ "command": "echo x >> .bashrc" }));
    let cwd = bench.root.join("work");
    let script = "echo x >> .bashrc".to_owned();
    assert_eq!(terminal, Effects::one(Effect::Command { script, cwd }));
    let told = bench.run("terminal", &json!({ "command": "printf %s ~" }));
    let home = PathBuf::from(told["output"].as_str().unwrap());
    for (tool, args) in [
        ("write_file", json!({ "path": "~/.bashrc", "content": "" })),
        ("patch", json!({ "path": "~/.bashrc", "old_string": "a", "new_string": "b" })),
    ] {
        let write = Effect::Write(home.join(".bashrc"));
        assert_eq!(bench.effects(tool, &args).iter().next(), Some(&write), "{tool}");
    }
    let args = json!({ "command": "true", "workdir": "~/x/../y" });
    let stated = bench.effects("terminal", &args);
    let cwd = home.join("y");
    assert_eq!(stated, Effects::one(Effect::Command { script: "true".to_owned(), cwd }));
}

#[test]
fn a_first_call_over_ssh_is_judged_there() {
    let Some(bench) = Bench::ssh("a_first_call_over_ssh_is_judged_there") else { return };
    first_call(&bench);
    let Some(bench) = Bench::ssh("a_first_call_over_ssh_is_judged_there") else { return };
    let write = bench.effects("write_file", &json!({ "path": ".bashrc", "content": "" }));
    assert_eq!(write.iter().next(), Some(&Effect::Write(bench.root.join("work/.bashrc"))));
}

#[test]
fn a_first_call_in_a_container_is_judged_there() {
    let Some(bench) = Bench::docker("a_first_call_in_a_container_is_judged_there") else { return };
    first_call(&bench);
}

/// A database is the one that was judged, also when a link or a folder leads elsewhere by then.
#[test]
fn a_database_that_moved_is_not_asked() {
    for way in ["link", "folder", "file"] {
        let bench = Bench::new();
        for folder in ["real", "private"] {
            let path = bench.file(&format!("{folder}/a.db"), "");
            for query in ["CREATE TABLE t(x TEXT)", &format!("INSERT INTO t VALUES ('{folder}')")] {
                let ask = json!({ "database": path, "write": true, "query": query });
                assert_eq!(bench.run("sql_query", &ask)["success"], true);
            }
        }
        let (link, real) = (bench.path("link.db"), bench.path("real"));
        std::os::unix::fs::symlink(real.join("a.db"), &link).unwrap();
        let tool = bench.tool("sql_query");
        let args = json!({ "database": link, "query": "SELECT x FROM t" });
        let plan = tool.plan(Args::try_from(args).unwrap(), &bench.cx);
        let plan = bench.runtime.block_on(plan).unwrap();
        assert_eq!(
            plan.effects,
            Effects::one(Effect::Read(real.canonicalize().unwrap().join("a.db")))
        );
        let lead = |from: &Path, to: PathBuf| {
            fs::rename(from, from.with_extension("old")).unwrap();
            std::os::unix::fs::symlink(to, from).unwrap();
        };
        match way {
            "link" => lead(&link, bench.path("private/a.db")),
            "folder" => lead(&real, bench.path("private")),
            _ => lead(&real.join("a.db"), bench.path("private/a.db")),
        }
        let told = bench.runtime.block_on(tool.run(Cleared::new(plan), &bench.cx)).unwrap();
        let (ToolOutput::Text(told) | ToolOutput::Untrusted(told)) = told else { panic!() };
        assert!(!told.contains("private"), "{way}: {told}");
        assert_eq!(told.contains(r#"["real"]"#), way == "link", "{way}: {told}");
    }
}

/// Arguments that name a file of this machine, and how a call is bound to what was judged. A new
/// tool joins a row, or is named here as one whose argument is no file.
#[test]
fn every_argument_that_names_a_file_is_accounted_for() {
    const BOUND: &str = "read_file.path search_files.path write_file.path patch.path \
        vision_analyze.image_url video_analyze.video_url image_generate.image_url \
        image_generate.reference_image_urls video_generate.image_url \
        video_generate.reference_image_urls text_to_speech.output_path sql_query.database \
        yb_send_dm.media_files kanban_complete.artifacts terminal.workdir";
    /// Names of something else, places of the agent's own, and what others open: see security.md.
    const OTHERWISE: &str = "search_files.file_glob write_file.cross_profile patch.cross_profile \
        project_create.path kanban_create.workspace_path cronjob.workdir cronjob.attach_to_session cronjob.profile \
        skill_view.file_path skill_manage.file_path skill_manage.file_content kanban_attach.filename \
        kanban_attach_url.filename mail_search.folder mail_read.folder video_generate.audio \
        xai_video_edit.video_url xai_video_extend.video_url feishu_drive_add_comment.file_token \
        feishu_drive_add_comment.file_type feishu_drive_list_comment_replies.file_token \
        feishu_drive_list_comment_replies.file_type feishu_drive_list_comments.file_token \
        feishu_drive_list_comments.file_type feishu_drive_reply_comment.file_token \
        feishu_drive_reply_comment.file_type x_search.enable_image_understanding \
        x_search.enable_video_understanding";
    let mut found = Vec::new();
    for def in petasos_tools::discover_builtin_tools() {
        let schema = (def.schema)();
        let names = schema["parameters"]["properties"].as_object().into_iter().flatten();
        for (name, _) in names {
            let words = "path file image video audio media artifact workdir folder database attach";
            if words.split(' ').any(|word| name.contains(word)) {
                found.push(format!("{}.{name}", def.name));
            }
        }
    }
    let known: Vec<&str> = BOUND.split_whitespace().chain(OTHERWISE.split_whitespace()).collect();
    let new: Vec<_> = found.iter().filter(|name| !known.contains(&name.as_str())).collect();
    assert!(new.is_empty(), "who opens these, and as they were judged? {new:?}");
    for name in BOUND.split_whitespace() {
        assert!(found.iter().any(|it| it == name), "{name} is gone");
    }
}
