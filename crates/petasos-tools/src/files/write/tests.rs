//! Writes that succeed, fail, and fail half way.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use super::*;

fn change<'a>(path: &Path, after: Option<&'a str>) -> Change<'a> {
    let after = after.map(|text| text.as_bytes().into());
    Change { real: path.to_owned(), before: None, after, like: None, anchor: None }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_keeps_its_permissions_and_leaves_nothing_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("script");
    commit(&[change(&path, Some("one"))]).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
    let done = commit(&[change(&path, Some("two"))]).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "two");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o751);
    assert!(!done.dirs_created && done.notes.is_empty());
    let deep = path.parent().unwrap().join("a/b/c");
    assert!(commit(&[change(&deep, Some("x"))]).unwrap().dirs_created);
    fs::hard_link(&path, path.with_file_name("twin")).unwrap();
    let done = commit(&[change(&path, Some("three"))]).unwrap();
    assert!(done.notes.iter().any(|note| note.contains("hard links")));
    assert_eq!(names(folder.path()), ["a", "script", "twin"]);
}

#[test]
fn a_failure_at_any_step_puts_every_file_back() {
    for fails_at in 0..4 {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["changed", "gone", "also"] {
            commit(&[change(&root.join(name), Some(name))]).unwrap();
        }
        let inode = fs::metadata(root.join("gone")).unwrap().ino();
        let changes = [
            change(&root.join("changed"), Some("new")),
            change(&root.join("gone"), None),
            change(&root.join("fresh/deep/file"), Some("fresh")),
            change(&root.join("also"), Some("new")),
        ];
        let fault = commit_until(&changes, &|at| {
            if at == fails_at { Err(io::Error::other("no room")) } else { Ok(()) }
        });
        assert!(fault.unwrap_err().to_string().contains("no room"));
        assert_eq!(names(&root), ["also", "changed", "gone"], "failed at {fails_at}");
        for name in ["changed", "gone", "also"] {
            assert_eq!(fs::read_to_string(root.join(name)).unwrap(), name);
        }
        assert_eq!(fs::metadata(root.join("gone")).unwrap().ino(), inode);
    }
}

#[test]
fn links_are_followed_once_and_never_blindly() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    commit(&[change(&root.join("real"), Some("x"))]).unwrap();
    symlink("real", root.join("link")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    assert_eq!(target(&root.join("link")).unwrap(), root.join("real"));
    assert_eq!(target(&root.join("a/b")).unwrap(), root.join("a/b"));
    assert!(matches!(target(&root.join("dangling")), Err(WriteFault::Dangling)));
    // What became a link after it was looked up is not followed.
    symlink(&root, root.join("folder")).unwrap();
    let raced = commit(&[change(&root.join("folder/file"), Some("x"))]);
    assert!(matches!(raced, Err(WriteFault::System { .. })), "{raced:?}");
    let raced = commit(&[change(&root.join("link"), Some("x"))]);
    assert!(matches!(raced, Err(WriteFault::System { .. })), "{raced:?}");
}

#[test]
fn drafts_that_a_killed_program_left_are_swept_and_others_stay() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let now = std::time::SystemTime::now();
    for (name, seconds) in [
        (".petasos-0123456789abcdef.new", 120),
        (".petasos-fedcba9876543210.new", 0),
        (".x.new", 120),
    ] {
        let file = fs::File::create(folder.join(name)).unwrap();
        file.set_modified(now - std::time::Duration::from_secs(seconds)).unwrap();
    }
    commit(&[change(&folder.join("file"), Some("x"))]).unwrap();
    assert_eq!(names(&folder), [".petasos-fedcba9876543210.new", ".x.new", "file"]);
}

#[test]
fn a_read_only_file_is_refused_where_a_shell_would_be() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("file");
    commit(&[change(&path, Some("one"))]).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    // The superuser's shell writes to it, and so do we.
    let shell_could = fs::OpenOptions::new().append(true).open(&path).is_ok();
    let done = commit(&[change(&path, Some("two"))]);
    assert_eq!(done.is_ok(), shell_could);
    let expected = if shell_could { "two" } else { "one" };
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
}
