//! One prompt, from its blocks to its stop reason.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{ContentBlock, Error, PromptResponse, StopReason};
use petasos_contract::reply::Reason;
use petasos_session::{
    Admission, AfterCommand, Input, Outcome, SessionError, SubmissionId, TurnEnd, TurnError,
    TurnHandle, WhenBusy, command,
};
use tokio_util::sync::CancellationToken;

use crate::content;
use crate::editor::{self, EditorSession};
use crate::options;
use crate::port::EditorHost;
use crate::rpc::told;

/// A prompt that has arrived. It counts as not answered until this is dropped.
pub(crate) struct Arrived {
    open: Arc<EditorSession>,
    cancel: CancellationToken,
}

impl Arrived {
    /// Takes its place behind those that came before; at once, so that a cancellation that follows
    /// finds it.
    pub(crate) fn new(open: &Arc<EditorSession>) -> Self {
        let cancel = CancellationToken::new();
        open.prompts.lock().push_back(cancel.clone());
        Self { open: Arc::clone(open), cancel }
    }

    /// Runs it to its end.
    pub(crate) async fn run(
        self,
        blocks: &[ContentBlock],
        host: &dyn EditorHost,
    ) -> Result<PromptResponse, Error> {
        let open = &self.open;
        let passing = open.turnstile.lock().await;
        let Some(heard) = self.heard(blocks, host).await? else {
            return Ok(PromptResponse::new(StopReason::Cancelled));
        };
        let foreign = |place: &str| {
            let path = std::path::Path::new(place);
            !open.ruled.is_own(path) || host.strangers_wrote(path, open.session.id())
        };
        let prompted = content::read(blocks, &heard, &foreign)?;
        if let Some(line) = &prompted.line
            && let Some((name, _)) = command::split(line)
        {
            drop(passing);
            return self.command(&name, line, host).await;
        }
        if self.cancel.is_cancelled() {
            return Ok(PromptResponse::new(StopReason::Cancelled));
        }
        let gaps = open.progress.gaps();
        let turn = self.submitted(prompted.input).await?;
        drop(passing);
        self.ended(turn, gaps).await
    }

    /// Says something to the agent, as this client's own words.
    async fn submitted(&self, input: Input) -> Result<TurnHandle, Error> {
        let open = &self.open;
        // Held until the turn is known as ours: the client shows its own words itself.
        let mut own = open.progress.own().lock().await;
        let admitted = open.session.submit(input, WhenBusy::Queue).await;
        match admitted.map_err(|error| failed(&error))? {
            Admission::Started(turn) => {
                own.insert(turn.id);
                Ok(turn)
            }
            Admission::Queued { turn, .. } => Ok(turn),
            Admission::Steered => Err(told(Error::internal_error(), "nobody asked to steer")),
        }
    }

    /// The words of the prompt's recordings; nothing when it is cancelled meanwhile.
    async fn heard(
        &self,
        blocks: &[ContentBlock],
        host: &dyn EditorHost,
    ) -> Result<Option<Vec<String>>, Error> {
        let mut words = Vec::new();
        for recording in content::recordings(blocks) {
            if !host.hears() {
                return Err(content::deaf());
            }
            let heard = tokio::select! {
                heard = host.heard(self.open.session.id(), recording) => heard,
                () = self.cancel.cancelled() => return Ok(None),
            };
            words.push(heard.map_err(|why| told(Error::invalid_params(), &why))?);
        }
        Ok(Some(words))
    }

    /// A slash command: what it says is a message of the agent.
    async fn command(
        &self,
        typed: &str,
        line: &str,
        host: &dyn EditorHost,
    ) -> Result<PromptResponse, Error> {
        let (open, ended) = (&self.open, Ok(PromptResponse::new(StopReason::EndTurn)));
        let name = open.meant(typed);
        if !editor::is_here(&name) {
            self.say(&format!("`/{name}` is not for editors: use the editor's own menu for that."))
                .await;
            return ended;
        }
        let mut outcome = open.session.command_alone(line).await.map_err(|error| failed(&error))?;
        match &outcome.then {
            // The client keeps its name for the conversation.
            AfterCommand::New => {
                outcome =
                    open.session.command("/new here").await.map_err(|error| failed(&error))?;
            }
            AfterCommand::Switch(other) => {
                let way = "open it from the editor's list of conversations; this one goes on here";
                self.say(&format!("The conversation is `{other}`: {way}.")).await;
                return ended;
            }
            AfterCommand::Nothing | AfterCommand::Submit(_) => {}
        }
        for page in &outcome.pages {
            let update = open.renderer.lock().page(page);
            open.tell(update).await;
        }
        match name.as_str() {
            "model" | "reasoning" => options::tell(open, host).await,
            "title" => open.tell_title().await,
            "plan" | "go" => {
                options::follow_phase(open).await;
                options::tell(open, host).await;
            }
            _ => {}
        }
        let AfterCommand::Submit(words) = outcome.then else { return ended };
        let input = Input { context: outcome.context, ..words.as_str().into() };
        let gaps = open.progress.gaps();
        let turn = self.submitted(input).await?;
        self.ended(turn, gaps).await
    }

    async fn say(&self, text: &str) {
        let update = self.open.renderer.lock().agent(text);
        self.open.tell(update).await;
    }

    /// Waits for the end of a turn, and until everything of it has been sent.
    async fn ended(&self, turn: TurnHandle, gaps: u64) -> Result<PromptResponse, Error> {
        let (id, open) = (turn.id, &self.open);
        let stop = Stop { open, id, armed: true };
        let end = {
            let mut end = std::pin::pin!(turn.end());
            tokio::select! {
                biased;
                end = &mut end => end,
                () = self.stopped(id) => end.await,
            }
        };
        stop.disarm();
        open.progress.reached(id, gaps).await;
        let cancelled = self.cancel.is_cancelled();
        match end {
            None => Ok(PromptResponse::new(StopReason::Cancelled)),
            Some(end) => answered(end, cancelled).map(PromptResponse::new),
        }
    }

    /// Stops the turn once the client has cancelled it, whenever it begins.
    async fn stopped(&self, id: SubmissionId) {
        self.cancel.cancelled().await;
        self.open.session.interrupt();
        self.open.progress.begun(id).await;
        self.open.session.interrupt();
        std::future::pending::<()>().await;
    }
}

impl Drop for Arrived {
    fn drop(&mut self) {
        // Tokens have no identity of their own: this one is told by being cancelled now.
        self.cancel.cancel();
        self.open.prompts.lock().retain(|prompt| !prompt.is_cancelled());
    }
}

/// A turn whose asker gives up is stopped, now or when it begins.
struct Stop<'a> {
    open: &'a EditorSession,
    id: SubmissionId,
    armed: bool,
}

impl Stop<'_> {
    fn disarm(mut self) {
        self.armed = false;
    }
}

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.open.progress.withdraw(self.id, &self.open.session);
        }
    }
}

/// How a turn ended, in the words of the protocol.
fn answered(end: Result<TurnEnd, TurnError>, cancelled: bool) -> Result<StopReason, Error> {
    match end {
        Ok(end) => Ok(match end.outcome {
            Outcome::Interrupted => StopReason::Cancelled,
            _ if cancelled => StopReason::Cancelled,
            Outcome::OutOfBudget => StopReason::MaxTurnRequests,
            Outcome::Refused => StopReason::Refusal,
            _ if end.cut_off => StopReason::MaxTokens,
            Outcome::Replied | Outcome::Halted => StopReason::EndTurn,
        }),
        Err(_) if cancelled => Ok(StopReason::Cancelled),
        Err(TurnError::Model(error)) if error.reason == Reason::NotConfigured => {
            Err(told(Error::auth_required(), &error.line))
        }
        Err(error) => Err(told(Error::internal_error(), &error.to_string())),
    }
}

/// A session that did not take a message.
pub(crate) fn failed(error: &SessionError) -> Error {
    let kind = match error {
        SessionError::Full(_) | SessionError::Busy => Error::invalid_request(),
        _ => Error::internal_error(),
    };
    told(kind, &error.to_string())
}
