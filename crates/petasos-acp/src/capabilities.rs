//! What this agent offers a client, and how a client may sign in.

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentAuthCapabilities, AgentCapabilities, AuthMethod, AuthMethodAgent, AuthMethodTerminal,
    Implementation, InitializeRequest, InitializeResponse, LogoutCapabilities, McpCapabilities,
    PromptCapabilities, SessionAdditionalDirectoriesCapabilities, SessionCapabilities,
    SessionCloseCapabilities, SessionDeleteCapabilities, SessionForkCapabilities,
    SessionListCapabilities, SessionResumeCapabilities,
};

use crate::port::UsableProvider;

/// The name of the method that sets the program up at a terminal.
pub(crate) const SETUP: &str = "hermes-setup";

/// The answer to `initialize`. Whatever version is asked for, this agent speaks the first.
pub(crate) fn response(
    request: &InitializeRequest,
    usable: &[UsableProvider],
    version: &str,
    hears: bool,
) -> InitializeResponse {
    let mut methods: Vec<AuthMethod> = usable.iter().map(provider).collect();
    if request.client_capabilities.auth.terminal {
        methods.push(setup());
    }
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities(hears))
        .auth_methods(methods)
        .agent_info(Implementation::new("petasos", version).title("Petasos".to_owned()))
}

/// Only what answers.
fn capabilities(hears: bool) -> AgentCapabilities {
    let sessions = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .close(SessionCloseCapabilities::new())
        .delete(SessionDeleteCapabilities::new())
        .fork(SessionForkCapabilities::new())
        .additional_directories(SessionAdditionalDirectoriesCapabilities::new());
    AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(
            PromptCapabilities::new().image(true).embedded_context(true).audio(hears),
        )
        .mcp_capabilities(McpCapabilities::new().http(true).sse(true))
        .session_capabilities(sessions)
        .auth(AgentAuthCapabilities::new().logout(LogoutCapabilities::new()))
}

fn provider(provider: &UsableProvider) -> AuthMethod {
    let about = format!("Uses the credential for {} that is set up already", provider.name);
    let method = AuthMethodAgent::new(provider.id.clone(), provider.name.clone());
    AuthMethod::Agent(method.description(about))
}

fn setup() -> AuthMethod {
    let method = AuthMethodTerminal::new(SETUP, "Set up Petasos");
    let about = "Chooses a provider and a model at a terminal".to_owned();
    // It is appended to what the editor starts: `petasos acp --sign-in`.
    AuthMethod::Terminal(method.args(vec!["--sign-in".to_owned()]).description(about))
}
