//! Races between what is judged and what is opened: somebody swaps folders and links all the time.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::{Anchor, Change, commit, target};
use crate::files::open;

/// Together 100,000.
const READS: usize = 60_000;
const WRITES: usize = 20_000;

/// Exchanges two names until it is dropped.
struct Swapping {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<u64>>,
}

impl Swapping {
    fn of(one: &Path, other: &Path) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (ends, one, other) = (Arc::clone(&over), one.to_owned(), other.to_owned());
        let thread = std::thread::spawn(move || {
            let mut times = 0;
            while !ends.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                times += 1;
            }
            times
        });
        Self { over, thread: Some(thread) }
    }

    /// How often it did.
    fn end(&mut self) -> u64 {
        self.over.store(true, Ordering::Relaxed);
        self.thread.take().map_or(0, |thread| thread.join().unwrap())
    }
}

impl Drop for Swapping {
    fn drop(&mut self) {
        self.end();
    }
}

/// In memory where there is such a place: every write is brought to the disk.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = memory.is_dir().then(|| tempfile::tempdir_in(memory).ok()).flatten();
    made.unwrap_or_else(|| tempfile::tempdir().unwrap())
}

/// A folder `slot` that is ours and a folder `private` that is not, each with a file `f`.
fn stage(root: &Path) {
    for (folder, text) in [("slot", "ours"), ("private", "private")] {
        fs::create_dir(root.join(folder)).unwrap();
        put(&root.join(folder).join("f"), text);
    }
}

#[expect(clippy::disallowed_methods, reason = "a test's own file needs no atomic writer")]
fn put(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
}

/// Where a write to `slot/f` leads, as it is judged; nothing when that is not ours to write.
fn judged(root: &Path) -> Option<PathBuf> {
    let real = target(&root.join("slot/f")).ok()?;
    real.starts_with(root.join("slot")).then_some(real)
}

#[test]
fn a_link_that_is_swapped_in_is_never_read_nor_written_through() {
    let folder = folder();
    let root = folder.path().canonicalize().unwrap();
    stage(&root);
    symlink(root.join("private"), root.join("link")).unwrap();
    let mut swapping = Swapping::of(&root.join("slot"), &root.join("link"));
    let mut opened = 0_u32;
    for _ in 0..READS {
        let Some(real) = judged(&root) else { continue };
        let Ok((file, _)) = open::open(&real) else { continue };
        assert_eq!(std::io::read_to_string(file).unwrap().get(..4), Some("ours"));
        opened += 1;
    }
    let mut written = 0_u32;
    for _ in 0..WRITES {
        written += u32::from(write(&root));
    }
    let times = swapping.end();
    println!("{times} swaps, {opened} of {READS} read, {written} of {WRITES} written");
    assert!(times > 0 && opened > 0 && written > 0);
    assert_eq!(fs::read_to_string(root.join("private/f")).unwrap(), "private");
    assert_eq!(fs::read_dir(root.join("private")).unwrap().count(), 1);
}

#[test]
fn a_folder_that_is_swapped_in_is_never_written_to() {
    let folder = folder();
    let root = folder.path().canonicalize().unwrap();
    stage(&root);
    let ours = Anchor::hold(&root.join("slot")).unwrap();
    let anchor = Arc::new(ours);
    let mut swapping = Swapping::of(&root.join("slot"), &root.join("private"));
    let (mut written, mut refused) = (0_u32, 0_u32);
    for _ in 0..WRITES {
        let (real, after) = (root.join("slot/new/deep/f"), Some(b"ours".as_slice().into()));
        let anchor = Some(Arc::clone(&anchor));
        match commit(&[Change { real, before: None, after, like: None, anchor }]) {
            Ok(_) => written += 1,
            Err(_) => refused += 1,
        }
    }
    let times = swapping.end();
    println!("{times} swaps, {written} written, {refused} refused");
    assert!(times > 0 && written + refused == u32::try_from(WRITES).unwrap());
    // Whichever name it has by now, it has its one file.
    let private = [root.join("slot"), root.join("private")];
    let private = private.iter().find(|it| fs::read_to_string(it.join("f")).unwrap() == "private");
    assert_eq!(fs::read_dir(private.unwrap()).unwrap().count(), 1);
}

fn write(root: &Path) -> bool {
    let Some(real) = judged(root) else { return false };
    let Ok(anchor) = Anchor::hold(real.parent().unwrap()) else { return false };
    let (after, anchor) = (Some(b"ours, again".as_slice().into()), Some(Arc::new(anchor)));
    commit(&[Change { real, before: None, after, like: None, anchor }]).is_ok()
}
