//! Whatever prints inside the program or beside it: standard output carries frames alone. The small
//! editor fails at the first line that is none.

use serde_json::{Value, json};

use super::editor::Editor;
use super::{home, terminal};
use crate::loopback::{Loopback, Say};

/// A library that is loaded into the program and prints to its standard output without end, once
/// that belongs to the protocol.
const LOUD: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void *loud(void *unused) {
  struct stat out, err;
  (void)unused;
  for (;;) {
    if (!fstat(1, &out) && !fstat(2, &err) && out.st_ino == err.st_ino && out.st_dev == err.st_dev) {
      if (write(1, "printed inside the program\n", 27) < 0) return 0;
      puts("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"a frame that nobody sent\"}");
      fflush(stdout);
    }
    usleep(2000);
  }
}

__attribute__((constructor)) static void begin(void) {
  pthread_t thread;
  unsetenv("LD_PRELOAD");
  pthread_create(&thread, 0, loud, 0);
}
"#;

/// A plugin that prints when it is loaded and at every call.
const PLUGIN: &str = r#"
import os, sys
print("a plugin prints")
os.write(1, b"a plugin writes\n")
def before(**about):
    print("a hook prints", flush=True)
    sys.stdout.write("and writes\n")
def register(ctx):
    print("a plugin registers")
    ctx.register_hook("pre_tool_call", before)
"#;

#[expect(clippy::disallowed_methods, reason = "the compiler is a program of its own")]
fn compiled(home: &petasos_testkit::Home) -> Option<std::path::PathBuf> {
    home.write("loud.c", LOUD);
    let (source, library) = (home.user().join("loud.c"), home.user().join("loud.so"));
    let mut compiler = std::process::Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-pthread", "-o"]).arg(&library).arg(&source);
    let ran = compiler.output().ok()?;
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    Some(library)
}

#[test]
fn whatever_prints_nothing_but_frames_is_on_standard_output() {
    let model = Loopback::saying(vec![
        terminal("echo loud; echo louder >&2; echo loudest > /proc/self/fd/1"),
        Say::Calls(vec![("read_file", json!({ "path": "absent.txt" }))]),
        Say::Text("done"),
    ]);
    let home = home(&model);
    let Some(library) = compiled(&home) else {
        let test = "whatever_prints_nothing_but_frames_is_on_standard_output";
        return petasos_testkit::skip(test, "cc", "there is no compiler");
    };
    home.write(
        ".petasos/plugins/loud/plugin.yaml",
        "name: loud\nprovides_hooks: [pre_tool_call]\n",
    );
    home.write(".petasos/plugins/loud/__init__.py", PLUGIN);
    let more = "approvals:\n  mode: manual\nplugins:\n  enabled: [loud]\n";
    home.write(".petasos/config.yaml", format!("{}{more}", model.config()));
    home.write("noisy.py", "print('a server that prints', flush=True)\nraise SystemExit(1)\n");
    let log = std::fs::File::create(home.user().join("log")).expect("a file");
    let mut editor = Editor::start_with(&home, |command| {
        command.env("LD_PRELOAD", &library).stderr(log);
    });
    let hello = json!({ "protocolVersion": 1, "clientCapabilities": {} });
    editor.ask("initialize", hello);
    let script = home.user().join("noisy.py");
    let noisy =
        json!({ "name": "noisy", "command": "/usr/bin/python3", "args": [script], "env": [] });
    let new = json!({ "cwd": home.workspace(), "mcpServers": [noisy] });
    let session = editor.ask("session/new", new)["sessionId"].as_str().map(str::to_owned);
    let session = session.expect("a name");
    assert_eq!(editor.turn(&session, "be loud"), "end_turn");
    let strays = editor.trace.iter().filter(|frame| frame["result"] == "a frame that nobody sent");
    assert_eq!(strays.count(), 0);
    let ours = |frame: &&Value| frame["jsonrpc"] == "2.0";
    assert!(editor.trace.iter().all(|frame| ours(&frame)));
    let log = std::fs::read_to_string(home.user().join("log")).expect("a file");
    assert!(log.contains("printed inside the program"), "it did print: {log:.400}");
    let (_, code) = editor.leave();
    assert_eq!(code, Some(0));
}
