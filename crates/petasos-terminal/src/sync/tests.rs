//! Sync over a target that is a map, a target that is a folder of this machine, and generated
//! histories of both sides.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use parking_lot::Mutex;
use petasos_contract::BoxFuture;
use petasos_contract::settings::Parts;
use proptest::prelude::*;
use serde_json::json;

use super::host::Outgoing;
use super::plan::Hash;
use super::*;

/// A target in memory, which can break at the n-th call.
#[derive(Default)]
struct Memory {
    files: Mutex<BTreeMap<Rel, Vec<u8>>>,
    calls: Mutex<usize>,
    breaks_at: Option<usize>,
    puts: Mutex<usize>,
}

impl Memory {
    fn step(&self) -> Result<(), EnvError> {
        let mut calls = self.calls.lock();
        *calls += 1;
        if Some(*calls) == self.breaks_at {
            return Err(EnvError::Limit("the way broke".to_owned()));
        }
        Ok(())
    }

    fn text(&self, name: &str) -> Option<String> {
        let files = self.files.lock();
        files.get(&Rel::new(name)?).map(|bytes| String::from_utf8(bytes.clone()).unwrap())
    }

    fn edit(&self, name: &str, text: &str) {
        self.files.lock().insert(Rel::new(name).unwrap(), text.as_bytes().to_vec());
    }
}

impl Far for Memory {
    fn manifest(&self) -> BoxFuture<'_, Result<Manifest, EnvError>> {
        Box::pin(async {
            self.step()?;
            let files = self.files.lock();
            Ok(files.iter().map(|(rel, bytes)| (rel.clone(), plan::hash(bytes))).collect())
        })
    }

    fn put(&self, files: Vec<Outgoing>) -> BoxFuture<'_, Result<(), EnvError>> {
        Box::pin(async move {
            *self.puts.lock() += files.len();
            let half = files.len() / 2;
            for (at, file) in files.into_iter().enumerate() {
                if at == half {
                    self.step()?;
                }
                self.files.lock().insert(file.rel, file.bytes);
            }
            Ok(())
        })
    }

    fn delete<'a>(&'a self, files: &'a [(Rel, Hash)]) -> BoxFuture<'a, Result<(), EnvError>> {
        Box::pin(async move {
            self.step()?;
            let mut held = self.files.lock();
            for (rel, hash) in files {
                if held.get(rel).is_some_and(|bytes| plan::hash(bytes) == *hash) {
                    held.remove(rel);
                }
            }
            Ok(())
        })
    }

    fn get<'a>(&'a self, file: &'a Rel, _: u64) -> BoxFuture<'a, Result<Vec<u8>, EnvError>> {
        Box::pin(async move {
            self.step()?;
            Ok(self.files.lock().get(file).cloned().unwrap_or_default())
        })
    }
}

fn sync(home: &Path, credentials: &[&str]) -> FileSync {
    let values = json!({ "terminal": { "credential_files": credentials } });
    let values = values.as_object().cloned().unwrap();
    FileSync::of(&Settings::new(Parts { home: home.to_owned(), values, ..Parts::default() }))
}

fn write(home: &Path, name: &str, text: &str) {
    let path = home.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = fs::File::create(path).unwrap();
    std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
}

fn read(home: &Path, name: &str) -> Option<String> {
    fs::read_to_string(home.join(name)).ok()
}

#[tokio::test]
async fn only_what_changed_travels_and_only_what_is_ours_is_removed() {
    let home = tempfile::tempdir().unwrap();
    let (sync, far) = (sync(home.path(), &["keys/a.json"]), Memory::default());
    for (name, text) in
        [("skills/x/run.sh", "1"), ("cache/web/p", "2"), ("keys/a.json", "k"), ("other", "no")]
    {
        write(home.path(), name, text);
    }
    far.edit("skills/theirs", "t");
    let common = sync.up(&far, None).await.unwrap();
    assert_eq!(
        (far.text("skills/x/run.sh").as_deref(), far.text("keys/a.json").as_deref()),
        (Some("1"), Some("k"))
    );
    assert_eq!(far.text("other"), None);
    let before = *far.puts.lock();
    let common = sync.up(&far, Some(common)).await.unwrap();
    assert_eq!(*far.puts.lock(), before, "nothing changed, nothing travels");
    write(home.path(), "cache/web/p", "3");
    fs::remove_file(home.path().join("skills/x/run.sh")).unwrap();
    let common = sync.up(&far, Some(common)).await.unwrap();
    assert_eq!(
        (far.text("cache/web/p").as_deref(), far.text("skills/x/run.sh")),
        (Some("3"), None)
    );
    assert_eq!(far.text("skills/theirs").as_deref(), Some("t"), "not ours to remove");
    // Changed over there after we brought it: removing ours must not remove that.
    far.edit("cache/web/p", "theirs now");
    fs::remove_file(home.path().join("cache/web/p")).unwrap();
    sync.up(&far, Some(common)).await.unwrap();
    assert_eq!(far.text("cache/web/p").as_deref(), Some("theirs now"));
}

#[tokio::test]
async fn a_second_program_uploads_only_what_the_target_lacks() {
    let home = tempfile::tempdir().unwrap();
    let far = Memory::default();
    write(home.path(), "skills/a", "1");
    sync(home.path(), &[]).up(&far, None).await.unwrap();
    write(home.path(), "skills/b", "2");
    *far.puts.lock() = 0;
    sync(home.path(), &[]).up(&far, None).await.unwrap();
    assert_eq!(*far.puts.lock(), 1);
}

#[tokio::test]
async fn links_stores_and_paths_upward_never_travel() {
    let home = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    write(outside.path(), "secret", "s");
    write(home.path(), ".env", "KEY=1");
    write(home.path(), "skills/real", "r");
    std::os::unix::fs::symlink(outside.path(), home.path().join("skills/folder")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret"), home.path().join("skills/file"))
        .unwrap();
    std::os::unix::fs::symlink(outside.path(), home.path().join("cache")).unwrap();
    let sync = sync(home.path(), &[".env", "../secret", "/etc/passwd", "a/../../b", ".env.local"]);
    let far = Memory::default();
    sync.up(&far, None).await.unwrap();
    let names: Vec<String> = far.files.lock().keys().map(ToString::to_string).collect();
    assert_eq!(names, ["skills/real"]);
    // And nothing is written through a link on the way back.
    let common = sync.up(&far, None).await.unwrap();
    far.edit("skills/folder/evil", "x");
    sync.fetch(&far, &common).await.unwrap();
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    for bad in ["../x", "a//b", "./a", "a/..", "", "/a", "a\nb", "a\\b"] {
        assert_eq!(Rel::new(bad), None, "{bad:?}");
    }
}

#[tokio::test]
async fn what_changed_there_comes_back_and_newer_edits_of_the_host_stay() {
    let home = tempfile::tempdir().unwrap();
    let (sync, far) = (sync(home.path(), &["keys/a"]), Memory::default());
    for name in ["skills/same", "skills/theirs", "skills/both", "skills/gone", "keys/a"] {
        write(home.path(), name, "old");
    }
    let common = sync.up(&far, None).await.unwrap();
    for name in ["skills/theirs", "skills/both", "skills/gone", "skills/new", "keys/a", "loose"] {
        far.edit(name, "remote");
    }
    write(home.path(), "skills/both", "mine");
    fs::remove_file(home.path().join("skills/gone")).unwrap();
    sync.fetch(&far, &common).await.unwrap();
    let now = |name: &str| read(home.path(), name);
    assert_eq!(now("skills/same").as_deref(), Some("old"));
    assert_eq!(now("skills/theirs").as_deref(), Some("remote"));
    assert_eq!(now("skills/new").as_deref(), Some("remote"));
    assert_eq!(now("skills/both").as_deref(), Some("mine"));
    assert_eq!(now("skills/gone"), None);
    assert_eq!(now("keys/a").as_deref(), Some("old"), "credentials never come back");
    assert_eq!(now("loose"), None, "only what lies beside ours");
    let copy = format!("skills/both.remote-{}", plan::hash(b"remote").get(..8).unwrap());
    assert_eq!(now(&copy).as_deref(), Some("remote"));
}

/// What one side does to one of a few files: write one of four contents, remove it, or nothing.
fn edits() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(0..9_u8, 4)
}

fn apply(edits: &[u8], mut act: impl FnMut(&str, Option<String>)) {
    for (at, edit) in edits.iter().enumerate() {
        match edit {
            0..4 => act(&format!("skills/{at}"), Some(edit.to_string())),
            4..6 => act(&format!("skills/{at}"), None),
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever both sides did and wherever the way broke: no content of the host that the target
    /// had not seen is lost, and after one more sync that does not break the target has the host's.
    #[test]
    fn no_edit_of_the_host_is_ever_lost(
        first in edits(), ours in edits(), theirs in edits(), breaks_at in prop::option::of(1..6_usize),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let home = tempfile::tempdir().unwrap();
            let change = |name: &str, content: Option<String>| match content {
                Some(text) => write(home.path(), name, &text),
                None => drop(fs::remove_file(home.path().join(name))),
            };
            apply(&first, change);
            let sync = sync(home.path(), &[]);
            let mut far = Memory { breaks_at, ..Memory::default() };
            let common = match sync.up(&far, None).await {
                Ok(common) => common,
                Err(_) => sync.up(&far, None).await.unwrap(),
            };
            apply(&theirs, |name, content| match content {
                Some(text) => far.edit(name, &text),
                None => drop(far.files.lock().remove(&Rel::new(name).unwrap())),
            });
            apply(&ours, change);
            let before = sync.host.manifest();
            far.breaks_at = None;
            sync.fetch(&far, &common).await.unwrap();
            for (rel, hash) in &before {
                let now = sync.host.hash(rel);
                let untouched = common.get(rel) == Some(hash);
                prop_assert!(now.as_ref() == Some(hash) || untouched, "{rel} was overwritten");
            }
            sync.up(&far, None).await.unwrap();
            let near = sync.host.manifest();
            let held = far.manifest().await.unwrap();
            for (rel, hash) in &near {
                prop_assert_eq!(held.get(rel), Some(hash), "{}", rel);
            }
            Ok(())
        })?;
    }
}
