//! What the configuration says about skills.

use std::path::PathBuf;
use std::time::Duration;

use petasos_contract::{CallContext, Settings};
use serde_json::Value;

const INLINE_TIMEOUT: Duration = Duration::from_secs(10);

/// What the configuration says about skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillSettings {
    /// More folders with skills, in order; only read.
    pub external: Vec<PathBuf>,
    /// Skills that nobody is offered.
    pub disabled: Vec<String>,
    /// How long a command inside a text may take; none is run without it.
    pub inline_shell: Option<Duration>,
    /// Whether `${PETASOS_SKILL_DIR}` and the like are filled in.
    pub template_vars: bool,
}

impl SkillSettings {
    /// For this conversation.
    pub fn of(cx: &CallContext) -> Self {
        let settings = &cx.settings;
        let mut disabled = settings.names("skills.disabled").unwrap_or_default();
        let by_platform = settings.get("skills.platform_disabled");
        let here = by_platform.and_then(|all| all.get(cx.address.platform.as_str()));
        if let Some(Value::Array(names)) = here {
            disabled.extend(names.iter().filter_map(Value::as_str).map(str::to_owned));
        }
        let inline = settings.get("skills.inline_shell") == Some(&Value::Bool(true));
        let seconds = settings.get("skills.inline_shell_timeout").and_then(Value::as_f64);
        let timeout = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Self {
            external: external(settings),
            disabled,
            inline_shell: inline.then(|| timeout.unwrap_or(INLINE_TIMEOUT)),
            template_vars: settings.get("skills.template_vars") != Some(&Value::Bool(false)),
        }
    }
}

fn external(settings: &Settings) -> Vec<PathBuf> {
    let folders = settings.names("skills.external_dirs").unwrap_or_default();
    let place = |folder: String| match folder.strip_prefix('~') {
        Some(rest) => settings.user_home().join(rest.trim_start_matches('/')),
        // A relative name would mean another folder in every project.
        None => settings.home().join(folder),
    };
    folders.into_iter().map(place).collect()
}
