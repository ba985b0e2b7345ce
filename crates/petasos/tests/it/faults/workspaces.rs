//! Huge and odd workspaces: a checkpoint takes what it promises, says what it leaves out, and a
//! restore brings every byte back, also after one that was killed.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use petasos_testkit::Home;
use serde_json::json;

use super::model::{Asked, Model, Piece, calls, text};
use super::started::{Started, gone, program, ran, shell};
use super::{Dice, figure, sized};

/// `run COMMAND`, then done.
fn work(asked: &Asked) -> Vec<Piece> {
    let prompt = asked.prompt();
    let command = prompt.strip_prefix("run ").unwrap_or("true").trim().to_owned();
    match asked.results() {
        0 => calls(&[("terminal", json!({ "command": command }))]),
        _ => text("done"),
    }
}

fn home(model: &Model) -> Home {
    let home = Home::temp();
    // The long form has one file more than a checkpoint takes unasked.
    model.is_used_by(&home, "approvals: {mode: 'off'}\ncheckpoints: {max_files: 60000}\n");
    home
}

/// What a folder holds: bytes of files, targets of links, names of the rest.
fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let (path, kind) = (entry.path(), entry.file_type().expect("a kind"));
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_symlink() {
                let target = fs::read_link(&path).expect("a target");
                found.insert(path, target.as_os_str().as_bytes().to_vec());
            } else if kind.is_file() && entry.metadata().is_ok_and(|facts| facts.len() < 1 << 24) {
                let bytes = fs::read(&path).expect("a file");
                found.insert(path, bytes);
            }
        }
    }
    found
}

fn filled(home: &Home, files: usize) {
    for number in 0..files {
        let path = format!("work/d{}/f{number}.txt", number % 200);
        home.write(&path, format!("file {number}\n"));
    }
}

#[test]
fn a_huge_workspace_is_copied_and_comes_back() {
    let model = Model::new(work);
    let home = home(&model);
    let files = sized(2_000, 50_000);
    filled(&home, files);
    // A sparse file that no checkpoint should hold.
    let big = fs::File::create(home.workspace().join("big.bin")).expect("a file");
    big.set_len(2 << 30).expect("its size");
    let before = content(&home.workspace());
    let first = ran(&home, &["run", "run rm -r d7 && echo x > d8/f8.txt && touch new"]);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    assert!(
        first.stderr.contains("big.bin") || first.stderr.contains("left out"),
        "{}",
        first.stderr
    );
    assert_ne!(content(&home.workspace()), before, "{}", first.stderr);
    let restored = ran(&home, &["rollback", "restore", "--yes"]);
    assert_eq!(restored.code, Some(0), "{}", restored.stderr);
    assert_eq!(content(&home.workspace()), before, "a restore brings every byte back");
    let second = ran(&home, &["run", "run echo y > d9/f9.txt"]);
    let store = kilobytes(&home.agent());
    figure(
        &format!("checkpoint of {files} files and one of 2 GB"),
        &format!(
            "first turn {:.1} s, restore {:.1} s, next turn {:.1} s, store {store} KB",
            first.took.as_secs_f64(),
            restored.took.as_secs_f64(),
            second.took.as_secs_f64()
        ),
    );
}

fn kilobytes(folder: &Path) -> usize {
    content(folder).values().map(Vec::len).sum::<usize>() / 1024
}

/// A workspace with everything that a folder can hold.
fn odd(home: &Home) {
    let work = home.workspace();
    for name in
        ["a b", "-rf", "it's", "new\nline", "\"q\"", "ünï😀", "$HOME", "*", ".hidden", "con\t"]
    {
        home.write(&format!("work/{name}"), name);
    }
    let bytes = work.join(OsStr::from_bytes(b"not-\xff-utf8"));
    fs::File::create(&bytes).expect("a file");
    home.write("work/deep/er/and/deeper/file", "deep");
    symlink("loop", work.join("loop")).expect("a link");
    symlink("/nowhere/at/all", work.join("broken")).expect("a link");
    symlink("/etc", work.join("outside")).expect("a link");
    let script = home.write("work/tool.sh", "#!/bin/sh\necho tool\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("a mode");
    home.write("work/crlf.txt", "one\r\ntwo\r\n");
    home.write("work/.gitattributes", "* text=auto eol=lf filter=evil\n");
    let line = "git init -q . && git config core.autocrlf true && git config filter.evil.clean \
                'touch EVIL; cat' && git config filter.evil.smudge 'touch EVIL; cat' && \
                printf '#!/bin/sh\\ntouch EVIL\\n' > .git/hooks/pre-commit && \
                chmod +x .git/hooks/pre-commit && touch .git/index.lock && mkfifo fifo && \
                mkdir nested && git init -q nested && echo in > nested/file";
    let made = Started::new(shell(home, line)).end(Duration::from_mins(1));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    std::os::unix::net::UnixListener::bind(work.join("socket")).expect("a socket");
}

#[test]
fn an_odd_workspace_comes_back_byte_for_byte() {
    let model = Model::new(work);
    let home = home(&model);
    odd(&home);
    let before = content(&home.workspace());
    let change = "run rm -- -rf '*' broken loop; echo x > 'a b'; echo x > crlf.txt; rm -r deep; \
                  ln -s tool.sh new-link; chmod 644 tool.sh";
    let changed = ran(&home, &["run", change]);
    assert_eq!(changed.code, Some(0), "{}", changed.stderr);
    assert_ne!(content(&home.workspace()), before, "{}", changed.stderr);
    let restored = ran(&home, &["rollback", "restore", "--yes"]);
    assert_eq!(restored.code, Some(0), "{}", restored.stderr);
    let after = content(&home.workspace());
    let differing: Vec<_> = before
        .iter()
        .filter(|(path, bytes)| after.get(*path) != Some(bytes))
        .map(|(path, _)| path)
        .chain(after.keys().filter(|path| !before.contains_key(*path)))
        .collect();
    assert!(differing.is_empty(), "{differing:?}: {}{}", restored.stdout, restored.stderr);
    let mode = fs::metadata(home.workspace().join("tool.sh")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o111, 0o111, "a program is a program again");
    assert!(!home.workspace().join("EVIL").exists(), "filters and hooks of the project ran");
    figure(
        "odd workspace",
        "names, links, FIFO, socket, filters, hooks, nested repository: all back",
    );
}

#[test]
fn a_killed_restore_can_be_done_again() {
    let model = Model::new(work);
    let home = home(&model);
    let files = sized(300, 5_000);
    filled(&home, files);
    let before = content(&home.workspace());
    let changed = ran(&home, &["run", "run for d in d*; do rm -r $d; done; touch new"]);
    assert_eq!(changed.code, Some(0), "{}", changed.stderr);
    let whole = ran(&home, &["rollback", "restore", "1", "--yes"]);
    assert_eq!(
        (whole.code, content(&home.workspace()) == before),
        (Some(0), true),
        "{}",
        whole.stderr
    );
    let mut dice = Dice::new(3);
    let (mut killed, rounds) = (0, sized(4, 30));
    let span = u64::try_from(whole.took.as_millis()).expect("a short restore");
    for round in 0..rounds {
        let script =
            Started::new(shell(&home, "rm -r d* new; touch new")).end(Duration::from_mins(1));
        assert!(script.code.is_some(), "{}", script.stderr);
        let mut running = Started::new(program(&home, &["rollback", "restore", "1", "--yes"]));
        std::thread::sleep(Duration::from_millis(dice.below(span)));
        killed += usize::from(running.kill());
        gone(home.user(), "a killed restore");
        let again = ran(&home, &["rollback", "restore", "1", "--yes"]);
        assert_eq!(again.code, Some(0), "round {round}: {}", again.stderr);
        assert_eq!(content(&home.workspace()), before, "round {round}");
    }
    figure("restores killed", &format!("{killed} of {rounds} alive, the next one right each time"));
}

#[test]
fn a_git_that_fails_is_told() {
    let model = Model::new(work);
    let home = home(&model);
    home.write("work/a.txt", "one\n");
    let git = home.write("bin/git", "#!/bin/sh\necho it is broken >&2\nexit 3\n");
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).expect("a mode");
    let mut command = program(&home, &["run", "run echo two > a.txt"]);
    command.env("PATH", format!("{}/bin:/usr/bin:/bin", home.user().display()));
    let ended = Started::new(command).end(Duration::from_mins(2));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("no checkpoint"), "{}", ended.stderr);
    assert!(ended.stderr.contains("it is broken"), "{}", ended.stderr);
    assert_eq!(fs::read_to_string(home.workspace().join("a.txt")).unwrap(), "two\n");
    figure("a git that fails", "the turn goes on and says that there is no checkpoint, and why");
}
