//! What a server may ask us, answered: completions, questions to the user, directories.
#![expect(deprecated, reason = "sampling, roots and logging are what deployed servers use")]

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::approval::{Answer, ApprovalRequest, Digest, Finding, Scope};
use petasos_contract::{ToolName, wait};
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ElicitationAction, ErrorData, Implementation,
    ListRootsResult, LoggingMessageNotificationParam, ProgressNotificationParam, ProtocolVersion,
    Root,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use serde_json::{Map, Value, json};
use sha2::Digest as _;

use super::shared::Shared;
use super::{sampling, stdio};
use crate::content::reread;

/// Answers the questions of one server.
pub(super) struct Answers {
    shared: Arc<Shared>,
}

impl Answers {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Whether one more completion fits into the minute. A new connection begins no new minute.
    fn within_rate(&self) -> bool {
        let now = Instant::now();
        let mut asked = self.shared.asked.lock();
        while asked.front().is_some_and(|at| now - *at > Duration::from_mins(1)) {
            asked.pop_front();
        }
        if asked.len() >= self.shared.spec().sampling.max_rpm {
            return false;
        }
        asked.push_back(now);
        true
    }

    async fn ask(&self, message: &str, schema: &Value) -> ElicitResult {
        let declined = || ElicitResult::new(ElicitationAction::Decline);
        let spec = self.shared.spec();
        let (Some(limit), Some(people), Some(cx)) =
            (spec.elicitation, &self.shared.around.people, self.shared.newest_call())
        else {
            return declined();
        };
        let request = question(&spec.name, message, schema);
        let asking = people.ask(&request, &cx);
        let deadline = Instant::now() + limit + Duration::from_secs(5);
        match wait::until(deadline, "the user to answer an MCP server", asking).await {
            Ok(Answer::Allowed { .. }) => {
                ElicitResult::new(ElicitationAction::Accept).with_content(defaults(schema))
            }
            Ok(Answer::Expired { .. }) | Err(_) => ElicitResult::new(ElicitationAction::Cancel),
            Ok(_) => declined(),
        }
    }
}

/// The question as an approval: what is asked, and the fields with their preset values.
fn question(server: &str, message: &str, schema: &Value) -> ApprovalRequest {
    let fields = schema.get("properties").and_then(Value::as_object);
    let mut subject = message.to_owned();
    for (name, field) in fields.into_iter().flatten() {
        let of = |key: &str| field.get(key).and_then(Value::as_str).unwrap_or_default();
        // Writing to a string cannot fail.
        write!(subject, "\n  {name} ({}) {}", of("type"), of("description")).unwrap_or_default();
        if let Some(preset) = field.get("default") {
            write!(subject, " = {preset}").unwrap_or_default();
        }
    }
    let digest = sha2::Sha256::digest(subject.as_bytes());
    ApprovalRequest {
        tool: ToolName::new(format!("mcp__{server}")),
        findings: vec![Finding {
            key: "mcp elicitation".into(),
            why: format!(
                "MCP server `{server}` asks for your agreement; fields keep their preset values"
            ),
            kind: petasos_contract::approval::FindingKind::Rule,
            span: None,
            widest: Scope::Once,
            stores: None,
        }],
        subject,
        cwd: None,
        edits: Vec::new(),
        digest: Digest(digest.into()),
        widest: Scope::Once,
    }
}

/// The preset values of a form.
fn defaults(schema: &Value) -> Value {
    let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let preset =
        fields.filter_map(|(name, field)| Some((name.clone(), field.get("default")?.clone())));
    Value::Object(preset.collect::<Map<_, _>>())
}

impl ClientHandler for Answers {
    fn get_info(&self) -> ClientConfig {
        let spec = self.shared.spec();
        let mut can = json!({});
        // A server that is told directories forgets those on its command line: it is told only
        // what the entry names.
        if !spec.roots.is_empty() {
            can["roots"] = json!({ "listChanged": false });
        }
        if spec.sampling.enabled && self.shared.around.model.is_some() {
            can["sampling"] = json!({ "tools": {} });
        }
        if spec.elicitation.is_some() && self.shared.around.people.is_some() {
            can["elicitation"] = json!({ "form": { "applyDefaults": true } });
        }
        let capabilities: ClientCapabilities = reread(&can).unwrap_or_default();
        let identity = Implementation::new("petasos", env!("CARGO_PKG_VERSION"));
        let mut config = ClientConfig::new(capabilities, identity);
        config.protocol_version = ProtocolVersion::V_2025_11_25;
        config
    }

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let refused = |why: &str| ErrorData::invalid_request(why.to_owned(), None);
        let limits = &self.shared.spec().sampling;
        let model = self.shared.around.model.as_ref().filter(|_| limits.enabled);
        let model = model.ok_or_else(|| refused("no model may be asked here"))?;
        if !self.within_rate() {
            return Err(refused("too many requests in a minute (`sampling.max_rpm`)"));
        }
        let request =
            serde_json::to_value(&request).map_err(|error| refused(&error.to_string()))?;
        let cx = self.shared.newest_call();
        let answered = sampling::answer(model.as_ref(), limits, &request, cx, &self.shared.around);
        let answer = answered.await.map_err(|why| ErrorData::internal_error(why, None))?;
        serde_json::from_value(answer)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        match request {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                let schema = serde_json::to_value(&requested_schema).unwrap_or(Value::Null);
                Ok(self.ask(&message, &schema).await)
            }
            _ => Ok(ElicitResult::new(ElicitationAction::Decline)),
        }
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        let roots = &self.shared.spec().roots;
        let roots = roots.iter().map(|root| {
            let uri = if root.contains("://") { root.clone() } else { format!("file://{root}") };
            Root::new(uri)
        });
        Ok(ListRootsResult::new(roots.collect()))
    }

    async fn on_progress(
        &self,
        told: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let token = json!(told.progress_token).to_string();
        let of = told.total.map(|total| format!("/{total}")).unwrap_or_default();
        let message = told.message.unwrap_or_default();
        let text = format!("{}{of} {message}", told.progress);
        self.shared.progress(&token, text.trim_end());
    }

    async fn on_logging_message(
        &self,
        told: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let level = json!(told.level);
        let text: String = told.data.to_string().chars().take(2000).collect();
        let log = self.shared.around.settings.home().join(stdio::STDERR_LOG);
        let level = level.as_str().unwrap_or("info");
        stdio::note(&log, &stdio::line_of(&self.shared.spec().name, &format!("{level}: {text}")));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.shared.tools_changed.notify_one();
    }
}
