//! The systemd unit of a user: written whole, without secrets, and only when it changes.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use petasos_contract::Settings;
use serde_json::Value;

use crate::command::Session;
use crate::report::Report;

const NAME: &str = "petasos-gateway.service";
/// What a unit of ours begins with.
const MARK: &str = "# Written by `petasos gateway install`";

fn place(settings: &Settings) -> PathBuf {
    let config = settings.variable("XDG_CONFIG_HOME").map(|it| PathBuf::from(it.value.expose()));
    let config = config.filter(|path| path.is_absolute());
    config.unwrap_or_else(|| settings.user_home().join(".config")).join("systemd/user").join(NAME)
}

/// The unit for this program and this home.
pub(super) fn text(program: &Path, settings: &Settings) -> String {
    let drain = settings.get("agent.restart_drain_timeout").and_then(Value::as_u64).unwrap_or(20);
    let stop = (drain + 25).max(45);
    let quoted = |path: &Path| {
        format!(
            "\"{}\"",
            path.display()
                .to_string()
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('%', "%%")
        )
    };
    let (program, home) =
        (quoted(program), settings.home().display().to_string().replace('%', "%%"));
    format!(
        "{MARK}; changes are shown before they are overwritten.\n\
         [Unit]\n\
         Description=Petasos chat gateway\n\
         After=network-online.target\n\
         Wants=network-online.target\n\
         StartLimitIntervalSec=300\n\
         StartLimitBurst=10\n\
         \n\
         [Service]\n\
         Type=notify\n\
         ExecStart={program} gateway run\n\
         ExecReload=/bin/kill -USR1 $MAINPID\n\
         Environment=\"PETASOS_HOME={home}\"\n\
         Restart=always\n\
         RestartSec=5\n\
         RestartPreventExitStatus=78\n\
         WatchdogSec=60\n\
         KillMode=mixed\n\
         TimeoutStopSec={stop}\n\
         NoNewPrivileges=true\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n"
    )
}

pub(super) fn install(session: &mut Session, force: bool) -> Result<ExitCode, Report> {
    let out = session.out;
    let settings = session.host.get()?.settings();
    let program = std::env::current_exe().map_err(|error| Report::new(error.to_string()))?;
    let (path, text) = (place(settings), text(&program, settings));
    let before = std::fs::read_to_string(&path).ok();
    if before.as_deref() == Some(text.as_str()) {
        out.line(format!("{} is as it should be.", path.display()));
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(before) = &before {
        for line in before.lines().filter(|line| !text.lines().any(|new| new == *line)) {
            out.line(format!("- {line}"));
        }
        for line in text.lines().filter(|line| !before.lines().any(|old| old == *line)) {
            out.line(format!("+ {line}"));
        }
        if !before.starts_with(MARK) && !force {
            return Err(Report::new(format!("`{}` was not written by us", path.display()))
                .code("exists")
                .hint("`petasos gateway install --force` overwrites it"));
        }
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| Report::new(error.to_string()))?;
    }
    petasos_fs::write(&path, text.as_bytes(), petasos_fs::Mode::Exactly(0o644))
        .map_err(|error| Report::new(error.to_string()))?;
    out.line(format!("{} is written. Next:", path.display()));
    out.line("  systemctl --user daemon-reload && systemctl --user enable --now petasos-gateway");
    out.line("  loginctl enable-linger   # so that it runs while you are not logged in");
    Ok(ExitCode::SUCCESS)
}

pub(super) fn uninstall(session: &mut Session) -> Result<ExitCode, Report> {
    let out = session.out;
    let path = place(session.host.get()?.settings());
    match std::fs::remove_file(&path) {
        Ok(()) => {
            out.line(format!("{} is removed. Next:", path.display()));
            out.line(
                "  systemctl --user disable --now petasos-gateway; systemctl --user daemon-reload",
            );
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => out.line("There is no unit."),
        Err(error) => return Err(Report::new(format!("`{}`: {error}", path.display()))),
    }
    Ok(ExitCode::SUCCESS)
}
