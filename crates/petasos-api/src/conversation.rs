//! Which session a request means: the one that its header names, a fresh one, or a copy that begins
//! like another. A session belongs to the key that began it; to every other key it is not there.

use std::sync::Arc;

use petasos_contract::message::{Content, Message};
use petasos_contract::model::Effort;
use petasos_contract::{Address, SessionId};
use petasos_session::{Begin, Input, Session, Sessions};
use petasos_store::{
    Amend, Lineage, NewSession, Row, RunRow, Seq, SessionHead, SessionScope, SessionStore,
    StoreError, Stored,
};

use crate::error::ApiError;
use crate::host::{ApiHost, Reached, Wish};
use crate::keys::Caller;
use crate::run::Held;
use crate::runs::new_id;

/// The platform of sessions over HTTP, also their source.
pub(crate) const PLATFORM: &str = "api_server";
/// What a session without a name of its own begins with.
pub(crate) const FRESH: &str = "api-";
/// The longest name.
const NAME_MAX: usize = 256;

/// Where the history comes from.
#[derive(Debug, Clone)]
pub(crate) enum From {
    /// The body alone; a fresh session.
    Fresh,
    /// The session of this name, which begins with the body if it is new.
    Named(String),
    /// The conversation as it was at a row.
    At(SessionId, Option<Seq>),
}

/// What a request wants.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) from: From,
    pub(crate) history: Vec<Message>,
    pub(crate) instructions: Option<String>,
    pub(crate) input: Content,
    pub(crate) effort: Option<Effort>,
    pub(crate) wish: Wish,
    pub(crate) attended: bool,
}

/// Opens sessions for keys.
pub(crate) struct Conversations {
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) host: Arc<dyn ApiHost>,
    /// One name is begun at a time.
    beginning: tokio::sync::Mutex<()>,
}

impl Conversations {
    pub(crate) fn new(
        sessions: Arc<Sessions>,
        store: Arc<dyn SessionStore>,
        host: Arc<dyn ApiHost>,
    ) -> Self {
        Self { sessions, store, host, beginning: tokio::sync::Mutex::default() }
    }

    /// Whose sessions those of a key are.
    pub(crate) fn owner(caller: &str) -> Address {
        Address::chat(PLATFORM, caller)
    }

    /// Whose notes those are that a key gives a name.
    pub(crate) fn memory(caller: &str, key: String) -> Address {
        Address { user: Some(key.into()), ..Self::owner(caller) }
    }

    /// A session of this key.
    pub(crate) async fn head(&self, id: &str, caller: &Caller) -> Result<SessionHead, ApiError> {
        let missing = || ApiError::not_found("session_not_found", format!("no session `{id}`"));
        // A title or the beginning of a name finds something, too; a client names it whole.
        let found = match self.store.find(id, &SessionScope::Everyone).await {
            Ok(head) if head.id == id => head,
            Ok(_) | Err(StoreError::NotFound { .. } | StoreError::Ambiguous { .. }) => {
                return Err(missing());
            }
            Err(error) => return Err(error.into()),
        };
        let owner = Self::owner(&caller.name);
        let own = found
            .owner
            .as_ref()
            .is_some_and(|it| it.platform == owner.platform && it.chat == owner.chat);
        if own { Ok(found) } else { Err(missing()) }
    }

    /// Opens the session that a request means; gives it with what is to be said in it.
    pub(crate) async fn open(
        &self,
        request: Request,
        caller: &Caller,
    ) -> Result<(Session, Input), ApiError> {
        let source = request.wish.platform;
        let mut choice = self.host.wished(&request.wish);
        choice.effort = request.effort.or(choice.effort);
        let mut input = Input { content: request.input, context: Vec::new(), turn: None };
        let id = match request.from {
            // A name that nobody else has: those who come at once need not wait for each other.
            From::Fresh => {
                let id = new_id(FRESH)?;
                self.begin(&id, caller, source, request.history).await?
            }
            From::Named(id) => {
                let _beginning = self.beginning.lock().await;
                match self.head(&id, caller).await {
                    Ok(head) => {
                        let told = request.instructions.as_deref();
                        input.context.extend(self.untold(&head.session(), told).await?);
                        head.session()
                    }
                    Err(error) if error.code == "session_not_found" => {
                        self.begin(&id, caller, source, request.history).await?
                    }
                    Err(error) => return Err(error),
                }
            }
            From::At(id, seq) => {
                let _beginning = self.beginning.lock().await;
                input.context.extend(request.instructions);
                self.continued(&id, seq, caller).await?
            }
        };
        let address = Arc::new(Self::owner(&caller.name));
        let (attended, sandbox) = (request.attended, caller.sandbox.clone());
        self.host.reached(&id, Reached { address, attended, sandbox });
        let begin = Begin::Resume { session: id, choice: Box::new(choice.clone()) };
        let session = self.sessions.open(begin).await?;
        // One that was open already answers as this request wants it, too.
        session.wish(choice);
        Ok((session, input))
    }

    /// A new session with what was said before.
    async fn begin(
        &self,
        id: &str,
        caller: &Caller,
        source: &str,
        history: Vec<Message>,
    ) -> Result<SessionId, ApiError> {
        let new = NewSession {
            id: Some(SessionId::new(id)),
            source: source.to_owned(),
            owner: Some(Self::owner(&caller.name)),
            ..NewSession::default()
        };
        let head = self.store.create(new).await.map_err(|_| {
            // Somebody else's, or begun by another process in this very moment.
            ApiError::not_found("session_not_found", format!("no session `{id}`"))
        })?;
        let session = head.session();
        if !history.is_empty() {
            let rows = history.into_iter().map(|message| {
                let tokens = rough_tokens(&message);
                Row::Message(Box::new(Stored { tokens, ..Stored::new(message) }))
            });
            self.store.append(&session, rows.collect()).await?;
        }
        Ok(session)
    }

    /// Instructions that the system prompt of a session does not hold.
    async fn untold(
        &self,
        session: &SessionId,
        instructions: Option<&str>,
    ) -> Result<Option<String>, ApiError> {
        let Some(instructions) = instructions else { return Ok(None) };
        let loaded = self.store.load(session).await?;
        // One that has not answered yet has no system prompt either: they become part of it.
        let told = loaded.system_prompt.is_none_or(|prompt| prompt.contains(instructions));
        Ok((!told).then(|| instructions.to_owned()))
    }

    /// The conversation as it was at a row: itself if nothing follows, else a copy.
    async fn continued(
        &self,
        id: &SessionId,
        seq: Option<Seq>,
        caller: &Caller,
    ) -> Result<SessionId, ApiError> {
        self.head(id.as_str(), caller).await?;
        let loaded = self.store.load(id).await?;
        let free = !self.is_held_elsewhere(id).await?;
        let idle = match self.sessions.find(id) {
            Some(session) => !session.view().await?.busy,
            None => true,
        };
        if loaded.last == seq && free && idle {
            return Ok(id.clone());
        }
        self.fork(id, seq, caller, None).await.map(|head| head.session())
    }

    /// The session of a run whose process died while it waited for a person, if it still does.
    pub(crate) async fn waiting(&self, row: &RunRow) -> Option<Session> {
        let open = self.sessions.questions().open(Some(&row.session)).await;
        if open.is_ok_and(|open| open.is_empty()) {
            return None;
        }
        let Held { toolsets, sandbox, memory } = Held::kept(&row.about);
        let choice = self.host.wished(&Wish {
            platform: PLATFORM,
            may_ask: true,
            toolsets,
            sandbox: sandbox.clone(),
            memory: memory.map(|key| Self::memory(&row.owner, key)),
            ..Wish::default()
        });
        let address = Arc::new(Self::owner(&row.owner));
        self.host.reached(&row.session, Reached { address, attended: true, sandbox });
        let begin = Begin::Resume { session: row.session.clone(), choice: Box::new(choice) };
        self.sessions.open(begin).await.ok()
    }

    /// Whether another process works on a session. A lease of our own says nothing: it is given
    /// back a moment after the turn has ended.
    pub(crate) async fn is_held_elsewhere(&self, id: &SessionId) -> Result<bool, ApiError> {
        let holder = self.store.holder(id).await?;
        Ok(holder.is_some_and(|it| it.host.is_some() || it.pid != std::process::id()))
    }

    /// A copy of a session.
    pub(crate) async fn fork(
        &self,
        id: &SessionId,
        until: Option<Seq>,
        caller: &Caller,
        title: Option<String>,
    ) -> Result<SessionHead, ApiError> {
        let new = NewSession {
            id: Some(SessionId::new(new_id(FRESH)?)),
            source: PLATFORM.to_owned(),
            owner: Some(Self::owner(&caller.name)),
            parent: Some((id.clone(), Lineage::Fork)),
            ..NewSession::default()
        };
        let head = self.store.fork(id, until, new).await?;
        if let Some(title) = title {
            self.store.amend(&head.session(), Amend::Title(Some(title))).await?;
        }
        Ok(head)
    }
}

/// About how many tokens a message takes.
fn rough_tokens(message: &Message) -> u32 {
    let text = match message {
        Message::User { content } => content.text().len(),
        Message::Assistant(said) => said.text().len(),
        Message::Tool(result) => result.content.text().len(),
    };
    u32::try_from(text / 4 + 4).unwrap_or(u32::MAX)
}

/// A name for a session that a client may choose.
pub(crate) fn checked_name(name: &str, header: &'static str) -> Result<String, ApiError> {
    let odd = |sign: char| sign.is_control() || matches!(sign, '/' | '\\');
    if name.is_empty() || name.len() > NAME_MAX || name.contains(odd) || name.contains("..") {
        let message = format!(
            "{header} must have 1 to {NAME_MAX} characters, without control characters and paths"
        );
        return Err(ApiError::field(header, message));
    }
    Ok(name.to_owned())
}
