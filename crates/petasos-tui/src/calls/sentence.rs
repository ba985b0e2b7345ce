//! A tool call as a sentence: what it does while it runs, and what it did.

use serde_json::Value;

use super::summary;

/// How the calls of a tool are told.
#[derive(Debug, Clone, Copy)]
struct Verb {
    tool: &'static str,
    doing: &'static str,
    did: &'static str,
    /// The argument that the sentence goes on with; none for one that is complete.
    about: &'static str,
    /// A second argument, and the word before it.
    and: Option<(&'static str, &'static str)>,
}

const fn verb(
    tool: &'static str,
    doing: &'static str,
    did: &'static str,
    about: &'static str,
) -> Verb {
    Verb { tool, doing, did, about, and: None }
}

const fn within(verb: Verb, word: &'static str, argument: &'static str) -> Verb {
    Verb { and: Some((word, argument)), ..verb }
}

/// The usual tools; any other is named as it is.
const VERBS: &[Verb] = &[
    verb("terminal", "Running", "Ran", "command"),
    verb("execute_code", "Running a script:", "Ran a script:", "code"),
    verb("process", "Looking after a job:", "Looked after a job:", "action"),
    verb("read_file", "Reading", "Read", "path"),
    verb("write_file", "Writing", "Wrote", "path"),
    verb("patch", "Editing", "Edited", "path"),
    within(verb("search_files", "Searching for", "Searched for", "pattern"), "in", "path"),
    verb("web_search", "Searching the web for", "Searched the web for", "query"),
    verb("web_extract", "Reading", "Read", "urls"),
    verb("x_search", "Searching X for", "Searched X for", "query"),
    verb("http_request", "Requesting", "Requested", "url"),
    verb("sql_query", "Querying", "Queried", "query"),
    verb("browser_navigate", "Opening", "Opened", "url"),
    verb("browser_snapshot", "Looking at the page", "Looked at the page", ""),
    verb("browser_vision", "Looking at the page:", "Looked at the page:", "question"),
    verb("browser_click", "Clicking", "Clicked", "ref"),
    verb("browser_type", "Typing into", "Typed into", "ref"),
    verb("browser_press", "Pressing", "Pressed", "key"),
    verb("browser_scroll", "Scrolling", "Scrolled", "direction"),
    verb("browser_back", "Going back a page", "Went back a page", ""),
    verb("computer_use", "Using the desktop:", "Used the desktop:", "action"),
    verb("vision_analyze", "Looking at", "Looked at", "image_url"),
    verb("image_generate", "Drawing", "Drew", "prompt"),
    verb("text_to_speech", "Speaking", "Spoke", "text"),
    verb("todo", "Updating the task list", "Updated the task list", ""),
    verb("memory", "Updating the memory:", "Updated the memory:", "action"),
    verb("session_search", "Searching conversations for", "Searched conversations for", "query"),
    verb("clarify", "Asking you:", "Asked you:", "question"),
    verb("delegate_task", "Delegating:", "Delegated:", "goal"),
    verb("mixture_of_agents", "Asking several models:", "Asked several models:", "user_prompt"),
    verb("skill_view", "Reading the skill", "Read the skill", "name"),
    verb("skill_manage", "Changing the skill", "Changed the skill", "name"),
    verb("skills_list", "Listing the skills", "Listed the skills", ""),
    verb("cronjob", "Changing schedules:", "Changed schedules:", "action"),
    verb("send_message", "Sending a message to", "Sent a message to", "target"),
    verb("mail_send", "Sending mail to", "Sent mail to", "to"),
    verb("mail_read", "Reading mail", "Read mail", "id"),
    verb("mail_search", "Searching mail for", "Searched mail for", "query"),
    verb("calendar_create", "Adding to the calendar:", "Added to the calendar:", "title"),
    verb("calendar_events", "Looking at the calendar", "Looked at the calendar", ""),
    verb("ha_call_service", "Calling", "Called", "service"),
];

/// A command that is left to run is told apart from one that has run.
const BEGINS_JOB: &str = "Starting in the background:";
const BEGAN_JOB: &str = "Started in the background:";

/// A call in words: the verb while it runs, the verb when it is done, and what it is about. A tool
/// without a sentence of its own has its name for a verb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sentence {
    pub(super) doing: String,
    pub(super) did: String,
    /// What the tool is called, for calls that never ran.
    pub(super) tool: String,
    pub(super) about: String,
}

/// The sentence of a call.
pub(super) fn of(tool: &str, arguments: &str) -> Sentence {
    let tool = tool.to_owned();
    let Some(verb) = VERBS.iter().find(|verb| verb.tool == tool) else {
        let about = summary::arguments(arguments);
        return Sentence { doing: tool.clone(), did: tool.clone(), tool, about };
    };
    let parsed = serde_json::from_str::<Value>(arguments).unwrap_or_default();
    if tool == "terminal" && parsed.get("background") == Some(&Value::Bool(true)) {
        let about = summary::arguments(arguments);
        return Sentence { doing: BEGINS_JOB.to_owned(), did: BEGAN_JOB.to_owned(), tool, about };
    }
    let said = |name: &str| parsed.get(name).map(summary::told).filter(|text| !text.is_empty());
    let about = match verb.about {
        "" => String::new(),
        name => said(name).unwrap_or_else(|| summary::arguments(arguments)),
    };
    let and = verb.and.and_then(|(word, name)| Some(format!(" {word} {}", said(name)?)));
    Sentence {
        doing: verb.doing.to_owned(),
        did: verb.did.to_owned(),
        tool,
        about: about + &and.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_reads_like_a_sentence() {
        for (tool, arguments, expected) in [
            ("terminal", r#"{"command":"make test","timeout":9}"#, "Ran make test"),
            (
                "search_files",
                r#"{"pattern":"fn main","path":"src"}"#,
                "Searched for fn main in src",
            ),
            ("search_files", r#"{"pattern":"fn main"}"#, "Searched for fn main"),
            (
                "terminal",
                r#"{"command":"make watch","background":true}"#,
                "Started in the background: make watch",
            ),
            ("delegate_task", r#"{"goal":"look around"}"#, "Delegated: look around"),
            (
                "delegate_task",
                r#"{"tasks":[{"goal":"one"},{"goal":"two"},{"goal":"three"}]}"#,
                "Delegated: one and 2 more",
            ),
            ("todo", r#"{"todos":[]}"#, "Updated the task list"),
            ("read_file", r#"{"path":"a.txt"}"#, "Read a.txt"),
            ("web_extract", r#"{"urls":["a","b"]}"#, "Read a and 1 more"),
            ("mcp_x_thing", r#"{"name":"y"}"#, "mcp_x_thing y"),
            ("terminal", "not json", "Ran not json"),
        ] {
            let sentence = of(tool, arguments);
            let said = format!("{} {}", sentence.did, sentence.about);
            assert_eq!(said.trim_end(), expected);
        }
    }

    #[test]
    fn every_tool_has_one_sentence() {
        for verb in VERBS {
            assert_eq!(VERBS.iter().filter(|other| other.tool == verb.tool).count(), 1);
        }
    }
}
