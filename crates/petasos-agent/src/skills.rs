//! The index of skills: a name and a line each, sorted, so that equal folders give equal bytes.

use std::path::{Path, PathBuf};

const SKILLS_MAX: usize = 200;
const LINE_CHARS_MAX: usize = 160;

/// A skill by its name and line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skill {
    /// How `skill_view` knows it.
    pub name: String,
    /// What it is about.
    pub about: String,
}

/// Every skill below a folder, sorted.
pub async fn listed(folder: &Path) -> Vec<Skill> {
    let mut skills = Vec::new();
    for path in files(folder).await {
        // A file that is not text is no skill.
        let Ok(text) = tokio::fs::read_to_string(&path).await else { continue };
        let name = field(&text, "name").unwrap_or_else(|| {
            let parent = path.parent().and_then(Path::file_name);
            parent.unwrap_or_default().to_string_lossy().into_owned()
        });
        let about = field(&text, "description").unwrap_or_default();
        skills.push(Skill { name, about: about.chars().take(LINE_CHARS_MAX).collect() });
    }
    skills.sort();
    skills.dedup();
    skills
}

/// The index; absent when there are no skills.
pub(crate) async fn index(folder: &Path) -> Option<String> {
    let skills = listed(folder).await;
    let lines =
        skills.iter().take(SKILLS_MAX).map(|skill| format!("- {}: {}", skill.name, skill.about));
    let heading = "# Skills\nRead one with `skill_view` before work it is about:";
    (!skills.is_empty()).then(|| format!("{heading}\n{}", lines.collect::<Vec<_>>().join("\n")))
}

/// `SKILL.md` one or two folders down.
async fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let Ok(mut entries) = tokio::fs::read_dir(&folder).await else { continue };
        while let Ok(Some(entry)) = entries.next_entry().await {
            let path = entry.path();
            if path.is_dir() && depth < 2 {
                folders.push((path, depth + 1));
            } else if entry.file_name() == "SKILL.md" {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A field of the front matter.
fn field(text: &str, name: &str) -> Option<String> {
    let mut lines = text.lines();
    if lines.next()?.trim() != "---" {
        return None;
    }
    let mut fields = lines.take_while(|line| line.trim() != "---");
    let value = fields.find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':'))?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}
