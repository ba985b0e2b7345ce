//! The protocol, spoken for any offer. The only file of the server that knows the SDK's handler.
#![expect(deprecated, reason = "subscribing and log levels belong to the offered versions")]

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::wait::Owned;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    CompletionInfo, CustomRequest, CustomResult, ErrorCode, ErrorData, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    Prompt, PromptArgument, PromptMessage, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Resource, ResourceTemplate, Role, ServerCapabilities,
    ServerConfig, SetLevelRequestParams, SubscribeRequestParams, Tool, ToolAnnotations,
    UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};

use super::caller::{Caller, LEVELS};
use crate::bounded::{REQUEST_MAX, TOO_LARGE};
use crate::content::reread;
use crate::offer::{Ability, Offer, OfferError};

/// How often a connection looks whether the list of tools has changed.
const LOOK: Duration = Duration::from_millis(500);

/// The newest protocol in which a server may ask its client something.
const NEWEST: ProtocolVersion = ProtocolVersion::V_2025_11_25;

/// One connection.
pub(super) struct Handler {
    offer: Arc<dyn Offer>,
    session: Arc<str>,
    quietest: Arc<AtomicU8>,
    watching: Mutex<Option<Owned<()>>>,
}

impl Handler {
    /// A new connection, with a name of its own.
    pub(super) fn new(offer: Arc<dyn Offer>) -> Self {
        Self {
            offer,
            session: new_session().into(),
            quietest: Arc::default(),
            watching: Mutex::new(None),
        }
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Caller {
        Caller {
            peer: context.peer.clone(),
            session: Arc::clone(&self.session),
            token: context.meta.get_progress_token(),
            cancel: context.ct.clone(),
            quietest: Arc::clone(&self.quietest),
            line: super::http::Line::of(&context.extensions),
        }
    }

    fn has(&self, ability: Ability) -> bool {
        self.offer.identity().abilities.contains(&ability)
    }
}

/// Unlike any other for as long as it matters.
fn new_session() -> String {
    let mut bytes = [0_u8; 8];
    if getrandom::fill(&mut bytes).is_err() {
        bytes = std::process::id().to_le_bytes().repeat(2).try_into().unwrap_or(bytes);
    }
    bytes.iter().fold("mcp-".to_owned(), |mut name, byte| {
        // Writing to a string cannot fail.
        write!(name, "{byte:02x}").unwrap_or_default();
        name
    })
}

fn wire(error: &OfferError) -> ErrorData {
    match error {
        OfferError::Unknown { kind: "resource", name } => {
            ErrorData::resource_not_found(error.to_string(), Some(json!({ "uri": name })))
        }
        OfferError::Unknown { .. } | OfferError::Invalid(_) => {
            ErrorData::invalid_params(error.to_string(), None)
        }
        OfferError::Failed(_) => ErrorData::internal_error(error.to_string(), None),
    }
}

impl ServerHandler for Handler {
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == TOO_LARGE {
            let text = format!("the request is larger than {REQUEST_MAX} bytes, the limit");
            return Err(ErrorData::invalid_request(text, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None))
    }

    fn get_info(&self) -> ServerConfig {
        let identity = self.offer.identity();
        let has = |ability| identity.abilities.contains(&ability);
        let mut can = json!({ "tools": { "listChanged": true } });
        if has(Ability::Resources) {
            can["resources"] = json!({ "subscribe": has(Ability::Watching), "listChanged": false });
        }
        if has(Ability::Prompts) {
            can["prompts"] = json!({ "listChanged": false });
        }
        if has(Ability::Completion) {
            can["completions"] = json!({});
        }
        if has(Ability::Logging) {
            can["logging"] = json!({});
        }
        let capabilities: ServerCapabilities = reread(&can).unwrap_or_default();
        let mut info = ServerConfig::new(capabilities)
            .with_protocol_version(NEWEST)
            .with_server_info(Implementation::new(identity.name, identity.version));
        info.instructions = identity.instructions;
        info
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        let known = ProtocolVersion::KNOWN_VERSIONS.iter();
        known.filter(|version| version.as_str() <= NEWEST.as_str()).cloned().collect()
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let (offer, peer) = (Arc::clone(&self.offer), context.peer);
        let watch = Owned::start(async move {
            let mut seen = offer.tools_version();
            loop {
                tokio::time::sleep(LOOK).await;
                let now = offer.tools_version();
                if now != seen && peer.notify_tool_list_changed().await.is_err() {
                    return;
                }
                seen = now;
            }
        });
        *self.watching.lock() = Some(watch);
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.offer.tools(&self.session).await.into_iter().map(|tool| {
            let mut annotations = ToolAnnotations::new();
            annotations.read_only_hint = tool.read_only;
            annotations.idempotent_hint = tool.idempotent;
            Tool::new(tool.name, tool.description, Arc::new(tool.input_schema))
                .with_annotations(annotations)
        });
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = self.caller(&context);
        let arguments = request.arguments.unwrap_or_default();
        let outcome = self.offer.call(&request.name, arguments, &caller).await;
        let outcome = outcome.map_err(|error| wire(&error))?;
        let pieces = outcome.content.iter().map(crate::content::Piece::to_wire).collect();
        let mut result = CallToolResult::success(pieces);
        result.is_error = Some(outcome.is_error);
        result.structured_content = outcome.structured;
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = self.offer.resources().await.into_iter().map(|resource| {
            Resource::new(resource.uri, resource.name)
                .with_description(resource.description)
                .with_mime_type(resource.mime_type)
        });
        Ok(ListResourcesResult::with_all_items(resources.collect()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = self.offer.templates().into_iter().map(|template| {
            ResourceTemplate::new(template.uri, template.name)
                .with_description(template.description)
                .with_mime_type(template.mime_type)
        });
        Ok(ListResourceTemplatesResult::with_all_items(templates.collect()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = self.offer.read(&request.uri).await.map_err(|error| wire(&error))?;
        Ok(ReadResourceResult::new(vec![read.to_wire()]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !self.has(Ability::Watching) {
            return Err(ErrorData::invalid_request("resources cannot be watched here", None));
        }
        let _read = self.offer.read(&request.uri).await.map_err(|error| wire(&error))?;
        drop(context);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = self.offer.prompts().into_iter().map(|prompt| {
            let arguments = prompt.arguments.into_iter().map(|(name, description, required)| {
                PromptArgument::new(name).with_description(description).with_required(required)
            });
            Prompt::new(prompt.name, Some(prompt.description), Some(arguments.collect()))
        });
        Ok(ListPromptsResult::with_all_items(prompts.collect()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let arguments = reread(&arguments).unwrap_or_default();
        let pieces = self.offer.prompt(&request.name, &arguments).map_err(|error| wire(&error))?;
        let messages =
            pieces.iter().map(|piece| PromptMessage::new(Role::User, piece.to_wire())).collect();
        Ok(GetPromptResult::new(messages).into())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let none = CompletionInfo::with_all_values(Vec::new());
        let none = none.map_err(|error| ErrorData::internal_error(error, None))?;
        Ok(CompleteResult::new(none))
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let level = serde_json::to_value(request.level).unwrap_or(Value::Null);
        let rank = LEVELS.iter().position(|known| level.as_str() == Some(*known)).unwrap_or(1);
        self.quietest.store(u8::try_from(rank).unwrap_or(1), Ordering::Relaxed);
        Ok(())
    }
}
