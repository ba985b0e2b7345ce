//! Asking a model: the one trait, and what a prompt carries. Replies are in `reply`.
//!
//! Implemented by the provider client and by scripted models. A [`Model`] owns everything between
//! a prompt and a reply (retries, refreshed credentials, fallback); what it did is told in
//! [`Reply::path`] and [`ModelError::path`], so that nobody has to guess.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::BoxFuture;
use crate::context::CallContext;
use crate::id::ToolName;
use crate::message::Message;
pub use crate::reply::{
    Cost, Delta, DeltaSink, DeltaSubscriber, Finish, ModelError, Reason, Reply, Served, Step, Usage,
};

/// Answers prompts.
pub trait Model: Send + Sync {
    /// Gives one reply, or says why there is none. Ends with the context's token or deadline.
    fn ask<'a>(
        &'a self,
        prompt: &'a Prompt,
        role: Role,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Reply, ModelError>>;

    /// How many tokens the first candidate for this prompt reads, as far as that is known without
    /// a request.
    fn window<'a>(
        &'a self,
        _prompt: &'a Prompt,
        _role: Role,
        _cx: &'a CallContext,
    ) -> BoxFuture<'a, Option<u64>> {
        Box::pin(std::future::ready(None))
    }

    /// Who would look at a picture, as far as that is known without a request.
    fn sight<'a>(&'a self, _cx: &'a CallContext) -> BoxFuture<'a, Sight> {
        Box::pin(std::future::ready(Sight::Own))
    }
}

/// Who looks at the pictures of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// The model of the conversation.
    Own,
    /// Another model, asked as [`Role::Vision`].
    Another,
    /// Nobody.
    Nobody,
}

/// What the model is asked for. The main conversation, or one of the side tasks, each of which
/// may have its own provider and is billed by its own name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Role {
    /// The conversation itself.
    Main,
    /// A model working for another one.
    Subagent,
    /// Looking at images.
    Vision,
    /// Looking at films.
    Video,
    /// Reading web pages.
    WebExtract,
    /// Summarising a long conversation.
    Compression,
    /// Searching old conversations.
    SessionSearch,
    /// Writing memories down.
    FlushMemories,
    /// Finding skills.
    SkillsHub,
    /// Answering an MCP server's request for a completion.
    Mcp,
    /// Reviewing a command.
    Approval,
    /// Naming a conversation.
    TitleGeneration,
    /// Rewriting a memory query.
    MemoryQueryRewrite,
    /// Marking text for speech.
    TtsAudioTags,
    /// Specifying a vague task.
    TriageSpecifier,
    /// Splitting a task.
    KanbanDecomposer,
    /// Describing a profile.
    ProfileDescriber,
    /// Judging whether a goal is met.
    GoalJudge,
    /// Watching something.
    Monitor,
    /// Reviewing work in the background.
    BackgroundReview,
    /// Tidying memories and skills.
    Curator,
    /// One of several opinions.
    MoaReference,
    /// The sum of several opinions.
    MoaAggregator,
}

/// How much thinking is wanted; absent in a prompt means the provider's own default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// None at all.
    Off,
    /// As little as the model can.
    Minimal,
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// Very much.
    Xhigh,
    /// As much as the model can.
    Max,
    /// More than that, where a provider has it.
    Ultra,
}

/// Which tool the model must use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// Any or none.
    #[default]
    Auto,
    /// Any, but one.
    Required,
    /// This one.
    Named(ToolName),
    /// None.
    Off,
}

/// How long a marked prefix stays cached at the provider.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CacheTtl {
    /// The provider's short default.
    #[default]
    #[serde(rename = "5m")]
    FiveMinutes,
    /// One hour.
    #[serde(rename = "1h")]
    OneHour,
}

/// A tool as the model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// The name on the wire.
    pub name: ToolName,
    /// What it does.
    pub description: String,
    /// JSON Schema of the arguments, in the canonical form.
    pub parameters: Value,
}

/// The shape an answer must have.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerSchema {
    /// A name for the schema.
    pub name: String,
    /// JSON Schema of the answer.
    pub schema: Value,
}

/// One question.
#[derive(Debug, Clone, Default)]
pub struct Prompt {
    /// The system prompt; empty means none.
    pub system: String,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// The tools offered, in a stable order.
    pub tools: Arc<[Definition]>,
    /// Which of them must be used.
    pub tool_choice: ToolChoice,
    /// Another model than the configured one.
    pub model: Option<String>,
    /// Another provider than the configured one.
    pub provider: Option<String>,
    /// The longest answer, in tokens.
    pub max_tokens: Option<u32>,
    /// How freely to choose words.
    pub temperature: Option<f32>,
    /// How much to think.
    pub effort: Option<Effort>,
    /// The shape the answer must have.
    pub answer: Option<AnswerSchema>,
    /// What else a client asked for, by the names of chat completions (`top_p`, `stop`, `seed`,
    /// `response_format`): each wire writes what it has a word for.
    pub extra: serde_json::Map<String, Value>,
    /// How long the prefix should stay cached.
    pub cache: CacheTtl,
    /// Where deltas are told while they arrive.
    pub deltas: DeltaSink,
}
