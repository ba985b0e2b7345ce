//! What a person types to get a skill, and how far its source is trusted.

use std::path::{Path, PathBuf};

use petasos_contract::Settings;

use crate::error::SkillError;

/// Repositories whose owners answer for what is in them.
pub(super) const TRUSTED: [&str; 4] =
    ["openai/skills", "anthropics/skills", "huggingface/skills", "NVIDIA/skills"];

/// How far a source is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TrustLevel {
    /// It comes with the program.
    Official,
    /// The person's own folder.
    Own,
    /// A repository whose owner answers for it.
    Trusted,
    /// Anybody.
    Community,
}

impl TrustLevel {
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Official => "official",
            Self::Own => "own",
            Self::Trusted => "trusted",
            Self::Community => "community",
        }
    }
}

/// Where a skill comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A git repository, by address; a folder or a skill's name in it; a branch, tag or commit.
    Git {
        /// The address.
        url: String,
        /// The folder, or the name of a skill.
        path: Option<String>,
        /// What to fetch; the default branch without.
        reference: Option<String>,
    },
    /// One file on the web.
    Page(String),
    /// An archive on the web.
    RemoteArchive(String),
    /// An archive on this machine.
    Archive(PathBuf),
    /// A folder on this machine.
    Folder(PathBuf),
    /// What a host publishes below `/.well-known/skills`.
    WellKnown {
        /// The address of the list, without its name.
        base: String,
        /// The skill.
        name: Option<String>,
    },
    /// A skill that comes with the program.
    Official(String),
}

impl Source {
    /// What an identifier means.
    pub fn of(typed: &str, settings: &Settings) -> Result<Self, SkillError> {
        let typed = typed.trim();
        if typed.is_empty() || typed.starts_with('-') || typed.contains(char::is_control) {
            return Err(SkillError::bad("that is no place of a skill"));
        }
        if let Some(rest) = typed.strip_prefix("well-known:") {
            return Self::well_known(rest);
        }
        if let Some(name) = typed.strip_prefix("official/") {
            return Ok(Self::Official(name.to_owned()));
        }
        let local = match typed.strip_prefix("~/") {
            Some(rest) => settings.user_home().join(rest),
            None => settings.workspace().join(typed),
        };
        let looks_local = typed.starts_with(['/', '.', '~']);
        if local.is_dir()
            && (looks_local || !typed.contains("://"))
            && !local.join("HEAD").is_file()
        {
            return Ok(Self::Folder(local));
        }
        if local.is_file() && is_archive(typed) {
            return Ok(Self::Archive(local));
        }
        if typed.contains("://") {
            return Self::address(typed);
        }
        if looks_local {
            return Err(SkillError::missing(format!("`{typed}` is not there")));
        }
        let typed = typed.strip_prefix("skills.sh/").unwrap_or(typed);
        let (place, reference) = split_reference(typed);
        let mut parts = place.split('/');
        match (parts.next(), parts.next()) {
            (Some(owner), Some(repo)) if is_word(owner) && is_word(repo) => {
                let path: Vec<&str> = parts.collect();
                Ok(Self::Git {
                    url: format!("https://github.com/{owner}/{repo}.git"),
                    path: checked_path(&path.join("/"))?,
                    reference,
                })
            }
            _ => Err(SkillError::bad(format!(
                "`{typed}` is no place of a skill: owner/repo/name, an address, or a folder"
            ))),
        }
    }

    fn well_known(rest: &str) -> Result<Self, SkillError> {
        let (scheme, rest) = rest.split_once("://").unwrap_or(("https", rest));
        let (host, name) = rest.split_once('/').unwrap_or((rest, ""));
        let is_host = !host.is_empty()
            && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:".contains(&byte));
        if !is_host || !matches!(scheme, "https" | "http") {
            return Err(SkillError::bad("say well-known:HOST/NAME"));
        }
        let name = Some(name).filter(|name| !name.is_empty());
        if let Some(name) = name.filter(|name| !is_word(name)) {
            return Err(SkillError::bad(format!("`{name}` is no name of a skill")));
        }
        let base = format!("{scheme}://{host}/.well-known/skills");
        Ok(Self::WellKnown { base, name: name.map(str::to_owned) })
    }

    fn address(typed: &str) -> Result<Self, SkillError> {
        let lower = typed.to_lowercase();
        let (scheme, _) = lower.split_once("://").unwrap_or_default();
        if !matches!(scheme, "https" | "http" | "file") {
            return Err(SkillError::bad(format!("`{scheme}` is no way to get a skill: use https")));
        }
        if let Some((repo, rest)) = typed.split_once(".git") {
            let (path, reference) = split_reference(rest);
            let path = path.trim_start_matches('/');
            return Ok(Self::Git {
                url: format!("{repo}.git"),
                path: checked_path(path)?,
                reference,
            });
        }
        if scheme == "file" {
            return Err(SkillError::bad("`file://` is for git repositories that end in .git"));
        }
        if lower.ends_with("/skill.md") {
            return Ok(Self::Page(typed.to_owned()));
        }
        if is_archive(&lower) {
            return Ok(Self::RemoteArchive(typed.to_owned()));
        }
        Err(SkillError::bad(format!(
            "`{typed}` is neither a git repository (.git), an archive (.zip, .tar.gz) nor SKILL.md"
        )))
    }

    /// The word that the lock keeps.
    pub fn word(&self) -> &'static str {
        match self {
            Self::WellKnown { .. } => "well_known",
            Self::Official(_) => "official",
            Self::Git { url, .. } if url.starts_with("https://github.com/") => "github",
            Self::Git { .. } => "git",
            Self::Page(_) | Self::RemoteArchive(_) => "url",
            Self::Archive(_) => "archive",
            Self::Folder(_) => "folder",
        }
    }

    /// How far it is trusted.
    pub fn trust(&self) -> TrustLevel {
        match self {
            Self::Official(_) => TrustLevel::Official,
            Self::Folder(_) => TrustLevel::Own,
            Self::Git { url, .. } => {
                let repo = url.strip_prefix("https://github.com/").unwrap_or_default();
                let repo = repo.trim_end_matches(".git");
                if TRUSTED.iter().any(|known| known.eq_ignore_ascii_case(repo)) {
                    TrustLevel::Trusted
                } else {
                    TrustLevel::Community
                }
            }
            Self::Page(_) | Self::RemoteArchive(_) | Self::Archive(_) | Self::WellKnown { .. } => {
                TrustLevel::Community
            }
        }
    }
}

fn split_reference(text: &str) -> (&str, Option<String>) {
    match text.rsplit_once('@') {
        Some((place, reference)) if is_reference(reference) => (place, Some(reference.to_owned())),
        _ => (text, None),
    }
}

/// A branch, tag or commit; never an option of git.
fn is_reference(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    !text.is_empty() && !text.starts_with('-') && !text.contains("..") && text.chars().all(fits)
}

fn is_word(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    !text.is_empty() && !text.starts_with(['-', '.']) && text.chars().all(fits)
}

fn checked_path(path: &str) -> Result<Option<String>, SkillError> {
    let path = path.trim_matches('/');
    if path.is_empty() {
        return Ok(None);
    }
    if path
        .split('/')
        .all(|part| !part.is_empty() && part != ".." && part != "." && !part.starts_with('-'))
    {
        return Ok(Some(path.to_owned()));
    }
    Err(SkillError::bad(format!("`{path}` is no folder of a repository")))
}

fn is_archive(name: &str) -> bool {
    let lower = name.to_lowercase();
    let name = Path::new(&lower);
    let ending = |wanted: &str| name.extension().is_some_and(|ending| ending == wanted);
    ending("zip") || ending("skill") || ending("tgz") || ending("tar") || lower.ends_with(".tar.gz")
}
