//! `provider resolve` and `provider explain`.

use std::process::ExitCode;

use clap::Args;
use petasos_contract::model::{Prompt, Role};
use petasos_contract::{Secret, Settings};
use petasos_providers::resolve::{Candidate, Verdict, view::RuntimeView};
use petasos_providers::runtime::ProviderRuntime;
use petasos_providers::{Request, Resolved, Vault, VaultView, roles};

use crate::command::Session;
use crate::host::Host;
use crate::out::{Out, Style};
use crate::report::Report;

/// What somebody asks for.
#[derive(Debug, Args)]
pub(super) struct Choice {
    /// A provider, an alias, `custom`, `custom:NAME` or `auto`
    #[arg(long)]
    provider: Option<String>,
    /// The model about to be used
    #[arg(long)]
    model: Option<String>,
    /// An address
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// A key for this run only
    #[arg(long, value_name = "KEY")]
    api_key: Option<String>,
    /// The role that needs a model: main, compression, vision, approval, ...
    #[arg(long, default_value = "main")]
    role: String,
}

impl Choice {
    pub(super) fn resolve(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let resolved = self.resolved(session)?;
        let out = session.out;
        if out.is_json() {
            out.value(&resolved.to_json());
        } else {
            match &resolved.outcome {
                Ok(runtime) => {
                    print_runtime(out, &RuntimeView::from(runtime));
                    print_window(out, session.host.get()?, runtime);
                }
                Err(error) => {
                    let report = Report::new(error.message.clone());
                    let report = match &error.hint {
                        Some(hint) => report.hint(hint),
                        None => report.hint("`petasos provider explain` shows what was considered"),
                    };
                    return Err(report);
                }
            }
        }
        Ok(if resolved.outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    pub(super) fn explain(&self, session: &mut Session) -> Result<ExitCode, Report> {
        let resolved = self.resolved(session)?;
        let out = session.out;
        if out.is_json() {
            out.value(&resolved.to_json());
        } else {
            for candidate in &resolved.trace {
                print_candidate(out, candidate);
            }
            match &resolved.outcome {
                Ok(runtime) => {
                    print_runtime(out, &RuntimeView::from(runtime));
                    print_window(out, session.host.get()?, runtime);
                }
                Err(error) => out.line(format!("→ none: {error}")),
            }
        }
        Ok(if resolved.outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Asks the one resolver.
    fn resolved(&self, session: &mut Session) -> Result<Resolved, Report> {
        let host = session.host.get()?;
        let settings = host.settings();
        let vault = Vault::of(settings).view(settings);
        let request = self.request(settings, &vault)?;
        let net = host.net();
        Ok(host.wait(host.resolver().resolve(&request, settings, vault, &net))?)
    }

    /// The request; for a side role, its first candidate with what was named on the command line.
    pub(super) fn request(
        &self,
        settings: &Settings,
        vault: &VaultView,
    ) -> Result<Request, Report> {
        let role = roles::named(&self.role).ok_or_else(|| {
            Report::usage(format!("no role is named `{}`", self.role))
                .hint("main, compression, vision, web_extract, session_search, approval, mcp, ...")
        })?;
        let mut request = Request::default();
        if role != Role::Main {
            let plan = roles::plan(role, &Prompt::default(), settings, &vault.table);
            if let Some(first) = plan.candidates.first() {
                request.provider.clone_from(&first.provider);
                request.model.clone_from(&first.model);
                request.base_url.clone_from(&first.base_url);
                request.api_key.clone_from(&first.api_key);
                request.key_env.clone_from(&first.key_env);
            }
        }
        request.provider = self.provider.clone().or(request.provider);
        request.model = self.model.clone().or(request.model);
        request.base_url = self.base_url.clone().or(request.base_url);
        request.api_key = self.api_key.clone().map(Secret::new).or(request.api_key);
        Ok(request)
    }
}

fn print_runtime(out: Out, view: &RuntimeView) {
    let row = |name: &str, value: &str| out.line(format!("{name:10} {value}"));
    row("provider", &view.provider);
    row("model", view.model.as_deref().unwrap_or("(the provider's default)"));
    row("API format", view.api_mode.name());
    row("URL", &view.base_url);
    if let Some(launch) = &view.launch {
        row("program", &format!("{} {}", launch.command, launch.args.join(" ")));
    }
    let key = view.api_key.as_deref().unwrap_or("none needed");
    row("key", &format!("{key}  from {}", view.source));
    if let Some(expires) = &view.expires_at {
        row("expires", expires);
    }
    for notice in &view.notices {
        out.line(out.paint(Style::Warn, &format!("notice: {}", notice.text)));
    }
}

fn print_window(out: Out, host: &Host, runtime: &ProviderRuntime) {
    let (tokens, known) = host.model().context(runtime, host.settings());
    out.line(format!("{:10} {tokens} tokens  {}", "window", known.as_str()));
}

fn print_candidate(out: Out, candidate: &Candidate) {
    let (mark, style) = match candidate.verdict {
        Verdict::Taken => ("✓", Style::Good),
        Verdict::Refused => ("✗", Style::Bad),
        Verdict::Passed => ("·", Style::Faint),
    };
    let mark = out.paint(style, mark);
    out.line(format!("{mark} {}: {} ({})", candidate.rule, candidate.what, candidate.why));
}
