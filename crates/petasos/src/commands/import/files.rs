//! Notes, skills and `SOUL.md`; and what of the other home is not taken, with the reason.

use std::fs;
use std::io;
use std::path::Path;

use super::Move;
use super::item::Item;

/// Larger files in a skill are data that nobody reads into a prompt.
const BYTES_MAX: u64 = 10 << 20;
/// Private like the rest of the home.
const MODE: u32 = 0o600;

/// Folders that are not taken, and why.
const NOT_TAKEN: [(&str, &str); 7] = [
    ("plugins", "plugins are programs: copy those that you want, then `petasos plugins enable`"),
    ("hooks", "hooks are programs: copy those that you want and allow them"),
    ("cron", "schedules run unattended: `petasos cron import FILE` takes over those that you want"),
    ("profiles", "each profile is a home of its own: import them one by one"),
    ("sessions", "transcripts of old versions; conversations come from state.db"),
    ("logs", "nothing here reads them"),
    ("checkpoints", "copies of workspaces stay where they were made"),
];

/// Takes what is plain text.
pub(super) fn take(moved: &Move<'_>) -> Vec<Item> {
    let mut items = Vec::new();
    for name in ["SOUL.md", "memories/MEMORY.md", "memories/USER.md"] {
        let (theirs, ours) = (moved.from.join(name), moved.home.join(name));
        if theirs.is_file() {
            items.push(one(moved, name, &theirs, &ours));
        }
    }
    match skills(moved, &mut items) {
        Ok(()) => {}
        Err(error) => items.push(Item::failed("skills", error)),
    }
    for (name, why) in NOT_TAKEN {
        if moved.from.join(name).is_dir() {
            items.push(Item::left_out(name, why));
        }
    }
    items
}

fn one(moved: &Move<'_>, name: &str, theirs: &Path, ours: &Path) -> Item {
    if ours.exists() {
        let same = fs::read(theirs).ok() == fs::read(ours).ok();
        let why = if same { "the same is here" } else { "another one is here" };
        return Item::kept(name, why);
    }
    if !moved.go {
        return Item::taken(name, "");
    }
    match fs::read(theirs) {
        Ok(bytes) => match petasos_fs::write(ours, &bytes, petasos_fs::Mode::Exactly(MODE)) {
            Ok(()) => Item::taken(name, ""),
            Err(error) => Item::failed(name, error),
        },
        Err(error) => Item::failed(name, error),
    }
}

/// Each folder below `skills` is taken whole or not at all.
fn skills(moved: &Move<'_>, items: &mut Vec<Item>) -> io::Result<()> {
    let theirs = moved.from.join("skills");
    if !theirs.is_dir() {
        return Ok(());
    }
    let mut entries = fs::read_dir(&theirs)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    let mut taken = 0;
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let ours = moved.home.join("skills").join(&name);
        let what = format!("skills/{name}");
        if !entry.file_type()?.is_dir() || name.starts_with('.') {
            continue;
        }
        if ours.exists() {
            items.push(Item::kept(what, "a folder of that name is here"));
            continue;
        }
        match copy_tree(&entry.path(), &ours, moved.go) {
            Ok(left_out) => {
                taken += 1;
                items.extend(
                    left_out
                        .into_iter()
                        .map(|(file, why)| Item::left_out(format!("skills/{name}/{file}"), why)),
                );
            }
            Err(error) => items.push(Item::failed(what, error)),
        }
    }
    if taken > 0 {
        items.push(Item::taken(format!("{taken} folder(s) of skills"), ""));
    }
    Ok(())
}

/// Copies plain files; gives what was not copied.
fn copy_tree(from: &Path, to: &Path, go: bool) -> io::Result<Vec<(String, &'static str)>> {
    let mut left_out = Vec::new();
    let mut folders = vec![from.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            let inside = path.strip_prefix(from).unwrap_or(&path).to_owned();
            let name = inside.display().to_string();
            if kind.is_dir() {
                folders.push(path);
            } else if !kind.is_file() {
                left_out.push((name, "links lead out of the skill"));
            } else if entry.metadata()?.len() > BYTES_MAX {
                left_out.push((name, "it is larger than 10 MiB"));
            } else if go {
                let target = to.join(&inside);
                if let Some(parent) = target.parent() {
                    fs::create_dir_all(parent)?;
                }
                // Copies the permission bits too: scripts of a skill stay executable.
                fs::copy(&path, &target)?;
            }
        }
    }
    Ok(left_out)
}
