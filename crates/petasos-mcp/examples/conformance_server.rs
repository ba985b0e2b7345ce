//! The server of the official conformance suite: its fixture tools, prompts and resources on our
//! server. `conformance_server [PORT]` prints its address and serves until it is ended.

use std::error::Error;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::BoxFuture;
use petasos_mcp::content::{Attached, Piece};
use petasos_mcp::offer::{
    Ability, Identity, Offer, OfferError, OfferedPrompt, OfferedResource, OfferedTool, Outcome,
};
use petasos_mcp::server::{Asked, Caller, HttpOptions, bind};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const SILENCE: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==";
const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let port = std::env::args().nth(1).map_or(Ok(0), |port| port.parse())?;
    let options = HttpOptions {
        address: SocketAddr::from(([127, 0, 0, 1], port)),
        token: None,
        hosts: Vec::new(),
        origins: Vec::new(),
    };
    let listening = bind(options).await?;
    writeln!(std::io::stdout(), "{}", listening.url())?;
    listening.run(Arc::new(Fixtures), CancellationToken::new()).await;
    Ok(())
}

struct Fixtures;

fn image() -> Piece {
    Piece::Image { data: PIXEL.to_owned(), mime_type: "image/png".to_owned() }
}

fn embedded(uri: &str, text: &str) -> Piece {
    let resource = Attached {
        uri: uri.to_owned(),
        mime_type: Some("text/plain".to_owned()),
        text: Some(text.to_owned()),
        blob: None,
    };
    Piece::Resource { resource }
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of an answer")]
fn said(content: Vec<Piece>) -> Result<Outcome, OfferError> {
    Ok(Outcome { content, ..Outcome::default() })
}

fn text_argument(arguments: &Map<String, Value>, name: &str) -> String {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

async fn pause() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

async fn logging(caller: &Caller) -> Result<Outcome, OfferError> {
    for line in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        caller.log("info", "fixtures", json!(line)).await;
        pause().await;
    }
    said(vec![Piece::text("Logged three times.")])
}

async fn progress(caller: &Caller) -> Result<Outcome, OfferError> {
    for done in [0.0, 50.0, 100.0] {
        caller.progress(done, Some(100.0), None).await;
        pause().await;
    }
    said(vec![Piece::text("Done.")])
}

async fn sampling(prompt: String, caller: &Caller) -> Result<Outcome, OfferError> {
    let request = json!({
        "messages": [{ "role": "user", "content": { "type": "text", "text": prompt } }],
        "maxTokens": 100,
    });
    let answer = caller.sample(request, PATIENCE).await;
    let answer = answer.map_err(|error| OfferError::Failed(error.to_string()))?;
    let text = answer.pointer("/content/text").and_then(Value::as_str).unwrap_or_default();
    said(vec![Piece::text(format!("LLM response: {text}"))])
}

async fn elicitation(message: &str, schema: Value, caller: &Caller) -> Result<Outcome, OfferError> {
    let answer = caller.ask(message, schema, PATIENCE).await;
    let text = match answer.map_err(|error| OfferError::Failed(error.to_string()))? {
        Asked::Accepted(content) => format!("action=accept, content={content}"),
        Asked::Declined => "action=decline, content={}".to_owned(),
        Asked::Dismissed => "action=cancel, content={}".to_owned(),
    };
    said(vec![Piece::text(format!("Elicitation completed: {text}"))])
}

fn defaults() -> Value {
    json!({ "type": "object", "required": [], "properties": {
        "name": { "type": "string", "description": "A name", "default": "John Doe" },
        "age": { "type": "integer", "description": "An age", "default": 30 },
        "score": { "type": "number", "description": "A score", "default": 95.5 },
        "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
        "verified": { "type": "boolean", "default": true },
    } })
}

fn enums() -> Value {
    let titled = json!([
        { "const": "value1", "title": "First Option" },
        { "const": "value2", "title": "Second Option" },
        { "const": "value3", "title": "Third Option" },
    ]);
    let plain = json!(["option1", "option2", "option3"]);
    json!({ "type": "object", "properties": {
        "untitledSingle": { "type": "string", "enum": plain },
        "titledSingle": { "type": "string", "oneOf": titled },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": plain } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled } },
    } })
}

impl Offer for Fixtures {
    fn identity(&self) -> Identity {
        Identity {
            name: "petasos-fixtures".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: None,
            abilities: vec![
                Ability::Resources,
                Ability::Watching,
                Ability::Prompts,
                Ability::Completion,
                Ability::Logging,
            ],
        }
    }

    fn tools<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Vec<OfferedTool>> {
        let plain = |name: &str, schema: Value| OfferedTool {
            name: name.to_owned(),
            description: format!("Fixture {name}"),
            input_schema: schema.as_object().cloned().unwrap_or_default(),
            ..OfferedTool::default()
        };
        let nothing = || json!({ "type": "object", "properties": {} });
        let one = |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } }, "required": [name] });
        let mut tools: Vec<OfferedTool> = [
            "test_simple_text",
            "test_image_content",
            "test_audio_content",
            "test_embedded_resource",
            "test_multiple_content_types",
            "test_tool_with_logging",
            "test_error_handling",
            "test_tool_with_progress",
            "test_elicitation_sep1034_defaults",
            "test_elicitation_sep1330_enums",
            "test_reconnection",
        ]
        .map(|name| plain(name, nothing()))
        .into();
        tools.push(plain("test_sampling", one("prompt")));
        tools.push(plain("test_elicitation", one("message")));
        tools.push(plain(
            "json_schema_2020_12_tool",
            json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "$defs": { "address": { "type": "object", "properties": {
                    "street": { "type": "string" }, "city": { "type": "string" },
                } } },
                "properties": {
                    "name": { "type": "string" }, "address": { "$ref": "#/$defs/address" },
                },
                "additionalProperties": false,
            }),
        ));
        Box::pin(std::future::ready(tools))
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: Map<String, Value>,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Outcome, OfferError>> {
        let audio = || Piece::Audio { data: SILENCE.to_owned(), mime_type: "audio/wav".to_owned() };
        Box::pin(async move {
            match tool {
                "test_simple_text" => {
                    said(vec![Piece::text("This is a simple text response for testing.")])
                }
                "test_image_content" => said(vec![image()]),
                "test_audio_content" => said(vec![audio()]),
                "test_embedded_resource" => {
                    said(vec![embedded("test://embedded-resource", "This is embedded.")])
                }
                "test_multiple_content_types" => said(vec![
                    Piece::text("Multiple content types test:"),
                    image(),
                    embedded("test://mixed-content-resource", "{\"test\":\"data\"}"),
                ]),
                "test_tool_with_logging" => logging(caller).await,
                "test_tool_with_progress" => progress(caller).await,
                "test_error_handling" => Ok(Outcome {
                    content: vec![Piece::text("This tool intentionally returns an error")],
                    is_error: true,
                    structured: None,
                }),
                "test_sampling" => sampling(text_argument(&arguments, "prompt"), caller).await,
                "test_elicitation" => {
                    let form = json!({ "type": "object", "required": ["username", "email"], "properties": {
                        "username": { "type": "string", "description": "A name" },
                        "email": { "type": "string", "description": "An address" },
                    } });
                    elicitation(&text_argument(&arguments, "message"), form, caller).await
                }
                "test_elicitation_sep1034_defaults" => {
                    elicitation("Check the defaults", defaults(), caller).await
                }
                "test_elicitation_sep1330_enums" => elicitation("Choose", enums(), caller).await,
                "test_reconnection" => {
                    caller.let_go();
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    said(vec![Piece::text("Reconnection test completed successfully.")])
                }
                "json_schema_2020_12_tool" => {
                    said(vec![Piece::text(Value::Object(arguments).to_string())])
                }
                _ => Err(OfferError::Unknown { kind: "tool", name: tool.to_owned() }),
            }
        })
    }

    fn resources(&self) -> BoxFuture<'_, Vec<OfferedResource>> {
        let resource = |name: &str, mime: &str| OfferedResource {
            uri: format!("test://{name}"),
            name: name.to_owned(),
            description: format!("Fixture {name}"),
            mime_type: mime.to_owned(),
        };
        Box::pin(std::future::ready(vec![
            resource("static-text", "text/plain"),
            resource("static-binary", "image/png"),
            resource("watched-resource", "text/plain"),
        ]))
    }

    fn templates(&self) -> Vec<OfferedResource> {
        vec![OfferedResource {
            uri: "test://template/{id}/data".to_owned(),
            name: "template".to_owned(),
            description: "Fixture template".to_owned(),
            mime_type: "application/json".to_owned(),
        }]
    }

    fn read<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, Result<Attached, OfferError>> {
        let resource = |mime: &str, text: Option<String>, blob: Option<&str>| Attached {
            uri: uri.to_owned(),
            mime_type: Some(mime.to_owned()),
            text,
            blob: blob.map(str::to_owned),
        };
        let words = |text: &str| Some(text.to_owned());
        let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
        let read = match (uri, id) {
            ("test://static-text", _) => Ok(resource(
                "text/plain",
                words("This is the content of the static text resource."),
                None,
            )),
            ("test://static-binary", _) => Ok(resource("image/png", None, Some(PIXEL))),
            ("test://watched-resource", _) => Ok(resource("text/plain", words("Watched."), None)),
            (_, Some(id)) => {
                let data =
                    json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
                Ok(resource("application/json", Some(data.to_string()), None))
            }
            _ => Err(OfferError::Unknown { kind: "resource", name: uri.to_owned() }),
        };
        Box::pin(std::future::ready(read))
    }

    fn prompts(&self) -> Vec<OfferedPrompt> {
        let prompt = |name: &str, arguments: &[&str]| OfferedPrompt {
            name: name.to_owned(),
            description: format!("Fixture {name}"),
            arguments: arguments
                .iter()
                .map(|&name| (name.to_owned(), String::new(), true))
                .collect(),
        };
        vec![
            prompt("test_simple_prompt", &[]),
            prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
            prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
            prompt("test_prompt_with_image", &[]),
        ]
    }

    fn prompt(&self, name: &str, arguments: &Map<String, Value>) -> Result<Vec<Piece>, OfferError> {
        let text = |name| text_argument(arguments, name);
        match name {
            "test_simple_prompt" => Ok(vec![Piece::text("This is a simple prompt for testing.")]),
            "test_prompt_with_arguments" => Ok(vec![Piece::text(format!(
                "Prompt with arguments: arg1='{}', arg2='{}'",
                text("arg1"),
                text("arg2")
            ))]),
            "test_prompt_with_embedded_resource" => Ok(vec![
                embedded(&text("resourceUri"), "Embedded resource content for testing."),
                Piece::text("Please process the embedded resource above."),
            ]),
            "test_prompt_with_image" => {
                Ok(vec![image(), Piece::text("Please analyze the image above.")])
            }
            _ => Err(OfferError::Unknown { kind: "prompt", name: name.to_owned() }),
        }
    }
}
