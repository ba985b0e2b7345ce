//! The one place that builds a child's environment.
//!
//! A short list of names that programs need, plus names that a person granted. Everything else
//! stays here: a variable that nobody thought of is not handed out, so a new provider's key
//! needs no new rule. Credentials of model providers cannot be granted at all.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use petasos_contract::Settings;
use petasos_contract::settings::Source;

use crate::settings::TerminalSettings;

/// Names that any program may need and that hold no secret.
const BASE: &[&str] = &[
    "ALL_PROXY",
    "ANDROID_HOME",
    "AWS_CONFIG_FILE",
    "AWS_DEFAULT_REGION",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_SHARED_CREDENTIALS_FILE",
    "BUN_INSTALL",
    "CARGO_HOME",
    "COLORTERM",
    "CURL_CA_BUNDLE",
    "DBUS_SESSION_BUS_ADDRESS",
    "DENO_DIR",
    "DISPLAY",
    "DOCKER_CONTEXT",
    "DOCKER_HOST",
    "DOTNET_ROOT",
    "EDITOR",
    "FNM_DIR",
    "GEM_HOME",
    "GIT_SSL_CAINFO",
    "GOBIN",
    "GOPATH",
    "GOROOT",
    "HOMEBREW_CELLAR",
    "HOMEBREW_PREFIX",
    "HOMEBREW_REPOSITORY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "JAVA_HOME",
    "KUBECONFIG",
    "LANG",
    "LANGUAGE",
    "LD_LIBRARY_PATH",
    "LESSCHARSET",
    "LOGNAME",
    "LS_COLORS",
    "MANPATH",
    "NIX_PATH",
    "NIX_PROFILES",
    "NIX_SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "NODE_PATH",
    "NO_COLOR",
    "NO_PROXY",
    "NVM_DIR",
    "PIP_CERT",
    "PKG_CONFIG_PATH",
    "PNPM_HOME",
    "PYENV_ROOT",
    "PYTHONIOENCODING",
    "PYTHONPATH",
    "PYTHONUTF8",
    "RBENV_ROOT",
    "REQUESTS_CA_BUNDLE",
    "RUSTUP_HOME",
    "SDKMAN_DIR",
    "SHELL",
    "SSH_AGENT_PID",
    "SSH_AUTH_SOCK",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "TMPDIR",
    "TZ",
    "TZDIR",
    "USER",
    "VISUAL",
    "VOLTA_HOME",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// Families of such names.
const BASE_PREFIXES: &[&str] = &["LC_", "XDG_"];

/// Services whose credentials belong to this program and go to no child, granted or not.
const NEVER: &[&str] = &[
    "AI_GATEWAY",
    "ALIBABA",
    "ANTHROPIC",
    "ARCEE",
    "AUXILIARY",
    "AZURE_ANTHROPIC",
    "AZURE_FOUNDRY",
    "CEREBRAS",
    "CLAUDE_CODE",
    "COHERE",
    "COPILOT",
    "CO_API",
    "DASHSCOPE",
    "DAYTONA",
    "DEEPINFRA",
    "DEEPSEEK",
    "FIREWORKS",
    "GATEWAY_RELAY",
    "GEMINI",
    "GLM",
    "GMI",
    "GOOGLE_API",
    "GROQ",
    "HF_TOKEN",
    "KILOCODE",
    "KIMI",
    "LM_API",
    "MINIMAX",
    "MISTRAL",
    "MODAL_TOKEN",
    "NOUS",
    "NOVITA",
    "NVIDIA_API",
    "OLLAMA_API",
    "OPENAI",
    "OPENCODE",
    "OPENROUTER",
    "PERPLEXITY",
    "STEPFUN",
    "SUDO_PASSWORD",
    "TOGETHER",
    "TOKENHUB",
    "TOOL_GATEWAY",
    "UPSTAGE",
    "XAI",
    "XIAOMI",
    "ZAI",
    "Z_AI",
];

/// Folders that every search path ends with.
const STANDARD_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A child's variables, by name.
pub type Variables = BTreeMap<String, String>;

/// Where the child runs, as far as its variables tell it.
#[derive(Debug, Clone)]
pub(crate) struct Surroundings<'a> {
    /// The folder of this program, first in the search path.
    pub(crate) install: Option<&'a Path>,
    /// Whether it has a terminal.
    pub(crate) terminal: bool,
}

/// The base that a local child gets from a snapshot.
pub(crate) fn base(
    settings: &Settings,
    terminal: &TerminalSettings,
    surroundings: &Surroundings<'_>,
) -> Variables {
    let mut child = Variables::new();
    for (name, variable) in settings.variables() {
        let inherited = matches!(variable.source, Source::Environment { .. });
        let value = variable.value.expose();
        if (inherited && in_base(name) && !carries_login(value)) || granted(name, terminal) {
            child.insert(name.clone(), value.to_owned());
        }
    }
    let inherited = settings.variable("PATH").map_or("", |path| path.value.expose());
    child.insert("PATH".to_owned(), folders(surroundings.install, inherited));
    if let Some(real) = real_home(settings) {
        child.insert("PETASOS_REAL_HOME".to_owned(), real.clone());
        child.insert("HERMES_REAL_HOME".to_owned(), real.clone());
        child.insert("HOME".to_owned(), home(settings, terminal, real));
    }
    let kind = if surroundings.terminal { "xterm-256color" } else { "dumb" };
    child.insert("TERM".to_owned(), kind.to_owned());
    child
}

/// Whether a name is in the base.
fn in_base(name: &str) -> bool {
    BASE.contains(&name) || BASE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether a person granted the name and it may be granted.
fn granted(name: &str, terminal: &TerminalSettings) -> bool {
    terminal.env_passthrough.iter().any(|granted| granted == name) && !is_provider_secret(name)
}

/// Whether a name belongs to a service whose credentials go to no child.
pub fn is_provider_secret(name: &str) -> bool {
    NEVER.iter().any(|service| name.starts_with(service))
}

/// A proxy address may hold a password.
pub(crate) fn carries_login(value: &str) -> bool {
    value.contains("://") && value.contains('@')
}

fn folders(install: Option<&Path>, inherited: &str) -> String {
    let mut folders: Vec<&str> = Vec::new();
    let install = install.and_then(Path::to_str);
    for folder in install.into_iter().chain(inherited.split(':')).chain(STANDARD_PATH.split(':')) {
        if !folder.is_empty() && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders.join(":")
}

/// The search path that commands of this machine have.
pub fn search_path(settings: &Settings) -> String {
    folders(None, settings.variable("PATH").map_or("", |path| path.value.expose()))
}

fn real_home(settings: &Settings) -> Option<String> {
    let known = settings.user_home();
    if known.as_os_str().is_empty() {
        return settings.variable("HOME").map(|home| home.value.expose().to_owned());
    }
    known.to_str().map(str::to_owned)
}

fn home(settings: &Settings, terminal: &TerminalSettings, real: String) -> String {
    if terminal.home_mode != "profile" {
        return real;
    }
    let own: PathBuf = settings.home().join("home");
    own.to_str().map_or(real, str::to_owned)
}

#[cfg(test)]
mod tests {
    use petasos_contract::Secret;
    use petasos_contract::settings::{Parts, Variable};

    use super::*;

    fn child(passthrough: &[&str]) -> Variables {
        let environment = |name: &str| Source::Environment { variable: name.to_owned() };
        let dotenv = |name: &str| Source::DotEnv { file: "/e".into(), variable: name.to_owned() };
        let rows = [
            ("LANG", "C.UTF-8", environment("LANG")),
            ("LC_ALL", "C", environment("LC_ALL")),
            ("OPENAI_API_KEY", "sk-canary", environment("OPENAI_API_KEY")),
            ("NPM_TOKEN", "npm-canary", dotenv("NPM_TOKEN")),
            ("TZ", "from-dotenv", dotenv("TZ")),
            ("HTTPS_PROXY", "http://me:canary@proxy", environment("HTTPS_PROXY")),
            ("SOMETHING", "canary", environment("SOMETHING")),
            ("PATH", "/opt/x:/usr/bin::/opt/x", environment("PATH")),
        ];
        let variables = rows
            .into_iter()
            .map(|(name, value, source)| {
                (name.to_owned(), Variable { value: Secret::new(value), source })
            })
            .collect();
        let parts = Parts { variables, user_home: "/home/me".into(), ..Parts::default() };
        let terminal = TerminalSettings {
            env_passthrough: passthrough.iter().map(|name| (*name).to_owned()).collect(),
            ..TerminalSettings::default()
        };
        base(&Settings::new(parts), &terminal, &Surroundings { install: None, terminal: false })
    }

    #[test]
    fn a_child_gets_the_short_list_and_nothing_else() {
        let names: Vec<String> = child(&[]).into_keys().collect();
        let expected =
            ["HERMES_REAL_HOME", "HOME", "LANG", "LC_ALL", "PATH", "PETASOS_REAL_HOME", "TERM"];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_grant_adds_a_name_but_never_a_provider_key() {
        let child = child(&["NPM_TOKEN", "OPENAI_API_KEY"]);
        assert_eq!(child.get("NPM_TOKEN").map(String::as_str), Some("npm-canary"));
        assert!(!child.contains_key("OPENAI_API_KEY"));
    }

    #[test]
    fn the_search_path_has_no_empty_or_double_folder() {
        let path = child(&[]).remove("PATH").unwrap();
        assert!(path.starts_with("/opt/x:/usr/bin:/usr/local/sbin"), "{path}");
        assert_eq!(path.matches("/opt/x").count(), 1);
    }
}
