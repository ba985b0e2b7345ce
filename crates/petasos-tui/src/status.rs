//! The status line: which model, where, how full the window is, what it cost, and what is
//! unusual about this session.

use std::fmt::Write as _;
use std::path::Path;

use crate::line::{Line, Style};

/// Narrower windows have no room for it.
const NARROWEST: usize = 40;

/// What the line shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Status {
    pub(crate) model: String,
    pub(crate) folder: String,
    pub(crate) branch: Option<String>,
    /// Tokens of the last request and its reply.
    pub(crate) used: u64,
    pub(crate) window: u64,
    pub(crate) cost_usd: f64,
    /// `yolo`, `sandbox`, `plan`.
    pub(crate) modes: Vec<String>,
    pub(crate) queued: usize,
    /// Background jobs and subagents that run.
    pub(crate) jobs: usize,
    pub(crate) subagents: usize,
}

impl Status {
    /// The line; what matters least gives way in a narrow window.
    pub(crate) fn line(&self, columns: usize) -> Option<Line> {
        if columns < NARROWEST {
            return None;
        }
        let mut parts = self.modes.clone();
        parts.extend(Some(self.model.clone()).filter(|model| !model.is_empty()));
        let branch = self.branch.as_ref().map(|branch| format!(" ({branch})")).unwrap_or_default();
        parts.push(format!("{}{branch}", self.folder));
        parts.extend(self.context());
        if self.cost_usd > 0.0 {
            parts.push(format!("${:.2}", self.cost_usd));
        }
        if self.queued > 0 {
            parts.push(format!("{} queued", self.queued));
        }
        for (count, noun) in [(self.jobs, "job"), (self.subagents, "subagent")] {
            let s = if count == 1 { "" } else { "s" };
            parts.extend((count > 0).then(|| format!("{count} {noun}{s}")));
        }
        let mut text = String::new();
        for part in parts {
            let separator = if text.is_empty() { "" } else { " · " };
            let longer = format!("{text}{separator}{part}");
            if Line::of(Style::FAINT, &longer).width() <= columns {
                text = longer;
            }
        }
        Some(Line::of(Style::FAINT, &text))
    }

    fn context(&self) -> Option<String> {
        let percent = (self.used * 100).checked_div(self.window).filter(|_| self.used > 0)?;
        let mut text = String::new();
        write!(text, "{percent}% of {}", short(self.window)).ok()?;
        Some(text)
    }
}

/// `8k`, `200k`, `1M`.
fn short(tokens: u64) -> String {
    match tokens {
        0..10_000 => format!("{}.{}k", tokens / 1000, tokens % 1000 / 100),
        10_000..1_000_000 => format!("{}k", tokens / 1000),
        _ => format!("{}.{}M", tokens / 1_000_000, tokens % 1_000_000 / 100_000),
    }
}

/// The checked-out branch of the repository that a folder is in.
pub(crate) fn branch(folder: &Path) -> Option<String> {
    let git = folder.ancestors().map(|it| it.join(".git")).find(|it| it.exists())?;
    let git = if git.is_file() {
        let text = std::fs::read_to_string(&git).ok()?;
        git.parent()?.join(text.strip_prefix("gitdir:")?.trim())
    } else {
        git
    };
    let head = std::fs::read_to_string(git.join("HEAD")).ok()?;
    let head = head.trim();
    match head.strip_prefix("ref: refs/heads/") {
        Some(branch) => Some(branch.to_owned()),
        None => head.get(..8).map(str::to_owned),
    }
}

/// A folder as people write it.
pub(crate) fn folder(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_narrow_window_keeps_what_matters_most() {
        let status = Status {
            model: "mock-large".into(),
            folder: "~/proj".into(),
            branch: Some("main".into()),
            used: 16_000,
            window: 200_000,
            cost_usd: 0.126,
            modes: vec!["yolo".into()],
            queued: 2,
            jobs: 1,
            subagents: 2,
        };
        let shown = |columns| status.line(columns).map(|line| line.text());
        let whole = "yolo · mock-large · ~/proj (main) · 8% of 200k · $0.13 · 2 queued \
                     · 1 job · 2 subagents";
        assert_eq!(shown(100).as_deref(), Some(whole));
        assert_eq!(shown(44).as_deref(), Some("yolo · mock-large · ~/proj (main) · $0.13"));
        assert_eq!(shown(39), None);
    }

    #[test]
    fn the_branch_is_read_from_the_repository_itself() {
        let folder = std::env::temp_dir().join(format!("petasos-branch-{}", std::process::id()));
        std::fs::create_dir_all(folder.join(".git")).unwrap();
        std::fs::create_dir_all(folder.join("a/b")).unwrap();
        let write = |text: &str| {
            let mut head = std::fs::File::create(folder.join(".git/HEAD")).unwrap();
            head.write_all(text.as_bytes()).unwrap();
        };
        write("ref: refs/heads/topic/x\n");
        assert_eq!(branch(&folder.join("a/b")).as_deref(), Some("topic/x"));
        write("0123456789abcdef\n");
        assert_eq!(branch(&folder).as_deref(), Some("01234567"));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_folder_below_home_begins_with_a_tilde() {
        let home = Some(Path::new("/home/me"));
        assert_eq!(super::folder(Path::new("/home/me/x"), home), "~/x");
        assert_eq!(super::folder(Path::new("/home/me"), home), "~");
        assert_eq!(super::folder(Path::new("/srv"), home), "/srv");
    }
}
