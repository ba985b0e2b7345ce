//! What a person agrees to: the skills of a project, variables and files for a skill.

use std::process::ExitCode;

use petasos_skills::{Consent, PlaceKind, digest_of};
use serde_json::json;

use super::{opened, refused};
use crate::command::Session;
use crate::prompt;
use crate::report::Report;

pub(super) fn trust(
    session: &mut Session,
    name: Option<&str>,
    yes: bool,
) -> Result<ExitCode, Report> {
    let out = session.out;
    let (_host, library, cx) = opened(session)?;
    let survey = library.survey(&cx);
    let wanted = |candidate: &str| name.is_none_or(|name| name == candidate);
    let waiting: Vec<_> = survey
        .withheld
        .iter()
        .filter(|held| held.place == PlaceKind::Project && wanted(&held.name))
        .collect();
    if waiting.is_empty() {
        out.line("no skill of this project waits for you");
        return Ok(ExitCode::SUCCESS);
    }
    let mut agreed = Vec::new();
    for held in waiting {
        // What is asked about is what is agreed to, whatever becomes of the folder meanwhile.
        let digest = digest_of(&held.folder).map_err(refused)?;
        out.remark(format!("{}: {}", held.name, held.folder.display()));
        let sure = yes || {
            if !prompt::somebody_is_there(out) {
                return Err(Report::new("this needs confirmation").hint("pass `--yes` to confirm"));
            }
            prompt::confirm(out, &format!("Read `{}` first. Trust it as it is?", held.name))?
        };
        if sure {
            Consent::agree(&cx.settings, &held.folder, &digest).map_err(refused)?;
            agreed.push(held.name.clone());
        }
    }
    if out.is_json() {
        out.value(&json!({ "trusted": agreed }));
    } else {
        out.line(format!("trusted as they are now: {}", agreed.join(", ")));
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn allow_env(
    session: &mut Session,
    name: &str,
    variables: &[String],
) -> Result<ExitCode, Report> {
    let out = session.out;
    let (_host, library, cx) = opened(session)?;
    let skill = library.find(name, &cx).map_err(refused)?;
    let declared = skill.checked.front.variable_names();
    for variable in variables {
        if !declared.contains(variable) {
            return Err(Report::new(format!("`{name}` does not ask for {variable}"))
                .hint(format!("it asks for: {}", declared.join(", "))));
        }
        if petasos_terminal::childenv::is_provider_secret(variable) {
            return Err(Report::new(format!("{variable} is a model provider's key"))
                .hint("commands never see those"));
        }
    }
    let digest = digest_of(&skill.folder).map_err(refused)?;
    Consent::allow(&cx.settings, &digest, variables.iter().cloned()).map_err(refused)?;
    let list = variables.join(", ");
    if out.is_json() {
        out.value(&json!({ "name": skill.name, "allowed": variables }));
    } else {
        out.line(format!("commands of a conversation that reads `{}` see {list}", skill.name));
        out.remark("a change of the skill takes this back");
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn allow_file(
    session: &mut Session,
    name: &str,
    files: &[String],
) -> Result<ExitCode, Report> {
    let out = session.out;
    let (_host, library, cx) = opened(session)?;
    let skill = library.find(name, &cx).map_err(refused)?;
    let declared = &skill.checked.front.credential_files;
    for file in files {
        if !declared.contains(file) {
            return Err(Report::new(format!("`{name}` does not ask for {file}"))
                .hint(format!("it asks for: {}", declared.join(", "))));
        }
        if !petasos_skills::may_be_offered(file) {
            return Err(Report::new(format!("{file} belongs to the program"))
                .hint("no skill gets a store of all secrets, or a file outside the home"));
        }
    }
    let digest = digest_of(&skill.folder).map_err(refused)?;
    Consent::allow_files(&cx.settings, &digest, files.iter().cloned()).map_err(refused)?;
    if out.is_json() {
        out.value(&json!({ "name": skill.name, "allowed": files }));
    } else {
        let list = files.join(", ");
        out.line(format!("commands elsewhere have {list} while `{}` is in use", skill.name));
        out.remark("a change of the skill takes this back");
    }
    Ok(ExitCode::SUCCESS)
}
