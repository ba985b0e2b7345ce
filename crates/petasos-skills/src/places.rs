//! Where skills are looked for, in the order in which they win.

use std::path::{Path, PathBuf};

use petasos_contract::{CallContext, Settings};

use crate::settings::SkillSettings;
use crate::starter;

/// Folders of a project that hold skills, ours first.
const PROJECT: [&str; 3] = [".petasos/skills", ".agents/skills", ".claude/skills"];
/// How far above the workspace a repository may begin.
const PARENTS_MAX: usize = 32;

/// What kind of place it is: how much its skills are trusted, and whether they can be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PlaceKind {
    /// The project: somebody else's words until a person has agreed to them.
    Project,
    /// The home, the only place that is written to.
    Home,
    /// A folder that the configuration names.
    External,
    /// A plugin.
    Plugin,
    /// The program itself.
    Bundled,
}

impl PlaceKind {
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Home => "home",
            Self::External => "external",
            Self::Plugin => "plugin",
            Self::Bundled => "bundled",
        }
    }
}

/// One place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// What kind.
    pub kind: PlaceKind,
    /// Where.
    pub folder: PathBuf,
}

/// The folder of the home that holds skills.
pub(crate) fn home(settings: &Settings) -> PathBuf {
    settings.home().join("skills")
}

/// The folders to look through.
pub(crate) fn of(cx: &CallContext, skills: &SkillSettings) -> Vec<Place> {
    let place = |kind, folder| Place { kind, folder };
    let own = home(&cx.settings);
    let mut places: Vec<Place> = Vec::new();
    for folder in project_folders(&cx.workspace, cx.settings.user_home()) {
        let inside = PROJECT.iter().map(|name| folder.join(name));
        // The home may lie in the workspace itself.
        let others = inside.filter(|folder| *folder != own);
        places.extend(others.map(|folder| place(PlaceKind::Project, folder)));
    }
    places.push(place(PlaceKind::Home, own));
    places.extend(skills.external.iter().map(|it| place(PlaceKind::External, it.clone())));
    places.extend(starter::unpacked(&cx.settings).map(|it| place(PlaceKind::Bundled, it)));
    places
}

/// The workspace and the folders above it, up to the root of its repository; the workspace alone
/// where there is none.
fn project_folders(workspace: &Path, user_home: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in workspace.ancestors().take(PARENTS_MAX) {
        folders.push(folder.to_owned());
        if folder.join(".git").exists() {
            return folders;
        }
        if folder == user_home {
            break;
        }
    }
    folders.truncate(1);
    folders
}
