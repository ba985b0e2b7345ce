//! `skill_view` for the skills that plugins bring, and for those of the home that a prompt lists.
//!
//! Reads below a skill's own folder and nowhere else; lists and changes nothing. It is registered
//! only where there is a skill, and no other tool has the name. The variables that a skill declares
//! reach the commands of the session that reads it.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use petasos_contract::bridging::{Blocking, SyncTool};
use petasos_contract::terminal::Terminal;
use petasos_contract::tool::{Concurrency, InPlanMode};
use petasos_contract::{Args, CallContext, Settings, ToolError, ToolOutput};
use petasos_runtime::registry::{Entry, Intent, Origin, Registry};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::plugin::Plugin;
use crate::plugins::Surroundings;

const NAME: &str = "skill_view";
/// The most that is read of one file.
const FILE_MAX: u64 = 1024 * 1024;
const FILES_MAX: usize = 50;
/// Where a skill keeps what it refers to.
const SHELVES: [&str; 4] = ["references", "templates", "scripts", "assets"];

/// Offers the skills of these plugins and of the home; whether there are any of a plugin.
pub(crate) fn offer(plugins: &[Arc<Plugin>], host: &Surroundings) -> bool {
    let any = plugins.iter().any(|plugin| !plugin.registered().skills.is_empty());
    if !any {
        return false;
    }
    remove(&host.registry);
    let view = SkillView {
        plugins: plugins.iter().map(Arc::downgrade).collect(),
        home: host.settings.home().join("skills"),
        terminal: host.terminal.clone(),
    };
    register(view, &host.registry)
}

/// Takes the skills of plugins away again.
pub(crate) fn withdraw(host: &Surroundings) {
    remove(&host.registry);
    offer_home(&host.registry, &host.settings, host.terminal.clone());
}

/// Offers the skills of the home, if it has any; whether it did.
pub fn offer_home(
    registry: &Registry,
    settings: &Settings,
    terminal: Option<Arc<dyn Terminal>>,
) -> bool {
    let home = settings.home().join("skills");
    let any = fs::read_dir(&home).is_ok_and(|mut entries| entries.next().is_some());
    any && register(SkillView { plugins: Vec::new(), home, terminal }, registry)
}

fn register(view: SkillView, registry: &Registry) -> bool {
    let mut entry = Entry::new(NAME, "skills", schema(), Arc::new(Blocking::new(view)));
    entry.concurrency = Concurrency::Safe;
    entry.in_plan_mode = InPlanMode::ByEffects;
    "📚".clone_into(&mut entry.emoji);
    registry.register(entry, &Origin::core(), Intent::Add).is_ok()
}

fn remove(registry: &Registry) {
    if let Err(error) = registry.deregister(NAME, &Origin::core()) {
        tracing::debug!(%error, "skills stay offered");
    }
}

fn schema() -> Map<String, Value> {
    let text = |about: &str| json!({ "type": "string", "description": about });
    Map::from_iter([
        ("description".to_owned(), json!("Read a skill before work it is about.")),
        (
            "parameters".to_owned(),
            json!({
                "type": "object",
                "properties": {
                    "name": text("Its name; `plugin:name` for one of a plugin"),
                    "file_path": text("One of the files that it names, instead of its main text"),
                },
                "required": ["name"],
            }),
        ),
    ])
}

struct SkillView {
    plugins: Vec<Weak<Plugin>>,
    home: PathBuf,
    /// Whose commands see what a skill declares.
    terminal: Option<Arc<dyn Terminal>>,
}

impl SyncTool for SkillView {
    fn call(&self, args: Args, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let name = args.text("name").unwrap_or_default().trim();
        let shown = self.find(name).and_then(|skill| match args.text("file_path") {
            Some(file) if !file.is_empty() => one_file(name, &skill, file),
            _ => {
                let text = read(&skill)?;
                let names = declared(&text);
                if let Some(terminal) = self.terminal.as_ref().filter(|_| !names.is_empty()) {
                    terminal.pass_variables(&cx.session, &names);
                }
                Ok(main_text(name, &skill, &text))
            }
        });
        Ok(match shown {
            Ok(shown) => ToolOutput::Text(shown.to_string()),
            Err(why) => ToolOutput::plain_error(&why),
        })
    }
}

impl SkillView {
    /// The main file of a skill.
    fn find(&self, name: &str) -> Result<PathBuf, String> {
        let plugins = self.plugins.iter().filter_map(Weak::upgrade);
        let mut skills = plugins.flat_map(|plugin| plugin.registered().skills);
        if let Some(skill) = skills.find(|skill| skill.name == name) {
            return Ok(main_file(PathBuf::from(skill.path)));
        }
        let place = name.replace(':', "/");
        if place.is_empty() || place.starts_with('/') || place.split('/').any(|part| part == "..") {
            return Err(format!("`{name}` is no name of a skill"));
        }
        let found = self.below_home(&place);
        match found.as_slice() {
            [one] => Ok(one.clone()),
            [] => Err(format!("no skill is named `{name}`")),
            many => {
                let own = |path: &PathBuf| path.strip_prefix(&self.home).unwrap_or(path).to_owned();
                let names: Vec<String> = many
                    .iter()
                    .filter_map(|path| Some(own(path).parent()?.display().to_string()))
                    .collect();
                Err(format!("several skills are named `{name}`: {}", names.join(", ")))
            }
        }
    }

    /// Skills of the home with this name, or at this place, one or two folders down.
    fn below_home(&self, place: &str) -> Vec<PathBuf> {
        let here = self.home.join(place);
        let mut folders = vec![here];
        if !place.contains('/') {
            let categories = fs::read_dir(&self.home).into_iter().flatten().flatten();
            folders.extend(categories.map(|entry| entry.path().join(place)));
        }
        folders.into_iter().map(|folder| folder.join("SKILL.md")).filter(|f| f.is_file()).collect()
    }
}

fn main_file(path: PathBuf) -> PathBuf {
    if path.is_dir() { path.join("SKILL.md") } else { path }
}

fn read(path: &Path) -> Result<String, String> {
    let unreadable = |error: std::io::Error| format!("`{}`: {error}", path.display());
    let file = fs::File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(FILE_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > FILE_MAX {
        return Err(format!("`{}` is larger than {FILE_MAX} bytes", path.display()));
    }
    String::from_utf8(bytes).map_err(|_| format!("`{}` is no text", path.display()))
}

/// The variables that the front matter of a skill asks for, in both spellings.
fn declared(text: &str) -> Vec<String> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Front {
        required_environment_variables: Vec<Wanted>,
        prerequisites: Prerequisites,
    }
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Prerequisites {
        env_vars: Vec<String>,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Wanted {
        Name(String),
        Entry { name: String },
    }
    let front = text.strip_prefix("---").and_then(|rest| rest.split_once("\n---"));
    // A front that cannot be read declares nothing; the skill itself is text for the model.
    let front: Front =
        front.and_then(|(front, _)| serde_saphyr::from_str(front).ok()).unwrap_or_default();
    let named = front.required_environment_variables.into_iter().map(|wanted| match wanted {
        Wanted::Name(name) | Wanted::Entry { name } => name,
    });
    named.chain(front.prerequisites.env_vars).collect()
}

fn main_text(name: &str, skill: &Path, content: &str) -> Value {
    let mut files = Vec::new();
    if let Some(folder) = skill.parent().filter(|_| skill.ends_with("SKILL.md")) {
        for shelf in SHELVES {
            let entries = fs::read_dir(folder.join(shelf)).into_iter().flatten().flatten();
            let here = entries.filter(|entry| entry.path().is_file());
            files.extend(
                here.map(|entry| format!("{shelf}/{}", entry.file_name().to_string_lossy())),
            );
        }
        files.sort();
        files.truncate(FILES_MAX);
    }
    json!({ "success": true, "name": name, "content": content, "files": files })
}

/// A file of the skill's folder, wherever links lead.
fn one_file(name: &str, skill: &Path, file: &str) -> Result<Value, String> {
    let missing = || format!("skill `{name}` has no file `{file}`");
    let folder = skill.parent().filter(|_| skill.ends_with("SKILL.md")).ok_or_else(missing)?;
    let folder = folder.canonicalize().map_err(|_| missing())?;
    let path = folder.join(file).canonicalize().map_err(|_| missing())?;
    if !path.starts_with(&folder) {
        return Err(missing());
    }
    let content = read(&path)?;
    Ok(json!({ "success": true, "name": name, "file": file, "content": content }))
}
