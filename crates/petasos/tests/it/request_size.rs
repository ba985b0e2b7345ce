//! How large a first request is: every conversation pays for it.

use petasos_testkit::Home;
use serde_json::{Value, json};

use crate::loopback::{Loopback, Say};
use crate::petasos;

/// With the toolsets that a chat has unless somebody chose.
const USUAL_MAX: usize = 16 * 1024;
/// What tool search and everything behind it may add.
const SEARCH_MAX: usize = 6 * 1024;

/// Everything that a credential or a setting can make true.
const KEYS: [(&str, &str); 9] = [
    ("HASS_TOKEN", "t"),
    ("DISCORD_BOT_TOKEN", "t"),
    ("FEISHU_APP_ID", "t"),
    ("FEISHU_APP_SECRET", "t"),
    ("XAI_API_KEY", "t"),
    ("YUANBAO_APP_ID", "t"),
    ("YUANBAO_APP_SECRET", "t"),
    ("DAV_PASSWORD", "t"),
    ("MAIL_PASSWORD", "t"),
];

fn first_request(settings: &str, keys: &[(&str, &str)]) -> Value {
    let model = Loopback::saying(vec![Say::Text("done")]);
    let home = Home::temp();
    home.write(".petasos/config.yaml", format!("{}{settings}", model.config()));
    let program =
        keys.iter().fold(petasos(&home), |program, (name, value)| program.with(name, value));
    let finished = program.run(&["run", "hello"]);
    assert_eq!(finished.code, Some(0), "{}{}", finished.stdout, finished.stderr);
    model.asked().first().cloned().expect("a request")
}

/// The bytes of a request, and what they are for.
fn size(request: &Value) -> (usize, String) {
    let mut costs: Vec<(usize, String)> = request["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|tool| (tool.to_string().len(), tool["function"]["name"].to_string()))
        .collect();
    costs.sort_by(|a, b| b.cmp(a));
    let (whole, told) = (request.to_string().len(), request["messages"].to_string().len());
    let figures = format!("{told} of them messages, {} tools: {costs:?}", costs.len());
    (whole, figures)
}

#[test]
fn a_first_request_is_small_and_tool_search_keeps_it_so() {
    let (usual, figures) = size(&first_request("", &[]));
    println!("{usual} of {USUAL_MAX} bytes");
    assert!(usual <= USUAL_MAX, "{usual} bytes, at most {USUAL_MAX}: {figures}");
    let all = "toolsets: [all, kanban, moa, rl, hermes-yuanbao]\n\
               platform_toolsets: {cli: [all, kanban, moa, rl, hermes-yuanbao]}\n\
               tools: {tool_search: {enabled: \"on\"}}\n";
    let request = first_request(all, &KEYS);
    let names = request["tools"].to_string();
    assert!(names.contains("\"tool_search\""), "{names}");
    let (whole, figures) = size(&request);
    let most = usual + SEARCH_MAX;
    println!("{whole} of {most} bytes with everything behind tool search");
    assert!(whole <= most, "{whole} bytes, at most {most}: {figures}");
    assert_ne!(request, json!(null));
}
