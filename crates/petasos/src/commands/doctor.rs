//! `petasos doctor`: what works here, what does not, and what to do about it.
//!
//! Every line comes from the code that makes the decision it reports.

mod platforms;
mod private;
mod servers;
mod turn;
pub(super) mod window;

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::{ArgMatches, Args};
use petasos_approval::scan::Outcome;
use petasos_contract::SessionId;
use petasos_contract::context::Surface;
use petasos_contract::environment::{self, EnvError, Environments as _};
use petasos_runtime::definitions::{Fate, Wanted};
use petasos_runtime::toolsets::choose;
use serde::Serialize;
use serde_json::json;

use super::backend;
use crate::command::{Command, Session, parse};
use crate::host::Host;
use crate::out::{Out, Style};
use crate::report::Report;

pub(super) static COMMAND: Command = Command {
    name: "doctor",
    about: "Check this installation and say what to do",
    examples: &[
        ("petasos doctor", "check everything a turn needs"),
        ("petasos doctor --fix", "repair what is safe to repair"),
        ("petasos doctor --no-test --json", "for scripts, without a call to the model"),
    ],
    hidden: false,
    arguments: <Doctor as Args>::augment_args,
    run,
};

#[derive(Debug, Args)]
struct Doctor {
    /// Repair what is safe to repair: file permissions, a missing home
    #[arg(long)]
    fix: bool,
    /// Do not call the model
    #[arg(long)]
    no_test: bool,
}

/// How a part is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Health {
    Good,
    Note,
    Bad,
}

/// One finding.
#[derive(Debug, Serialize)]
struct Finding {
    part: &'static str,
    health: Health,
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Finding {
    fn good(part: &'static str, what: impl Into<String>) -> Self {
        Self { part, health: Health::Good, what: what.into(), hint: None }
    }

    fn note(part: &'static str, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { part, health: Health::Note, what: what.into(), hint: Some(hint.into()) }
    }
}

/// A plugin that should run and does not.
fn look_at_plugins(host: &Host, findings: &mut Vec<Finding>) {
    let Some(plugins) = host.plugins() else { return };
    let troubles = plugins.troubles();
    if troubles.is_empty() && !plugins.running().is_empty() {
        let count = plugins.running().len();
        findings.push(Finding::good("plugins", format!("{count} run")));
    }
    findings.extend(troubles.into_iter().map(|what| Finding {
        part: "plugins",
        health: Health::Bad,
        what,
        hint: Some("`petasos plugins logs NAME` shows what it wrote".to_owned()),
    }));
}

fn run(matches: &ArgMatches, session: &mut Session) -> Result<ExitCode, Report> {
    let doctor: Doctor = parse(matches)?;
    let out = session.out;
    let mut findings = Vec::new();
    match session.host.get() {
        Ok(host) => {
            let made = doctor.fix && private::make_home(host.settings().home())?;
            look_at_settings(host, &mut findings);
            if made {
                findings.push(Finding::good("home", "made"));
            }
            findings.extend(private::look(host.settings().home(), doctor.fix)?);
            turn::look(host, !doctor.no_test, &mut findings)?;
            window::look(host, &mut findings)?;
            try_scanner(host, &mut findings)?;
            look_at_terminal(host, &mut findings)?;
            try_backend(host, &mut findings)?;
            look_at_backends(host, &mut findings)?;
            look_at_plugins(host, &mut findings);
            servers::look(host, &mut findings)?;
            platforms::look(host, &mut findings)?;
            look_at_tools(host, &mut findings)?;
        }
        Err(report) => findings.push(Finding {
            part: "config",
            health: Health::Bad,
            what: report.to_string(),
            hint: Some("`petasos config check` shows each problem with its place".to_owned()),
        }),
    }
    let healthy = findings.iter().all(|finding| finding.health != Health::Bad);
    if out.is_json() {
        out.value(&json!({ "healthy": healthy, "findings": findings }));
    } else {
        print(out, &findings);
    }
    Ok(if healthy { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn look_at_settings(host: &Host, findings: &mut Vec<Finding>) {
    let settings = host.settings();
    let home = settings.home().display();
    if settings.home().is_dir() {
        findings.push(Finding::good("home", format!("{home}")));
    } else {
        let hint = "nothing to do: it is created when something is saved";
        findings.push(Finding::note("home", format!("{home} does not exist yet"), hint));
    }
    if settings.notices().is_empty() {
        findings.push(Finding::good("config", "OK"));
    }
    for notice in settings.notices() {
        let what = format!("`{}`: {}", notice.key, notice.what);
        findings.push(Finding::note("config", what, notice.hint.clone()));
    }
}

/// Shows a harmless command to the scanner, where there is one.
fn try_scanner(host: &Host, findings: &mut Vec<Finding>) -> Result<(), Report> {
    let hint = "see `security.tirith_path` and `security.tirith_fail_open`";
    let checker = match host.checker() {
        Ok(checker) => checker,
        Err(report) => {
            findings.push(bad("scanner", report.to_string(), hint));
            return Ok(());
        }
    };
    for scanned in host.wait(checker.scan("true"))? {
        let (program, time) = (&scanned.program, scanned.milliseconds);
        findings.push(match scanned.outcome {
            Outcome::Failed(why) if scanned.findings.is_empty() => {
                let what = format!("{program}: {why}; commands pass without its word");
                Finding::note("scanner", what, hint)
            }
            Outcome::Failed(why) => {
                let what = format!("{program}: {why}; every command is asked about");
                bad("scanner", what, hint)
            }
            _ => Finding::good("scanner", format!("{program} answers in {time} ms")),
        });
    }
    Ok(())
}

/// Where commands run, and how far they can be confined there.
fn look_at_terminal(host: &Host, findings: &mut Vec<Finding>) -> Result<(), Report> {
    let cx = host.call_context(Surface::Cli, SessionId::new("doctor"));
    let health = host.wait(async {
        let environment = host.terminal().of(&cx).await?;
        Ok::<_, EnvError>(environment.health().await)
    })?;
    let hint = "`petasos config explain terminal.backend` shows what chose it";
    findings.push(match health {
        Ok(environment::Health::Ready { detail }) => Finding::good("terminal", detail),
        Ok(environment::Health::Degraded { reason }) => Finding::note("terminal", reason, hint),
        Ok(environment::Health::Lost { reason }) => bad("terminal", reason, hint),
        Err(error) => bad("terminal", error.to_string(), hint),
    });
    Ok(())
}

/// The way of `petasos backend check`, in the configured place.
fn try_backend(host: &Host, findings: &mut Vec<Finding>) -> Result<(), Report> {
    let name = backend::configured(host);
    let steps = backend::check::tried(host, name)?;
    let finding = if let Some(step) = steps.iter().find(|step| !step.ok) {
        let hint = format!("`petasos backend check {name}` shows every step");
        bad("backend", format!("{name}: {}: {}", step.name, step.what), &hint)
    } else {
        let time = |step: &backend::check::Step| format!("{} {} ms", step.name, step.milliseconds);
        let times: Vec<String> = steps.iter().map(time).collect();
        Finding::good("backend", format!("{name}: {}", times.join(", ")))
    };
    findings.push(finding);
    Ok(())
}

/// Which other places could be used.
fn look_at_backends(host: &Host, findings: &mut Vec<Finding>) -> Result<(), Report> {
    let (mut usable, mut not) = (Vec::new(), Vec::new());
    for backend in host.terminal().backends() {
        match host.wait(host.terminal().ask(backend, host.settings()))? {
            Ok(()) => usable.push(backend.name),
            Err(_) => not.push(backend.name),
        }
    }
    let mut what = format!("usable: {}", usable.join(", "));
    if !not.is_empty() {
        what.extend(["; not usable here: ", &not.join(", ")]);
    }
    findings.push(Finding {
        hint: Some("`petasos backend check NAME` tries one from start to end".to_owned()),
        ..Finding::good("backends", what)
    });
    Ok(())
}

fn bad(part: &'static str, what: String, hint: &str) -> Finding {
    Finding { part, health: Health::Bad, what, hint: Some(hint.to_owned()) }
}

fn look_at_tools(host: &Host, findings: &mut Vec<Finding>) -> Result<(), Report> {
    let tools = host.catalogue().registry().snapshot();
    let configured = choose("cli", host.settings(), &tools);
    for notice in &configured.notices {
        let what = format!("`{}`: {}", notice.key, notice.what);
        findings.push(Finding::note("tools", what, notice.hint.clone()));
    }
    let selection = configured.selection(host.settings());
    let wanted = Wanted { selection, ..Wanted::default() };
    let cx = host.check_context(Surface::Cli, SessionId::new("doctor"));
    let definitions = host.wait(host.catalogue().define(&wanted, &cx))?;
    let offered = definitions.granted().len();
    if offered == 0 {
        findings.push(Finding {
            part: "tools",
            health: Health::Bad,
            what: "no tool would be offered on the command line".to_owned(),
            hint: Some("`petasos tools list --all` gives the reason for each".to_owned()),
        });
    } else {
        findings.push(Finding::good("tools", format!("{offered} offered on the command line")));
    }
    let mut hidden: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, fate) in &definitions.fates {
        if let Fate::Unavailable(reason) | Fate::Withdrawn(reason) = fate {
            hidden.entry(reason.clone()).or_default().push(name.to_string());
        }
    }
    for (reason, names) in hidden {
        let first = names.first().map(String::as_str).unwrap_or_default();
        let hint = format!("`petasos tools explain {first}` shows each step");
        let what = format!("hidden: {} ({reason})", names.join(", "));
        findings.push(Finding::note("tools", what, hint));
    }
    Ok(())
}

fn print(out: Out, findings: &[Finding]) {
    for finding in findings {
        let mark = match finding.health {
            Health::Good => out.paint(Style::Good, "✓"),
            Health::Note => out.paint(Style::Warn, "•"),
            Health::Bad => out.paint(Style::Bad, "✗"),
        };
        out.line(format!("{mark} {:8} {}", finding.part, finding.what));
        if let Some(hint) = &finding.hint {
            out.line(out.paint(Style::Faint, &format!("  {:8} hint: {hint}", "")));
        }
    }
}
