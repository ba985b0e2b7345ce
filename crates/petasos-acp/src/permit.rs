//! A question of a session becomes a request to the client, and the client's answer its answer.
//!
//! Whatever is not one of the offered options is a denial. Passwords never go through an editor.

use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::v1::{
    CreateElicitationRequest, CreateElicitationResponse, ElicitationAction,
    ElicitationContentValue, ElicitationFormMode, ElicitationSchema, ElicitationSessionScope,
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SessionId, StringPropertySchema, ToolCallContent, ToolCallId,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use parking_lot::Mutex;
use petasos_contract::approval::{ApprovalRequest, Scope};
use petasos_session::{Answerer, Question, QuestionKind, QuestionReply, Session};

use crate::port::EditorHost;
use crate::render::{FileDiff, Renderer};
use crate::rpc::{Peer, PeerError};
use crate::rules::RuledSession;
use crate::texts::{places, plain};

/// The question itself says when it expires; a request lives a moment longer.
const BEYOND: Duration = Duration::from_secs(2);

/// Asks the person at one client for one session.
pub(crate) struct Asking {
    pub(crate) wire: SessionId,
    pub(crate) peer: Arc<Peer>,
    pub(crate) ruled: Arc<RuledSession>,
    pub(crate) host: Arc<dyn EditorHost>,
    /// Whether the client shows forms.
    pub(crate) forms: bool,
}

/// What the client chose.
enum Chosen {
    Option(String),
    /// The client withdrew, or answered what cannot be read.
    Nothing(String),
}

impl Asking {
    /// Puts a question and answers it.
    pub(crate) async fn put(
        &self,
        question: &Question,
        session: &Session,
        renderer: &Mutex<Renderer>,
    ) {
        let reply = match &question.kind {
            QuestionKind::Approval(request) => self.approve(question, request, renderer).await,
            QuestionKind::Choice { text, choices } => {
                let call = renderer.lock().announced(&question.call).map(|(wire, _)| wire);
                self.choose(question, (text, choices), call).await
            }
            QuestionKind::Password { .. } => Some(QuestionReply::Decline),
        };
        // A client that is gone leaves the question to others, or to its end.
        let Some(reply) = reply else { return };
        let by = Answerer { name: Some("the editor".to_owned()), ..Answerer::default() };
        if let Err(error) = session.answer(&question.id, reply, &by).await {
            tracing::debug!(%error, "an answer came too late");
        }
    }

    async fn approve(
        &self,
        question: &Question,
        request: &ApprovalRequest,
        renderer: &Mutex<Renderer>,
    ) -> Option<QuestionReply> {
        let call = &question.call;
        let announced = renderer.lock().announced(call);
        let (wire, fields) = announced.unwrap_or_else(|| {
            let name = ToolCallId::new(format!("question-{}", question.id));
            (name, ToolCallUpdateFields::new())
        });
        // The tool's own word where it has one: it knows the place of every hunk.
        let own: Vec<FileDiff> = request.edits.iter().map(FileDiff::of).collect();
        let proposed = if own.is_empty() { self.ruled.proposed(call) } else { own };
        let edits = matches!(request.tool.as_str(), "write_file" | "patch");
        let proposed = match &fields.raw_input {
            Some(input) if edits && proposed.is_empty() && !self.ruled.saw(call) => {
                self.ruled.would(request.tool.as_str(), input).await
            }
            _ => proposed,
        };
        if proposed.is_empty() && edits {
            // A call of another window is for that one to answer.
            let why = "what the edit would change cannot be shown, so nobody was asked";
            return self.ruled.saw(call).then(|| denied(Some(why.to_owned())));
        }
        let fields = match proposed.as_slice() {
            [] => fields,
            some => fields.locations(places(some)),
        };
        let mut content: Vec<ToolCallContent> = proposed.iter().map(FileDiff::content).collect();
        content.push(plain(&self.said(request)));
        let fields = fields.status(ToolCallStatus::Pending).title(title(request)).content(content);
        let widest = if self.ruled.is_guarded(call) { Scope::Once } else { request.widest };
        let options = options(widest, request);
        let asked = RequestPermissionRequest::new(
            self.wire.clone(),
            ToolCallUpdate::new(wire, fields),
            options.clone(),
        );
        let chosen = self.request(&asked, question.patience).await?;
        Some(match chosen {
            Chosen::Option(id) => match id.as_str() {
                _ if !options.iter().any(|option| *option.option_id.0 == *id) => {
                    denied(Some(format!("the editor answered `{id}`, which was not offered")))
                }
                "allow_once" => QuestionReply::Allow(Scope::Once),
                "allow_session" => QuestionReply::Allow(Scope::Session),
                "allow_always" => QuestionReply::Allow(Scope::Always),
                "deny_always" => {
                    self.ruled.deny_always(call);
                    denied(Some("and the same for the rest of this session".to_owned()))
                }
                _ => denied(None),
            },
            Chosen::Nothing(why) => denied(Some(why)),
        })
    }

    /// Why it is asked, in words without secrets.
    fn said(&self, request: &ApprovalRequest) -> String {
        let mut lines = vec![format!("`{}`", self.host.redact(&request.subject))];
        if let Some(cwd) = &request.cwd {
            lines.push(format!("in {}", cwd.display()));
        }
        for finding in &request.findings {
            lines.push(format!("- {}", finding.why));
            if let Some(stores) = &finding.stores {
                lines.push(format!("  (an answer for longer covers {stores})"));
            }
        }
        lines.join("\n")
    }

    async fn request(
        &self,
        asked: &RequestPermissionRequest,
        patience: Duration,
    ) -> Option<Chosen> {
        let answer: Result<RequestPermissionResponse, PeerError> =
            self.peer.request("session/request_permission", asked, patience + BEYOND).await;
        match answer {
            Ok(answer) => Some(match answer.outcome {
                RequestPermissionOutcome::Selected(chosen) => {
                    Chosen::Option(chosen.option_id.0.to_string())
                }
                _ => Chosen::Nothing("the editor withdrew the question".to_owned()),
            }),
            Err(PeerError::Gone | PeerError::Silent { .. }) => None,
            Err(error) => Some(Chosen::Nothing(format!("the editor could not ask: {error}"))),
        }
    }

    /// A question of the model: a form where the client has them, else its choices.
    async fn choose(
        &self,
        question: &Question,
        (text, choices): (&str, &[String]),
        call: Option<ToolCallId>,
    ) -> Option<QuestionReply> {
        if self.forms {
            return self.fill(question, (text, choices), call).await;
        }
        if choices.is_empty() {
            return Some(QuestionReply::Decline);
        }
        let option = |(index, choice): (usize, &String)| {
            PermissionOption::new(
                format!("choice_{index}"),
                choice.as_str(),
                PermissionOptionKind::AllowOnce,
            )
        };
        let mut options: Vec<PermissionOption> = choices.iter().enumerate().map(option).collect();
        options.push(PermissionOption::new(
            "none",
            "None of these",
            PermissionOptionKind::RejectOnce,
        ));
        let fields =
            ToolCallUpdateFields::new().title(text.to_owned()).status(ToolCallStatus::Pending);
        let own = || ToolCallId::new(format!("question-{}", question.id));
        let update = ToolCallUpdate::new(call.unwrap_or_else(own), fields);
        let asked = RequestPermissionRequest::new(self.wire.clone(), update, options);
        let chosen = self.request(&asked, question.patience).await?;
        let index = match &chosen {
            Chosen::Option(id) => {
                id.strip_prefix("choice_").and_then(|at| at.parse::<usize>().ok())
            }
            Chosen::Nothing(_) => None,
        };
        let choice = index.and_then(|index| choices.get(index));
        Some(choice.map_or(QuestionReply::Decline, |choice| QuestionReply::Text(choice.clone())))
    }

    async fn fill(
        &self,
        question: &Question,
        (text, choices): (&str, &[String]),
        call: Option<ToolCallId>,
    ) -> Option<QuestionReply> {
        let mut answer = StringPropertySchema::new().title("Answer".to_owned());
        if !choices.is_empty() {
            answer = answer.description(format!("For example: {}", choices.join(", ")));
        }
        let schema = ElicitationSchema::new().property("answer", answer, true);
        let scope = ElicitationSessionScope::new(self.wire.clone()).tool_call_id(call);
        let mode = ElicitationFormMode::new(scope, schema);
        let asked = CreateElicitationRequest::new(mode, text);
        let within = question.patience + BEYOND;
        let answer: Result<CreateElicitationResponse, PeerError> =
            self.peer.request("elicitation/create", &asked, within).await;
        match answer {
            Ok(CreateElicitationResponse { action: ElicitationAction::Accept(given), .. }) => {
                let given = given.content.unwrap_or_default().remove("answer");
                Some(match given {
                    Some(ElicitationContentValue::String(text)) => QuestionReply::Text(text),
                    _ => QuestionReply::Decline,
                })
            }
            Err(PeerError::Gone | PeerError::Silent { .. }) => None,
            _ => Some(QuestionReply::Decline),
        }
    }
}

fn denied(comment: Option<String>) -> QuestionReply {
    QuestionReply::Deny { comment }
}

fn title(request: &ApprovalRequest) -> String {
    let first = request.subject.lines().next().unwrap_or_default();
    let short: String = first.chars().take(120).collect();
    format!("{}: {short}", request.tool)
}

/// What can be answered: never wider than every finding permits, and after a reviewer advised
/// against it only this once or not.
fn options(widest: Scope, request: &ApprovalRequest) -> Vec<PermissionOption> {
    let reviewed = request.findings.iter().any(|finding| finding.key == "reviewing model");
    let mut options =
        vec![PermissionOption::new("allow_once", "Allow once", PermissionOptionKind::AllowOnce)];
    if widest >= Scope::Session {
        let name = "Allow for this session";
        options.push(PermissionOption::new(
            "allow_session",
            name,
            PermissionOptionKind::AllowAlways,
        ));
    }
    if widest >= Scope::Always {
        let name = "Always allow";
        options.push(PermissionOption::new(
            "allow_always",
            name,
            PermissionOptionKind::AllowAlways,
        ));
    }
    options.push(PermissionOption::new("deny", "Deny", PermissionOptionKind::RejectOnce));
    if !reviewed {
        let name = "Deny for this session";
        options.push(PermissionOption::new(
            "deny_always",
            name,
            PermissionOptionKind::RejectAlways,
        ));
    }
    options
}
