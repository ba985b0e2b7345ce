//! Workspaces that have names, in `projects.db` of the home: the tables that older programs keep, so
//! that a home that they left works as it is.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use petasos_contract::ports::Ports;
use petasos_contract::{CallContext, Settings};
use petasos_store::{Databases, SqlAsk, SqlFiles, SqlRows, StoreError};
use serde::Serialize;
use serde_json::{Value, json};

use crate::trouble::Trouble;

const FILE: &str = "projects.db";
const SLUG_CHARS_MAX: usize = 64;
const PATIENCE: Duration = Duration::from_secs(10);
const ROWS_MAX: usize = 1000;

const TABLES: [&str; 3] = [
    "CREATE TABLE IF NOT EXISTS projects (id TEXT PRIMARY KEY, slug TEXT NOT NULL UNIQUE, \
     name TEXT NOT NULL, description TEXT, icon TEXT, color TEXT, board_slug TEXT, \
     primary_path TEXT, created_at INTEGER NOT NULL, archived INTEGER NOT NULL DEFAULT 0)",
    "CREATE TABLE IF NOT EXISTS project_folders (project_id TEXT NOT NULL REFERENCES projects(id) \
     ON DELETE CASCADE, path TEXT NOT NULL, label TEXT, is_primary INTEGER NOT NULL DEFAULT 0, \
     added_at INTEGER NOT NULL, PRIMARY KEY (project_id, path))",
    "CREATE TABLE IF NOT EXISTS project_meta (key TEXT PRIMARY KEY, value TEXT)",
];
const LIST: &str = "SELECT p.id, p.slug, p.name, coalesce(p.primary_path, (SELECT f.path \
    FROM project_folders f WHERE f.project_id = p.id ORDER BY f.is_primary DESC, f.added_at \
    LIMIT 1)) FROM projects p WHERE p.archived = 0 ORDER BY p.created_at, p.rowid";
const ACTIVE: &str = "SELECT value FROM project_meta WHERE key = 'active_id'";

/// A workspace with a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Project {
    pub(crate) id: String,
    pub(crate) slug: String,
    pub(crate) name: String,
    pub(crate) primary_path: PathBuf,
}

/// The workspaces of a home, as they are now.
#[derive(Debug, Default)]
pub(crate) struct Projects {
    pub(crate) active_id: Option<String>,
    pub(crate) projects: Vec<Project>,
}

impl Projects {
    /// The one with this identity, short name or name.
    pub(crate) fn find(&self, word: &str) -> Result<&Project, Trouble> {
        let is_it =
            |it: &&Project| it.id == word || it.slug == word || it.name.eq_ignore_ascii_case(word);
        let known: Vec<&str> = self.projects.iter().map(|it| it.slug.as_str()).collect();
        self.projects.iter().find(is_it).ok_or_else(|| {
            let why = format!("no project is called `{word}`: see candidates");
            Trouble::new("not_found", why).with("candidates", known)
        })
    }
}

/// The file that keeps them.
pub(crate) struct Register {
    files: Arc<dyn SqlFiles>,
    path: PathBuf,
}

impl Register {
    /// Of a home.
    pub(crate) fn open(ports: &Ports, settings: &Settings) -> Result<Self, Trouble> {
        let files = Databases::of(ports.databases.as_ref());
        let files = files
            .ok_or_else(|| Trouble::new("missing_setup", "this program opens no database files"))?;
        Ok(Self { files, path: settings.home().join(FILE) })
    }

    async fn ask(
        &self,
        sql: &str,
        params: Vec<Value>,
        writes: bool,
    ) -> Result<SqlRows, StoreError> {
        let ask = SqlAsk {
            path: self.path.clone(),
            sql: sql.to_owned(),
            params,
            rows_max: ROWS_MAX,
            writes,
            within: PATIENCE,
        };
        self.files.query(ask).await
    }

    /// Those that are there now.
    pub(crate) async fn read(&self) -> Result<Projects, Trouble> {
        if !self.path.is_file() {
            return Ok(Projects::default());
        }
        let rows = self.ask(LIST, Vec::new(), false).await.map_err(|error| unusable(&error))?;
        let active = self.ask(ACTIVE, Vec::new(), false).await.map_err(|error| unusable(&error))?;
        let text = |cell: Option<&Value>| Some(cell?.as_str()?.to_owned());
        let project = |row: &Vec<Value>| {
            let mut cells = row.iter();
            Some(Project {
                id: text(cells.next())?,
                slug: text(cells.next())?,
                name: text(cells.next())?,
                primary_path: PathBuf::from(text(cells.next())?),
            })
        };
        Ok(Projects {
            active_id: active.rows.first().and_then(|row| text(row.first())),
            projects: rows.rows.iter().filter_map(project).collect(),
        })
    }

    /// Adds one and makes it the active one. Of two that want one short name, one gets it.
    pub(crate) async fn add(&self, project: &Project) -> Result<(), Trouble> {
        if !self.path.is_file() {
            let made = petasos_fs::write(&self.path, b"", petasos_fs::Mode::Exactly(0o600));
            made.map_err(|error| unusable(&StoreError::Failed(error.to_string())))?;
        }
        for table in TABLES {
            self.ask(table, Vec::new(), true).await.map_err(|error| unusable(&error))?;
        }
        let (folder, now) = (project.primary_path.display().to_string(), seconds());
        let sql = "INSERT INTO projects(id, slug, name, primary_path, created_at) \
                   VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
        let row = vec![
            project.id.clone().into(),
            project.slug.clone().into(),
            project.name.clone().into(),
            folder.clone().into(),
            now.into(),
        ];
        let made = self.ask(sql, row, true).await.map_err(|error| unusable(&error))?;
        if made.changed != Some(1) {
            let why = format!("a project `{}` is there already: switch to it", project.slug);
            return Err(Trouble::new("bad_argument", why));
        }
        let sql = "INSERT OR IGNORE INTO project_folders(project_id, path, is_primary, added_at) \
                   VALUES (?, ?, 1, ?)";
        let row = vec![project.id.clone().into(), folder.into(), now.into()];
        self.ask(sql, row, true).await.map_err(|error| unusable(&error))?;
        self.activate(project).await
    }

    /// Makes one the active one.
    pub(crate) async fn activate(&self, project: &Project) -> Result<(), Trouble> {
        let sql = "INSERT INTO project_meta(key, value) VALUES ('active_id', ?) \
                   ON CONFLICT(key) DO UPDATE SET value = excluded.value";
        let done = self.ask(sql, vec![json!(project.id)], true).await;
        done.map(drop).map_err(|error| unusable(&error))
    }
}

fn unusable(error: &StoreError) -> Trouble {
    Trouble::new("upstream", format!("the list of projects cannot be used: {error}"))
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// A name as a folder can have it.
pub(crate) fn slug(name: &str) -> Option<String> {
    let plain = name
        .to_lowercase()
        .chars()
        .map(|it| if it.is_alphanumeric() { it } else { '-' })
        .collect::<String>();
    let words: Vec<&str> = plain.split('-').filter(|word| !word.is_empty()).collect();
    let slug: String = words.join("-").chars().take(SLUG_CHARS_MAX).collect();
    (!slug.is_empty()).then_some(slug)
}

/// Where a project without a folder of its own is.
pub(crate) fn folder(path: Option<&str>, slug: &str, cx: &CallContext) -> PathBuf {
    match path {
        Some(path) => match path.strip_prefix("~/") {
            Some(rest) => cx.settings.user_home().join(rest),
            None => cx.workspace.join(Path::new(path)),
        },
        None => cx.settings.home().join("projects").join(slug),
    }
}
