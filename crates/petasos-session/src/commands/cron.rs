//! `/cron`: the scheduled jobs of this place, listed and changed without asking a model.

use serde_json::{Value, json};

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "cron",
    aliases: &["schedule"],
    usage: "[add \"WHEN\" WORDS | edit ID \"WHEN\" | pause|resume|run|remove ID]",
    about: "List scheduled jobs, add or change one",
    class: CommandClass::Admin,
    mid_run: MidRun::Now,
    places: "cg",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    let schedules = live.engine().ports.schedules.clone();
    let schedules = schedules.ok_or("this program runs no schedules")?;
    let request = request(words)?;
    let answer = schedules.manage(request, &live.call_context()).await;
    told(&answer).map(CommandOutcome::markdown)
}

/// What is asked of the schedules.
fn request(words: &str) -> Result<Value, String> {
    let (verb, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let rest = rest.trim();
    let named = || match rest {
        "" => Err(format!("say which: `/cron {verb} ID`; /cron lists them")),
        id => Ok(id),
    };
    Ok(match verb {
        "" | "list" => json!({ "action": "list" }),
        "add" | "create" => {
            let (schedule, prompt) = quoted(rest);
            if schedule.is_empty() || prompt.is_empty() {
                return Err(
                    "say when and what: `/cron add \"every day 9am\" tell me the news`".to_owned()
                );
            }
            json!({ "action": "create", "schedule": schedule, "prompt": prompt })
        }
        "edit" | "update" => {
            let (id, schedule) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            let (schedule, _) = quoted(schedule.trim());
            if schedule.is_empty() {
                return Err("say which and when: `/cron edit ID \"every hour\"`".to_owned());
            }
            json!({ "action": "update", "job_id": id, "schedule": schedule })
        }
        "pause" | "resume" | "run" | "remove" => json!({ "action": verb, "job_id": named()? }),
        "delete" => json!({ "action": "remove", "job_id": named()? }),
        other => return Err(format!("`{other}` is nothing to do: {}", COMMAND.usage)),
    })
}

/// What stands in quotation marks, or the first word, and the rest.
fn quoted(text: &str) -> (&str, &str) {
    let signs = [('"', '"'), ('“', '”'), ('\'', '\'')];
    let inside = signs.iter().find_map(|(begin, end)| text.strip_prefix(*begin)?.split_once(*end));
    let (first, rest) =
        inside.or_else(|| text.split_once(char::is_whitespace)).unwrap_or((text, ""));
    (first.trim(), rest.trim())
}

/// The answer in words.
fn told(answer: &Value) -> Result<String, String> {
    if answer["success"] != true {
        return Err(answer["error"].as_str().unwrap_or("that did not work").to_owned());
    }
    if let Some(jobs) = answer["jobs"].as_array() {
        let lines: Vec<String> = jobs.iter().map(line).collect();
        return Ok(if lines.is_empty() {
            "No job is scheduled.".to_owned()
        } else {
            lines.join("\n")
        });
    }
    if let Some(removed) = answer.get("removed_job") {
        return Ok(format!("Removed `{}`.", word(&removed["id"])));
    }
    let mut text = line(&answer["job"]);
    for key in ["message", "execution_error"] {
        if let Some(more) = answer[key].as_str() {
            text = format!("{text}\n\n{more}");
        }
    }
    Ok(text)
}

fn line(job: &Value) -> String {
    let state = word(&job["state"]);
    let next = word(&job["next_run_at"]);
    let next = if next.is_empty() { String::new() } else { format!(", next {next}") };
    let (id, name, schedule) = (word(&job["job_id"]), word(&job["name"]), word(&job["schedule"]));
    format!("- `{id}` **{name}** {schedule} ({state}{next})")
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_what_is_asked_of_the_schedules() {
        assert_eq!(request(""), Ok(json!({ "action": "list" })));
        let made = json!({ "action": "create", "schedule": "every day 9am", "prompt": "the news" });
        assert_eq!(request("add \"every day 9am\" the news"), Ok(made.clone()));
        assert_eq!(request("add “every day 9am” the news"), Ok(made));
        assert_eq!(request("pause j1"), Ok(json!({ "action": "pause", "job_id": "j1" })));
        for wrong in ["add 1h", "pause", "dance", "edit j1"] {
            assert!(request(wrong).is_err(), "{wrong}");
        }
    }
}
