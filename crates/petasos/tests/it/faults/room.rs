//! Full and read-only disks, as small file systems in a mount namespace of their own.

use std::time::Duration;

use petasos_testkit::{Home, skip};
use serde_json::json;

use super::figure;
use super::model::{Asked, Model, Piece, calls, text};
use super::started::{Ended, PROGRAM, Started, gone, shell};

/// Runs a script of the shell with mounts of its own; `None`, with the reason, where that needs
/// rights that are not there.
fn apart(test: &str, home: &Home, script: &str) -> Option<Ended> {
    let spaces = if rustix::process::getuid().is_root() {
        "--mount"
    } else {
        "--user --map-root-user --mount"
    };
    let function = format!("petasos() {{ {PROGRAM} \"$@\"; }}");
    home.write("script", format!("mount -t tmpfs none /mnt || exit 77\n{function}\n{script}"));
    let line = format!("unshare {spaces} sh \"$HOME/script\"");
    let ended = Started::new(shell(home, &line)).end(Duration::from_mins(5));
    if ended.code == Some(77) || ended.stderr.contains("unshare: ") {
        skip(test, "mounts", ended.stderr.trim());
        return None;
    }
    Some(ended)
}

/// Writes 300 KB, then runs a command, then says what it heard of both.
fn work(asked: &Asked) -> Vec<Piece> {
    match asked.results() {
        0 => calls(&[("write_file", json!({ "path": "old.txt", "content": "n".repeat(300_000) }))]),
        1 => calls(&[("terminal", json!({ "command": "echo still works" }))]),
        _ => {
            let said = asked.body["messages"].to_string();
            let heard = ["No space left", "still works"].map(|words| said.contains(words));
            text(&format!("no space: {}, command: {}", heard[0], heard[1]))
        }
    }
}

fn home(model: &Model) -> Home {
    let home = Home::temp();
    model.is_used_by(&home, "approvals: {mode: 'off'}\n");
    home
}

#[test]
fn a_full_home_is_told_and_what_is_kept_stays_sound() {
    let (mut worked, mut told) = (0, 0);
    for free in [0, 70, 170, 370, 700, 1500, 3000] {
        let model = Model::new(work);
        let home = home(&model);
        let script = format!(
            "cp ~/.petasos/config.yaml ~/kept\nmount -t tmpfs -o size=4m none ~/.petasos\n\
             cp ~/kept ~/.petasos/config.yaml\nfree=$(df --output=avail -k ~/.petasos | tail -1)\n\
             dd if=/dev/zero of=~/.petasos/fill bs=1k count=$((free - {free})) 2>/dev/null\n\
             petasos run go; code=$?\nrm ~/.petasos/fill\n\
             petasos sessions verify >&2 || petasos run --resume latest again >&2\n\
             petasos sessions verify >&2 || exit 99\nexit $code\n"
        )
        .replace("of=~", "of=$HOME");
        let Some(ended) = apart("a full home", &home, &script) else { return };
        let words = ended.stderr.to_lowercase();
        if ended.code == Some(0) {
            worked += 1;
        } else {
            told += 1;
            let is_told = ["full", "space", "disk"].iter().any(|word| words.contains(word));
            assert!(ended.code == Some(1) && is_told, "{free} KB: {:?} {words}", ended.code);
        }
        gone(home.user(), "a full home");
    }
    assert!(worked > 0 && told > 0, "{worked} worked, {told} told");
    figure("full home", &format!("{told} sizes told, {worked} worked; every database sound"));
}

#[test]
fn a_full_workspace_keeps_the_old_content() {
    let model = Model::new(work);
    let home = home(&model);
    let script = "mount -t tmpfs -o size=1m none ~/work\ncd ~/work\necho old > old.txt\n\
                  dd if=/dev/zero of=fill bs=1k count=900 2>/dev/null\n\
                  petasos run go || exit\necho content: $(cat old.txt)\necho files: $(ls)\n";
    let Some(ended) = apart("a full workspace", &home, script) else { return };
    let expected = "no space: true, command: true\ncontent: old\nfiles: fill old.txt\n";
    assert_eq!(ended.stdout, expected, "{}", ended.stderr);
    figure("full workspace", "the write refused by name, old content whole, nothing left behind");
}

#[test]
fn a_full_temporary_folder_leaves_commands_working() {
    let model = Model::new(work);
    let home = home(&model);
    let script = "mkdir ~/temp\nmount -t tmpfs -o size=64k none ~/temp\n\
                  dd if=/dev/zero of=$HOME/temp/fill bs=1k count=64 2>/dev/null\n\
                  TMPDIR=~/temp petasos run go\n";
    let Some(ended) = apart("a full temporary folder", &home, script) else { return };
    assert_eq!(ended.stdout, "no space: false, command: true\n", "{}", ended.stderr);
    figure("full temporary folder", "files and commands work");
}

#[test]
fn a_read_only_home_is_told_and_can_be_read() {
    let model = Model::new(work);
    let home = home(&model);
    let script = "petasos run go >/dev/null 2>&1 || exit\n\
                  mount --bind ~/.petasos ~/.petasos\nmount -o remount,ro,bind ~/.petasos\n\
                  for words in 'sessions list' 'sessions show latest' 'sessions verify' \
                  'config check' 'tools list'; do\n\
                  petasos $words >/dev/null 2>~/said; echo \"$words: $?\"; cat ~/said >&2; done\n\
                  petasos doctor >~/said 2>&1; echo \"doctor: $?\"; grep -c 'read-only\\|Read-only' ~/said\n\
                  cat ~/said >&2\npetasos run go 2>~/said; echo \"run: $?\"\n\
                  grep -ci 'read-only' ~/said; cat ~/said >&2\n";
    let Some(ended) = apart("a read-only home", &home, script) else { return };
    let expected = "sessions list: 0\nsessions show latest: 0\nsessions verify: 0\n\
                    config check: 0\ntools list: 0\ndoctor: 1\n1\nrun: 1\n1\n";
    assert_eq!(ended.stdout, expected, "{}", ended.stderr);
    figure("read-only home", "a run refused by name, doctor says so, conversations can be read");
}
