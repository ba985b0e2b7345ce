//! One family: a folder of member files and the index file that lists them.
//!
//! `text` is pure, so the build script that writes and the check that only compares cannot
//! disagree. Nothing here looks inside a member: one that lacks its item is an ordinary compile
//! error at the line of the index that names it.

use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

/// rustfmt would fold a short list into one line and a long one into many; one row a line
/// whatever the length keeps merges of two new members free of conflicts.
const HEADING: &str = "/// Every member, in the order of its file name.\n#[rustfmt::skip]";

/// A folder whose `.rs` files are listed, in order, by one generated index file.
///
/// All paths are relative to the crate's root, which is where cargo runs build scripts.
#[derive(Debug, Clone, Copy)]
pub struct Family<'a> {
    /// The folder of members, for example `src/builtin`.
    pub folder: &'a str,
    /// The index file, for example `src/builtin.rs`.
    pub index: &'a str,
    /// The item that every member declares, for example `TOOL`.
    pub item: &'a str,
    /// The list up to its `=`, for example `pub static BUILTIN: &[&ToolDef]`.
    pub list: &'a str,
    /// The `use` lines that the list and the check need.
    pub imports: &'a str,
    /// Lines after the list, for example a compile-time check; may be empty.
    pub check: &'a str,
    /// One sentence saying what the index lists.
    pub doc: &'a str,
}

impl Family<'_> {
    /// Rewrites the index when, and only when, it is stale. For build scripts.
    pub fn sync(&self) -> Result<(), Error> {
        announce(&[self.folder, self.index]);
        self.sync_in(Path::new("."))
    }

    /// Does what [`Family::sync`] does for the crate at `root`, without talking to cargo.
    pub fn sync_in(&self, root: &Path) -> Result<(), Error> {
        let text = self.text(root)?;
        let index = root.join(self.index);
        if fs::read(&index).is_ok_and(|current| current == text.as_bytes()) {
            return Ok(());
        }
        replace(&index, &text).map_err(|cause| Error::Write { index, cause })
    }

    /// Says whether the index of the crate at `root` is exactly what its folder asks for.
    pub fn is_fresh(&self, root: &Path) -> Result<bool, Error> {
        let text = self.text(root)?;
        Ok(fs::read(root.join(self.index)).is_ok_and(|current| current == text.as_bytes()))
    }

    fn text(&self, root: &Path) -> Result<String, Error> {
        let folder = root.join(self.folder);
        let names = names(&folder)?;
        let (tests, members): (Vec<_>, Vec<_>) = names.iter().partition(|name| *name == "tests");
        let tests = if tests.is_empty() { "" } else { "#[cfg(test)]\nmod tests;" };
        let lines = |line: &dyn Fn(&str) -> String| -> String {
            members.iter().map(|name| line(name)).collect::<Vec<_>>().concat()
        };
        let rows = lines(&|name| format!("    &{name}::{},\n", self.item));
        let parts = [
            format!("//! {} Kept in step with the folder by the build; do not edit.", self.doc),
            lines(&|name| format!("mod {name};\n")),
            self.imports.to_owned(),
            format!("{HEADING}\n{} = &[\n{rows}];", self.list),
            self.check.to_owned(),
            tests.to_owned(),
        ];
        let parts = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty());
        Ok(parts.collect::<Vec<_>>().join("\n\n") + "\n")
    }
}

fn names(folder: &Path) -> Result<Vec<String>, Error> {
    let unreadable = |cause| Error::Folder { folder: folder.to_owned(), cause };
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        // Editors keep lock and swap files that begin with a dot beside the real ones.
        if path.extension().is_none_or(|kind| kind != "rs") || stem.starts_with('.') {
            continue;
        }
        let is_word = stem.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        if !is_word || stem.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(Error::Name { path });
        }
        names.push(stem.into_owned());
    }
    // Byte order is also what rustfmt wants of neighbouring `mod` lines.
    names.sort_unstable();
    Ok(names)
}

/// Puts `text` in place in one step: two builds of one checkout may run side by side.
fn replace(index: &Path, text: &str) -> io::Result<()> {
    let draft = index.with_extension(format!("rs.{}", std::process::id()));
    let done = io::Write::write_all(&mut fs::File::create(&draft)?, text.as_bytes())
        .and_then(|()| fs::rename(&draft, index));
    done.or_else(|cause| fs::remove_file(&draft).and(Err(cause)))
}

#[expect(clippy::print_stdout, reason = "cargo reads a build script's wishes from its output")]
fn announce(paths: &[&str]) {
    for path in paths {
        println!("cargo::rerun-if-changed={path}");
    }
}

/// Why an index could not be kept in step.
pub enum Error {
    /// The folder of members cannot be listed.
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// A member's file name is no module name.
    Name {
        /// The member's file.
        path: PathBuf,
    },
    /// The index is stale and cannot be written.
    Write {
        /// The index file.
        index: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder { folder, cause } => {
                write!(out, "cannot list the family folder `{}`: {cause}", folder.display())
            }
            Self::Name { path } => write!(
                out,
                "`{}` cannot be a module: rename it to letters, digits and underscores",
                path.display()
            ),
            Self::Write { index, cause } => write!(
                out,
                "the index `{}` is stale and cannot be written ({cause}): \
                 build once in a writable checkout and commit it",
                index.display()
            ),
        }
    }
}

/// Cargo shows a build script's error by its `Debug` form; a person reads it.
impl fmt::Debug for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Folder { cause, .. } | Self::Write { cause, .. } => Some(cause),
            Self::Name { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests;
