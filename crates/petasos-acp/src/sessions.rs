//! The methods of sessions: begin, load, go on, copy, list, leave, choose.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    CloseSessionRequest, CloseSessionResponse, DeleteSessionRequest, DeleteSessionResponse, Error,
    ForkSessionRequest, ForkSessionResponse, ListSessionsRequest, ListSessionsResponse,
    LoadSessionRequest, LoadSessionResponse, McpServer, NewSessionRequest, NewSessionResponse,
    NoticeSeverity, ResumeSessionRequest, ResumeSessionResponse, SessionConfigOption,
    SessionConfigOptionValue, SessionId as WireId, SessionInfo, SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse, SetSessionModeRequest, SetSessionModeResponse,
};
use petasos_contract::SessionId;
use petasos_session::{Begin, Session};
use serde_json::{Map, Value, json};

use crate::editor::{EditorSession, Opening};
use crate::files::ClientFiles;
use crate::mode::Mode;
use crate::options;
use crate::paging;
use crate::panel::ClientPanel;
use crate::port::{EditorPlace, StoredSession};
use crate::prompt::failed;
use crate::replay;
use crate::rpc::told;
use crate::rules::RuledSession;
use crate::serve::{Server, unknown};
use crate::terminals::ClientTerminals;

/// Where a client wants a session to be.
struct Wanted {
    cwd: PathBuf,
    more: Vec<PathBuf>,
    servers: Vec<McpServer>,
}

impl Server {
    pub(crate) async fn new_session(
        &self,
        request: NewSessionRequest,
    ) -> Result<NewSessionResponse, Error> {
        let wanted = Wanted {
            cwd: request.cwd,
            more: request.additional_directories,
            servers: request.mcp_servers,
        };
        wanted.check()?;
        let ready = self.parts.host.ready().await;
        ready.map_err(|why| told(Error::auth_required(), &why))?;
        let id = self.parts.host.new_id();
        let open = self.enter(id, wanted, true).await?;
        let options = self.settle(&open, None).await?;
        let response = NewSessionResponse::new(open.wire.clone());
        Ok(response.modes(open.ruled.mode().state()).config_options(options))
    }

    pub(crate) async fn load(
        &self,
        request: LoadSessionRequest,
    ) -> Result<LoadSessionResponse, Error> {
        let id = request.session_id.clone();
        let wanted = Wanted {
            cwd: request.cwd,
            more: request.additional_directories,
            servers: request.mcp_servers,
        };
        let (open, stored) = self.reopen(&id, wanted).await?;
        open.watch();
        let history = match &stored {
            Some(stored) => {
                self.parts.host.history(&stored.id).await.map_err(|why| broken(&why))?
            }
            None => Vec::new(),
        };
        let is_worked_on = match &stored {
            Some(stored) => self.parts.host.is_worked_on(&stored.id).await,
            None => false,
        };
        let said = history.iter().map(|row| &row.message);
        let updates = replay::replayed(&mut open.renderer.lock(), said, is_worked_on);
        for update in updates {
            open.tell(update).await;
        }
        open.shown_until(history.last().map(|row| row.seq));
        let options = self.settle(&open, stored.as_ref()).await?;
        let response = LoadSessionResponse::new();
        Ok(response.modes(open.ruled.mode().state()).config_options(options))
    }

    pub(crate) async fn resume(
        &self,
        request: ResumeSessionRequest,
    ) -> Result<ResumeSessionResponse, Error> {
        let id = request.session_id.clone();
        let wanted = Wanted {
            cwd: request.cwd,
            more: request.additional_directories,
            servers: request.mcp_servers,
        };
        let (open, stored) = self.reopen(&id, wanted).await?;
        let options = self.settle(&open, stored.as_ref()).await?;
        let response = ResumeSessionResponse::new();
        Ok(response.modes(open.ruled.mode().state()).config_options(options))
    }

    pub(crate) async fn fork(
        &self,
        request: ForkSessionRequest,
    ) -> Result<ForkSessionResponse, Error> {
        let wanted = Wanted {
            cwd: request.cwd,
            more: request.additional_directories,
            servers: request.mcp_servers,
        };
        wanted.check()?;
        let id = SessionId::new(&*request.session_id.0);
        let stored = self.parts.host.stored(&id).await.map_err(|why| broken(&why))?;
        if stored.is_none() {
            return Err(unknown(id.as_str()));
        }
        let copy = self.parts.host.fork(&id, &wanted.cwd).await.map_err(|why| broken(&why))?;
        let stored = self.parts.host.stored(&copy).await.map_err(|why| broken(&why))?;
        let open = self.enter(copy, wanted, false).await?;
        let options = self.settle(&open, stored.as_ref()).await?;
        let response = ForkSessionResponse::new(open.wire.clone());
        Ok(response.modes(open.ruled.mode().state()).config_options(options))
    }

    pub(crate) async fn list(
        &self,
        request: &ListSessionsRequest,
    ) -> Result<ListSessionsResponse, Error> {
        let place = match &request.cursor {
            None => 0,
            Some(cursor) => paging::place(cursor, &self.secret)
                .ok_or_else(|| told(Error::invalid_params(), "the cursor is not one of ours"))?,
        };
        let all = self.parts.host.list().await.map_err(|why| broken(&why))?;
        let wanted = |stored: &&StoredSession| {
            request.cwd.as_ref().is_none_or(|cwd| stored.cwd.as_ref() == Some(cwd))
        };
        let page: Vec<&StoredSession> =
            all.iter().filter(wanted).skip(place).take(paging::PAGE + 1).collect();
        let more = page.len() > paging::PAGE;
        let sessions = page.into_iter().take(paging::PAGE).map(info).collect();
        let next = more.then(|| paging::cursor(place + paging::PAGE, &self.secret));
        Ok(ListSessionsResponse::new(sessions).next_cursor(next))
    }

    pub(crate) async fn close(
        &self,
        request: &CloseSessionRequest,
    ) -> Result<CloseSessionResponse, Error> {
        let id = &*request.session_id.0;
        let open = self.open.lock().remove(id).ok_or_else(|| unknown(id))?;
        self.end(&open).await;
        Ok(CloseSessionResponse::new())
    }

    /// A session that is not there any more is deleted already.
    pub(crate) async fn delete(
        &self,
        request: &DeleteSessionRequest,
    ) -> Result<DeleteSessionResponse, Error> {
        let open = self.open.lock().remove(&*request.session_id.0);
        if let Some(open) = open {
            self.end(&open).await;
        }
        let id = SessionId::new(&*request.session_id.0);
        let stored = self.parts.host.stored(&id).await.map_err(|why| broken(&why))?;
        if stored.is_some_and(|stored| !stored.archived) {
            self.parts.host.archive(&id).await.map_err(|why| broken(&why))?;
        }
        Ok(DeleteSessionResponse::new())
    }

    pub(crate) async fn set_mode(
        &self,
        request: &SetSessionModeRequest,
    ) -> Result<SetSessionModeResponse, Error> {
        let open = self.session(&request.session_id.0)?;
        let name = &*request.mode_id.0;
        let mode = Mode::named(name)
            .ok_or_else(|| told(Error::invalid_params(), &format!("there is no mode `{name}`")))?;
        options::set_mode(&open, mode).await;
        options::tell(&open, self.parts.host.as_ref()).await;
        Ok(SetSessionModeResponse::new())
    }

    pub(crate) async fn set_option(
        &self,
        request: &SetSessionConfigOptionRequest,
    ) -> Result<SetSessionConfigOptionResponse, Error> {
        let open = self.session(&request.session_id.0)?;
        let value = match &request.value {
            SessionConfigOptionValue::ValueId { value } => value.0.to_string(),
            _ => return Err(told(Error::invalid_params(), "this option takes one of its values")),
        };
        options::choose(&open, &request.config_id.0, &value).await?;
        self.measure(&open).await;
        let options = options::options(&open, self.parts.host.as_ref()).await?;
        Ok(SetSessionConfigOptionResponse::new(options))
    }

    /// The older way to choose a model: answered, not advertised.
    pub(crate) async fn set_model(&self, params: &Value) -> Result<Value, Error> {
        let text = |key: &str| params.get(key).and_then(Value::as_str);
        let (Some(id), Some(model)) = (text("sessionId"), text("modelId")) else {
            let why = "`sessionId` and `modelId` are needed";
            return Err(told(Error::invalid_params(), why));
        };
        let open = self.session(id)?;
        options::choose(&open, "model", model).await?;
        self.measure(&open).await;
        options::tell(&open, self.parts.host.as_ref()).await;
        Ok(json!({}))
    }

    /// A stored session, or one that is open at this client.
    async fn reopen(
        &self,
        id: &WireId,
        wanted: Wanted,
    ) -> Result<(Arc<EditorSession>, Option<StoredSession>), Error> {
        wanted.check()?;
        let session = SessionId::new(&*id.0);
        let stored = self.parts.host.stored(&session).await.map_err(|why| broken(&why))?;
        let open = self.open.lock().get(&*id.0).cloned();
        let known = stored.as_ref().and_then(|stored| stored.cwd.clone());
        let known = known.or_else(|| open.as_ref().map(|open| open.cwd.clone()));
        if let Some(cwd) = known.filter(|cwd| *cwd != wanted.cwd && cwd.is_dir()) {
            let why = format!("the session belongs to `{}`", cwd.display());
            return Err(told(Error::invalid_params(), &why));
        }
        if let Some(open) = open {
            return Ok((open, stored));
        }
        let Some(stored) = stored else { return Err(unknown(session.as_str())) };
        let open = self.enter(session, wanted, false).await?;
        Ok((open, Some(stored)))
    }

    /// Opens a session at this client.
    async fn enter(
        &self,
        id: SessionId,
        wanted: Wanted,
        is_new: bool,
    ) -> Result<Arc<EditorSession>, Error> {
        let _opening = self.opening.lock().await;
        if let Some(open) = self.open.lock().get(id.as_str()) {
            return Ok(Arc::clone(open));
        }
        let Wanted { cwd, more, servers } = wanted;
        let place = EditorPlace {
            session: id.clone(),
            cwd: cwd.clone(),
            more: more.clone(),
            forms: self.forms(),
            servers: entries(servers),
        };
        let prepared = self.parts.host.prepare(place).await.map_err(|why| broken(&why))?;
        let session = self.begin_session(&id, prepared.choice, is_new).await?;
        let files = ClientFiles::new(&self.peer, id.as_str(), self.client().fs);
        let roots = std::iter::once(cwd.clone()).chain(more.iter().cloned()).collect();
        let terminals = ClientTerminals::new(&self.peer, id.as_str(), self.client().terminal);
        let ruled = RuledSession::new(roots, files, terminals);
        self.parts.rules.admit(id.clone(), Arc::clone(&ruled));
        if let Some(panel) = ClientPanel::new(&self.peer, id.as_str(), &self.client()) {
            self.parts.rules.show(id.clone(), panel);
        }
        let wire = WireId::new(id.as_str());
        let abilities = self.abilities();
        let servers = prepared.servers;
        let opening = Opening { wire, session, cwd, ruled, servers, abilities };
        let open = EditorSession::new(opening, &self.peer, &self.parts.host);
        self.open.lock().insert(id.to_string(), Arc::clone(&open));
        for notice in &prepared.notices {
            let update = open.renderer.lock().notice(NoticeSeverity::Warning, notice);
            open.tell(update).await;
        }
        Ok(open)
    }

    async fn begin_session(
        &self,
        id: &SessionId,
        mut choice: petasos_session::Choice,
        is_new: bool,
    ) -> Result<Session, Error> {
        let begin = if is_new {
            choice.new.id = Some(id.clone());
            Begin::Kept { choice: Box::new(choice) }
        } else {
            Begin::Resume { session: id.clone(), choice: Box::new(choice) }
        };
        self.parts.sessions.open(begin).await.map_err(|error| {
            self.parts.host.leave(id);
            failed(&error)
        })
    }

    /// From now on the client is told what happens; gives the options.
    async fn settle(
        &self,
        open: &Arc<EditorSession>,
        stored: Option<&StoredSession>,
    ) -> Result<Vec<SessionConfigOption>, Error> {
        open.renderer.lock().measure(0, stored.map(|stored| stored.cost_usd));
        self.measure(open).await;
        let title = stored.and_then(|stored| stored.title.clone());
        open.follow(&self.parts.host, self.forms(), title);
        options::follow_phase(open).await;
        let options = options::options(open, self.parts.host.as_ref()).await?;
        // After the answer: some clients drop what they hear of a session before they know its name.
        let later = Arc::clone(open);
        open.soon(async move { later.tell_commands().await });
        Ok(options)
    }

    /// The window of the model that answers now.
    async fn measure(&self, open: &EditorSession) {
        if let Ok(view) = open.session.view().await {
            let window = self.parts.host.window(&view.choice).await;
            open.renderer.lock().measure(window, None);
        }
    }
}

impl Wanted {
    fn check(&self) -> Result<(), Error> {
        for folder in std::iter::once(&self.cwd).chain(&self.more) {
            check_folder(folder)?;
        }
        Ok(())
    }
}

fn check_folder(folder: &Path) -> Result<(), Error> {
    let why = if !folder.is_absolute() {
        format!("`{}` is not an absolute path", folder.display())
    } else if !folder.is_dir() {
        format!("`{}` is no directory", folder.display())
    } else {
        return Ok(());
    };
    Err(told(Error::invalid_params(), &why))
}

fn info(stored: &StoredSession) -> SessionInfo {
    let cwd = stored.cwd.clone().unwrap_or_else(|| PathBuf::from("/"));
    let info = SessionInfo::new(WireId::new(stored.id.as_str()), cwd);
    info.title(stored.title.clone()).updated_at(crate::time::rfc3339(stored.updated_ms))
}

/// The client's servers as entries of the configuration. A name that comes twice gets a number, also
/// where only signs differ that the names of tools do not have.
fn entries(servers: Vec<McpServer>) -> Map<String, Value> {
    let mut entries = Map::new();
    let mut taken = HashSet::new();
    let plain = |name: &str| name.replace(|sign: char| !sign.is_ascii_alphanumeric(), "_");
    for server in servers {
        let headers = |headers: &[agent_client_protocol_schema::v1::HttpHeader]| {
            let pairs = headers.iter().map(|it| (it.name.clone(), Value::from(it.value.clone())));
            Value::Object(pairs.collect())
        };
        let (name, entry) = match server {
            McpServer::Stdio(stdio) => {
                let env =
                    stdio.env.iter().map(|it| (it.name.clone(), Value::from(it.value.clone())));
                let env = Value::Object(env.collect());
                let command = stdio.command.display().to_string();
                (stdio.name, json!({ "command": command, "args": stdio.args, "env": env }))
            }
            McpServer::Http(http) => {
                (http.name, json!({ "url": http.url, "headers": headers(&http.headers) }))
            }
            McpServer::Sse(sse) => {
                let headers = headers(&sse.headers);
                (sse.name, json!({ "url": sse.url, "headers": headers, "transport": "sse" }))
            }
            _ => continue,
        };
        let mut unique = name.clone();
        let mut number = 2;
        while !taken.insert(plain(&unique)) {
            unique = format!("{name}_{number}");
            number += 1;
        }
        entries.insert(unique, entry);
    }
    entries
}

fn broken(why: &str) -> Error {
    told(Error::internal_error(), why)
}
