//! What the gateway asks of the program: what conversations of a platform choose, where they are
//! reached, and whether everything was stopped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use petasos_contract::approval::ApprovalRequest;
use petasos_contract::context::Surface;
use petasos_contract::message::Content;
use petasos_contract::{Address, BoxFuture, CallContext, SessionId};
use petasos_gateway::GatewayHost;
use petasos_gateway::platform::PlatformDef;
use petasos_redact::Redactor;
use petasos_runtime::toolsets::choose;
use petasos_session::{Choice, ModelChoice, Refreshed, Services, SessionLimits, Topic};

use crate::halt;
use crate::host::Host;
use crate::pictures::{self, Bad};
use crate::services::Program;

/// The program behind the chats of a gateway.
pub(crate) struct ChatProgram {
    host: Arc<Host>,
    program: Program,
    redactor: Arc<Redactor>,
    places: Mutex<HashMap<SessionId, (Arc<Address>, bool)>>,
}

impl ChatProgram {
    /// With what sessions ask of any surface.
    pub(crate) fn new(host: Arc<Host>, program: Program) -> Self {
        let redactor = Redactor::of(host.settings());
        Self { host, program, redactor, places: Mutex::default() }
    }
}

impl GatewayHost for ChatProgram {
    fn choice(&self, platform: &PlatformDef, _: &Address) -> Choice {
        let settings = self.host.settings();
        let mut choice = Choice::new(Surface::Gateway, Arc::clone(settings));
        let tools = self.host.catalogue().registry().snapshot();
        choice.selection = choose(platform.name, settings, &tools).selection(settings);
        platform.name.clone_into(&mut choice.source);
        choice.addition = Some(platform.hint.to_owned()).filter(|hint| !hint.is_empty());
        choice
    }

    fn placed(&self, session: &SessionId, address: &Arc<Address>, attended: bool) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.insert(session.clone(), (Arc::clone(address), attended));
    }

    fn new_session(&self) -> SessionId {
        petasos_sqlite::new_session_id()
    }

    fn stopped(&self) -> Option<String> {
        halt::stopped(self.host.settings().home())
    }

    fn stop_all(&self, by: &str) -> Result<(), String> {
        halt::stop(self.host.settings().home(), by)
    }

    fn redact(&self, text: &str) -> String {
        self.redactor.text(text).into_owned()
    }
}

impl Services for ChatProgram {
    /// Nobody in a chat can attach a picture anew before the turn: it goes on with a word.
    fn taken<'a>(
        &'a self,
        content: Content,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Content, String>> {
        Box::pin(pictures::taken(&self.host, content, Bad::IsTold, cx))
    }

    fn limits(&self) -> SessionLimits {
        let turns = self.host.settings().get("gateway.max_concurrent_sessions");
        let turns = turns.and_then(serde_json::Value::as_u64);
        let turns = turns.and_then(|count| usize::try_from(count).ok());
        let usual = SessionLimits::CHATS;
        SessionLimits { turns: turns.unwrap_or(usual.turns).max(1), ..usual }
    }

    fn context(&self, session: &SessionId) -> CallContext {
        let mut cx = self.program.context(session);
        cx.surface = Surface::Gateway;
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        match places.get(session) {
            Some((address, attended)) => cx.at(Arc::clone(address)).attended(*attended),
            None => cx,
        }
    }

    fn describe<'a>(
        &'a self,
        topic: Topic,
        about: &'a str,
        choice: &'a Choice,
    ) -> BoxFuture<'a, Result<String, String>> {
        self.program.describe(topic, about, choice)
    }

    fn approval_text(&self, request: &ApprovalRequest, colour: bool) -> String {
        self.program.approval_text(request, colour)
    }

    fn resolve<'a>(&'a self, choice: &'a ModelChoice) -> BoxFuture<'a, Result<String, String>> {
        self.program.resolve(choice)
    }

    fn save_model(&self, choice: &ModelChoice) -> Result<String, String> {
        self.program.save_model(choice)
    }

    fn approvals_off(&self) -> bool {
        self.program.approvals_off()
    }

    fn set_approvals_off(&self, _: bool) -> Result<(), String> {
        Err("approvals stay on in chats: change `approvals.mode` on the machine".to_owned())
    }

    fn restore<'a>(
        &'a self,
        checkpoint: &'a str,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<String, String>> {
        self.program.restore(checkpoint, cx)
    }

    fn export<'a>(
        &'a self,
        session: &'a SessionId,
        file: &'a str,
    ) -> BoxFuture<'a, Result<String, String>> {
        self.program.export(session, file)
    }

    fn refresh_servers<'a>(
        &'a self,
        asked: bool,
        choice: &'a Choice,
    ) -> BoxFuture<'a, Result<Option<Refreshed>, String>> {
        self.program.refresh_servers(asked, choice)
    }
}
