//! How far a script is confined: as far as the settings ask for commands.
//!
//! Read from the same keys as the terminal's. Whether it can be attained is the environment's to
//! find out and to say.

use petasos_contract::CallContext;
use petasos_contract::context::Surface;
use petasos_contract::environment::{Sandbox, SandboxLevel};
use petasos_contract::path::TargetPath;
use petasos_contract::settings::Source;
use serde_json::Value;

/// The confinement that the settings ask for; the script's own folder can always be written.
pub(super) fn wanted(cx: &CallContext, own: &TargetPath) -> Sandbox {
    let settings = &cx.settings;
    let chosen = settings.get("terminal.sandbox").is_some()
        && settings
            .explain("terminal.sandbox")
            .first()
            .is_none_or(|layer| layer.source != Source::Default);
    // Where nobody watches, confined unless a person chose otherwise.
    let unattended = matches!(cx.surface, Surface::Cron | Surface::ApiServer);
    let level = match settings.text("terminal.sandbox") {
        _ if !chosen && unattended => SandboxLevel::Workspace,
        Some("workspace") => SandboxLevel::Workspace,
        Some("readonly") => SandboxLevel::Readonly,
        Some(_) | None => SandboxLevel::Off,
    };
    let mut writable = vec![own.clone()];
    if level == SandboxLevel::Workspace {
        let granted = settings.names("terminal.sandbox_writable").unwrap_or_default();
        writable.push(TargetPath::new(cx.workspace.to_path_buf()));
        writable.push(TargetPath::new(settings.temp()));
        writable.extend(granted.iter().map(|path| TargetPath::new(cx.workspace.join(path))));
    }
    let home = settings.home();
    let ours = (!home.as_os_str().is_empty()).then(|| TargetPath::new(home));
    let project = TargetPath::new(cx.workspace.join(".petasos"));
    Sandbox {
        level,
        required: settings.text("terminal.sandbox_require") == Some("required"),
        network: settings.get("terminal.sandbox_network").and_then(Value::as_bool).unwrap_or(true),
        writable,
        protected: ours.into_iter().chain([project]).collect(),
    }
}
