//! `tools explain`: every filter step and the verdict, from the code that builds definitions.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use petasos_contract::ports::Logins;
use petasos_contract::{SessionId, Settings};
use petasos_runtime::definitions::{Definitions, Fate, Wanted};
use petasos_runtime::registry::Snapshot;
use petasos_runtime::toolsets::{Action, PlatformChoice, choose};
use serde::Serialize;
use serde_json::json;

use super::list::unknown;
use super::surface_kind;
use crate::command::Session;
use crate::out::{Out, Style};
use crate::report::Report;

#[derive(Debug, Args)]
pub(super) struct Explain {
    /// The tool
    name: String,
    /// The surface whose configuration counts (cli, telegram, cron, acp, ...)
    #[arg(long, value_name = "SURFACE", default_value = "cli")]
    surface: String,
}

/// One filter step.
#[derive(Debug, Serialize)]
struct Stage {
    step: &'static str,
    passed: bool,
    detail: String,
}

impl Explain {
    pub(super) fn run(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let out = session.out;
        let host = session.host.get()?;
        let tools = host.with_plugins().catalogue().registry().snapshot();
        let choice = choose(&self.surface, host.settings(), &tools);
        let selection = choice.selection(host.settings());
        let wanted = Wanted { selection, context_tokens: None, whole: false };
        let cx = host.check_context(surface_kind(&self.surface), SessionId::new("command-line"));
        let definitions = host.glance(host.catalogue().define(&wanted, &cx))?;
        let fate = definitions.fates.get(self.name.as_str());
        if fate.is_none() && tools.find(&self.name).is_none() {
            return Err(unknown(&self.name, &tools));
        }
        let mut steps = self.steps(&tools, &choice, &definitions);
        steps.extend(self.provider(host.settings(), host.ports().logins.as_ref()));
        let (verdict, reason) = verdict(fate);
        if out.is_json() {
            out.value(&json!({
                "name": self.name, "surface": self.surface, "steps": steps,
                "verdict": verdict, "reason": reason,
            }));
        } else {
            self.print(out, &steps, verdict, reason.as_deref());
        }
        Ok(ExitCode::SUCCESS)
    }

    fn steps(
        &self,
        tools: &Snapshot,
        choice: &PlatformChoice,
        definitions: &Definitions,
    ) -> Vec<Stage> {
        let mut steps = vec![self.registered(tools)];
        steps.extend(self.toolset_switches(tools, choice));
        steps.push(self.enabled(definitions));
        steps.extend(self.disabled(definitions));
        steps.extend(self.fate(definitions));
        steps
    }

    /// Who would answer, and who was passed over: the choice that a call makes.
    fn provider(&self, settings: &Settings, logins: Option<&Arc<dyn Logins>>) -> Vec<Stage> {
        use petasos_media::{creating, filming, speaking};
        let (chosen, trace) = match self.name.as_str() {
            "image_generate" => {
                let choice = creating::choose(settings, logins);
                (choice.chosen.is_ok(), choice.trace)
            }
            "video_generate" | "xai_video_edit" | "xai_video_extend" => {
                let choice = filming::choose(settings);
                (choice.chosen.is_ok(), choice.trace)
            }
            "text_to_speech" => {
                let choice = speaking::choose(settings);
                (choice.chosen.is_ok(), choice.trace)
            }
            _ => return Vec::new(),
        };
        let step = |detail| Stage { step: "provider", passed: chosen, detail };
        trace.into_iter().map(step).collect()
    }

    fn registered(&self, tools: &Snapshot) -> Stage {
        match tools.find(&self.name) {
            Some(entry) => Stage {
                step: "registry",
                passed: true,
                detail: format!("registered in toolset `{}` by {}", entry.toolset, entry.origin()),
            },
            None => Stage {
                step: "registry",
                passed: false,
                detail: "named by a toolset, but this program has no such tool yet".to_owned(),
            },
        }
    }

    /// What the surface's configuration says about the toolsets that contain the tool.
    fn toolset_switches<'a>(
        &'a self,
        tools: &'a Snapshot,
        choice: &'a PlatformChoice,
    ) -> impl Iterator<Item = Stage> + 'a {
        let contains = |toolset: &str| {
            petasos_runtime::toolsets::resolve_toolset(toolset, tools)
                .tools
                .iter()
                .any(|tool| *tool == self.name.as_str())
        };
        choice.reasons.iter().filter(move |reason| contains(&reason.toolset)).map(|reason| Stage {
            step: "surface",
            passed: reason.on,
            detail: format!(
                "toolset `{}` is {}: {}",
                reason.toolset,
                if reason.on { "on" } else { "off" },
                reason.why
            ),
        })
    }

    fn enabled(&self, definitions: &Definitions) -> Stage {
        let brings = definitions.trace.iter().find(|step| {
            matches!(step.action, Action::Enable | Action::Include | Action::Legacy)
                && step.tools.iter().any(|tool| *tool == self.name.as_str())
        });
        match brings {
            Some(step) => Stage {
                step: "toolset",
                passed: true,
                detail: format!("brought in by `{}`", step.toolset),
            },
            None => Stage {
                step: "toolset",
                passed: false,
                detail: "no toolset that is on for this surface contains it".to_owned(),
            },
        }
    }

    fn disabled(&self, definitions: &Definitions) -> Option<Stage> {
        let taken = definitions.trace.iter().find(|step| {
            step.action == Action::Disable
                && step.tools.iter().any(|tool| *tool == self.name.as_str())
        })?;
        let detail = format!("taken away by disabling `{}`", taken.toolset);
        Some(Stage { step: "disabled", passed: false, detail })
    }

    fn fate(&self, definitions: &Definitions) -> Vec<Stage> {
        let pass = |step, detail: &str| Stage { step, passed: true, detail: detail.to_owned() };
        match definitions.fates.get(self.name.as_str()) {
            None | Some(Fate::NotRegistered) => Vec::new(),
            Some(Fate::Unavailable(reason)) => {
                vec![Stage { step: "check", passed: false, detail: reason.clone() }]
            }
            Some(Fate::Withdrawn(reason)) => vec![
                pass("check", "available"),
                Stage { step: "patch", passed: false, detail: reason.clone() },
            ],
            Some(Fate::Deferred) => vec![
                pass("check", "available"),
                pass("patch", "schema fits the offered tools"),
                pass("tool search", "hidden behind tool_search because the catalogue is large"),
            ],
            Some(Fate::Offered) => {
                vec![pass("check", "available"), pass("patch", "schema fits the offered tools")]
            }
        }
    }

    fn print(&self, out: Out, steps: &[Stage], verdict: &str, reason: Option<&str>) {
        out.line(format!("{} on {}", out.paint(Style::Bold, &self.name), self.surface));
        for step in steps {
            let mark = if step.passed {
                out.paint(Style::Good, "✓")
            } else {
                out.paint(Style::Bad, "✗")
            };
            out.line(format!("  {mark} {:11} {}", step.step, step.detail));
        }
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        out.line(format!("  → {verdict}{reason}"));
    }
}

fn verdict(fate: Option<&Fate>) -> (&'static str, Option<String>) {
    match fate {
        Some(Fate::Offered) => ("offered", None),
        Some(Fate::Deferred) => ("deferred", None),
        Some(Fate::NotRegistered) => {
            ("hidden", Some("this program has no such tool yet".to_owned()))
        }
        Some(Fate::Unavailable(reason) | Fate::Withdrawn(reason)) => {
            ("hidden", Some(reason.clone()))
        }
        None => ("hidden", Some("no toolset that is on contains it".to_owned())),
    }
}
