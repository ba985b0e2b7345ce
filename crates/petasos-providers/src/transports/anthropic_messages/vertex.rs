//! Messages inside Google Vertex: the same body and events, the model in the path and the version in
//! the body.

use serde_json::json;

use crate::transport::node::Body;
use crate::transport::target::Target;

/// Whether Google serves this target.
pub(super) fn serves(target: &Target) -> bool {
    target.provider == "vertex"
}

/// The model is in the path, and so is whether the answer streams.
pub(super) fn endpoint(target: &Target) -> String {
    let action = if target.streams() { "streamRawPredict" } else { "rawPredict" };
    let model = target.model.strip_prefix("anthropic/").unwrap_or(&target.model);
    target.below(&format!("{model}:{action}"))
}

/// What stands in the body here and in headers elsewhere.
pub(super) fn put(body: &mut Body) {
    body.put("anthropic_version", json!("vertex-2023-10-16"));
}

#[cfg(test)]
mod tests {
    use petasos_contract::message::Message;
    use petasos_contract::model::Prompt;
    use serde_json::Value;

    use super::*;
    use crate::mode::Wire;
    use crate::transport;

    #[test]
    fn the_model_is_in_the_path_and_the_version_in_the_body() {
        let messages = transport::of(Wire::AnthropicMessages).unwrap();
        let prompt = Prompt { messages: vec![Message::user("hi")], ..Prompt::default() };
        let target = Target {
            provider: "vertex".into(),
            model: "claude-sonnet-4-5@20250929".into(),
            base_url:
                "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/\
                       anthropic/models"
                    .into(),
            ..Target::default()
        };
        let request = (messages.encode)(&prompt, &target).unwrap();
        let path = "/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict";
        assert!(request.url.ends_with(path), "{}", request.url);
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        assert_eq!(body["anthropic_version"], "vertex-2023-10-16");
        assert!(body.get("model").is_none() && body["stream"] == true, "{body}");
        let version = request.headers.iter().any(|(name, _)| name == "anthropic-version");
        assert!(!version, "{:?}", request.headers);
    }
}
