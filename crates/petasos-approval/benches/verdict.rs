//! What a verdict costs through the whole policy: without files, with one script that is read, hashed
//! and judged, and with a tree whose files are looked at.

#![expect(clippy::expect_used, reason = "a benchmark that cannot begin has nothing to say")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use divan::black_box;
use petasos_approval::Engine;
use petasos_contract::approval::{Intent, Policy, Verdict};
use petasos_contract::context::Surface;
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::settings::Parts;
use petasos_contract::{CallContext, Plan, SessionId, Settings, ToolName};

const ROUNDS: usize = 2000;

/// A script of a usual size, as a repository holds it.
const SCRIPT: &str = "#!/usr/bin/env bash\nset -euo pipefail\ncd \"$(dirname \"$0\")/..\"\n\
    mode=${1:-debug}\nmkdir -p out\nfor part in api web worker; do\n  echo \"building $part\"\n  \
    if [ \"$mode\" = release ]; then cargo build --release -p \"$part\"; else cargo build -p \
    \"$part\"; fi\n  cp \"target/$mode/$part\" out/\ndone\ntar czf out.tgz out\necho done\n";

#[expect(clippy::print_stdout, reason = "a benchmark reports on its standard output")]
#[expect(clippy::disallowed_methods, reason = "a benchmark makes its own files")]
fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let work = folder.path().join("work");
    std::fs::create_dir_all(work.join("kit/deep")).expect("a folder");
    std::fs::create_dir_all(folder.path().join("home")).expect("a folder");
    std::fs::write(work.join("build.sh"), SCRIPT).expect("a script");
    for file in 0..100 {
        std::fs::write(work.join(format!("kit/deep/{file}")), "x").expect("a file");
    }
    let cx = context(folder.path(), &work);
    let engine = Engine::new(&cx.settings).expect("a policy");
    for (name, script) in [
        ("without files, plain", "ls -la src"),
        ("without files, a pipe", "git log --oneline | head -20 && cargo test --quiet"),
        ("with one script read", "bash build.sh release"),
        ("with a tree of 100 files", "cp -r kit/. /srv/kit/"),
    ] {
        println!("{name}: median {:?} (`{script}`)", median(&engine, script, &cx));
    }
}

fn context(folder: &Path, work: &Path) -> CallContext {
    let settings = Settings::new(Parts {
        home: folder.join("home/.petasos"),
        user_home: folder.join("home"),
        workspace: work.to_owned(),
        temp: folder.join("tmp"),
        ..Parts::default()
    });
    CallContext::new(Arc::new(settings), Surface::Cli, SessionId::new("bench")).attended(true)
}

fn median(engine: &Engine, script: &str, cx: &CallContext) -> Duration {
    let effect = Effect::Command { script: script.to_owned(), cwd: cx.workspace.to_path_buf() };
    let plan = Plan::default().with_effects(Effects::one(effect));
    let tool = ToolName::new("terminal");
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let intent = Intent { tool: &tool, plan: &plan, escalated: &[] };
            let start = Instant::now();
            let verdict = black_box(engine.judge(black_box(&intent), cx));
            let time = start.elapsed();
            assert_eq!(verdict, Verdict::Allow, "{script}");
            time
        })
        .collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
