//! What goes along with a message: text files inside marks that name them, the names in a folder,
//! images as images.
//!
//! In a message `@path` attaches what stands there; a word that names nothing stays a word.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use petasos_contract::message::{Content, Part};

/// More text than this belongs into the workspace, where the agent can page through it.
const TEXT_MAX: u64 = 512 * 1024;
const IMAGE_MAX: u64 = 50_000_000;
/// Names of a folder that are listed.
const ENTRIES_MAX: usize = 200;
/// Names that are not there and are told.
const MISSING_MAX: usize = 5;
/// What may stand behind a name in a sentence.
const PUNCTUATION: [char; 7] = [',', '.', ';', ':', ')', '!', '?'];

/// Why something could not be attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// It cannot be read.
    #[error("`{}` cannot be read: {error}", .file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// It is too large.
    #[error("`{}` has {size} bytes, more than {most}: name its path in the message instead", .file.display())]
    TooLarge {
        /// The file.
        file: PathBuf,
        /// Its size.
        size: u64,
        /// The most that is attached.
        most: u64,
    },
    /// It is neither text nor an image.
    #[error("`{}` is neither text nor an image: name its path in the message instead", .0.display())]
    Unknown(PathBuf),
}

/// The words, then the files.
pub fn content(mut words: Vec<String>, files: &[PathBuf]) -> Result<Content, AttachError> {
    let mut images = Vec::new();
    for file in files {
        if is_image(file) {
            images.push(image(file)?);
        } else if file.is_dir() {
            words.push(folder(file)?);
        } else {
            words.push(text(file)?);
        }
    }
    let words = words.join("\n\n");
    if images.is_empty() {
        return Ok(Content::Text(words));
    }
    let mut parts = vec![Part::text(words.as_str())];
    parts.extend(images);
    Ok(Content::Parts(parts))
}

/// The paths that a message mentions with `@`, each once, as far as they are there.
pub fn mentions(text: &str, workspace: &Path, home: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for word in text.split_whitespace().filter_map(|word| word.strip_prefix('@')) {
        let path = named(word, workspace, home);
        found.extend(path.filter(|path| !found.contains(path)));
    }
    found
}

/// The words with `@` that were meant as files and name none: those with the signs of a path, and in
/// a line of its own any. Code that was pasted has words of that kind, too.
pub fn missing(text: &str, workspace: &Path, home: &Path) -> Vec<String> {
    let one_line = !text.trim().contains('\n');
    let is_name =
        |name: &str| name.chars().all(|sign| sign.is_alphanumeric() || "._-~/".contains(sign));
    let mut missing: Vec<String> = Vec::new();
    for word in text.split_whitespace().filter_map(|word| word.strip_prefix('@')) {
        let name = word.trim_end_matches(PUNCTUATION);
        let meant = one_line || name.contains(['/', '.']);
        let strange = name.is_empty() || !is_name(name) || named(word, workspace, home).is_some();
        if meant && !strange && missing.len() < MISSING_MAX {
            missing.push(format!("@{name}"));
        }
    }
    missing
}

/// What a word behind an `@` names.
fn named(word: &str, workspace: &Path, home: &Path) -> Option<PathBuf> {
    let names = [word, word.trim_end_matches(PUNCTUATION)];
    names.iter().filter(|name| !name.is_empty()).find_map(|name| {
        let path = match name.strip_prefix("~/") {
            Some(rest) => home.join(rest),
            None => workspace.join(name),
        };
        path.exists().then_some(path)
    })
}

fn text(file: &Path) -> Result<String, AttachError> {
    let bytes = read(file, TEXT_MAX)?;
    let text = String::from_utf8(bytes).map_err(|_| AttachError::Unknown(file.to_owned()))?;
    Ok(format!("<file path=\"{}\">\n{}\n</file>", file.display(), text.trim_end()))
}

fn folder(path: &Path) -> Result<String, AttachError> {
    let failed = |error| AttachError::Unreadable { file: path.to_owned(), error };
    let mut names: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)?.flatten() {
        let sign = if entry.path().is_dir() { "/" } else { "" };
        names.push(format!("{}{sign}", entry.file_name().to_string_lossy()));
    }
    names.sort();
    let more = names.len().saturating_sub(ENTRIES_MAX);
    names.truncate(ENTRIES_MAX);
    if more > 0 {
        names.push(format!("… and {more} more"));
    }
    Ok(format!("<folder path=\"{}\">\n{}\n</folder>", path.display(), names.join("\n")))
}

/// A picture, as it is: whoever takes the message looks at what it really holds.
pub fn image(file: &Path) -> Result<Part, AttachError> {
    let bytes = read(file, IMAGE_MAX)?;
    let data = base64::engine::general_purpose::STANDARD.encode(bytes);
    Ok(Part::image(format!("data:image/*;base64,{data}").as_str()))
}

/// By its name alone: a picture that is called otherwise is attached as one by `--image`.
fn is_image(file: &Path) -> bool {
    let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    ["png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "svg"]
        .iter()
        .any(|known| ending.eq_ignore_ascii_case(known))
}

fn read(file: &Path, most: u64) -> Result<Vec<u8>, AttachError> {
    let failed = |error| AttachError::Unreadable { file: file.to_owned(), error };
    let size = std::fs::metadata(file).map_err(failed)?.len();
    if size > most {
        return Err(AttachError::TooLarge { file: file.to_owned(), size, most });
    }
    std::fs::read(file).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_is_mentioned_and_there_is_attached() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            std::fs::create_dir_all(root.path().join(name).parent().unwrap()).unwrap();
            std::fs::File::create(root.path().join(name)).unwrap().write_all(bytes).unwrap();
        };
        write("src/app.py", b"print()\n");
        write("pic.png", b"\x89PNG");
        let text = "look at @src/app.py, @pic.png and @nobody; @src. me@src/app.py @src/app.py";
        let found = mentions(text, root.path(), root.path());
        let expected = ["src/app.py", "pic.png", "src"].map(|name| root.path().join(name));
        assert_eq!(found, expected);
        let absent = |text: &str| missing(text, root.path(), root.path());
        assert_eq!(absent(text), ["@nobody"]);
        assert_eq!(absent("see @src/gone.py, please"), ["@src/gone.py"]);
        assert!(
            absent("class A:\n  @property\n  def b(self): ...").is_empty(),
            "code is no mention"
        );
        assert!(absent("@src/app.py and me@nowhere.org").is_empty());
        let Content::Parts(parts) = content(vec!["words".to_owned()], &found).unwrap() else {
            panic!("an image makes parts");
        };
        let Part::Text { text } = &parts[0] else { panic!("text first") };
        assert!(text.starts_with("words\n\n<file path=") && text.contains("print()"), "{text}");
        assert!(text.contains("<folder path=") && text.contains("app.py"), "{text}");
        assert_eq!(parts.len(), 2);
        write("odd.bin", &[0xff, 0xfe, 0]);
        let refused = content(Vec::new(), &[root.path().join("odd.bin")]);
        assert!(matches!(refused, Err(AttachError::Unknown(_))));
    }
}
