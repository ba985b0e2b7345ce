//! The reviewing model: one short question to whoever serves the role `approval`.

use std::sync::Arc;

use petasos_approval::smart::{Question, Reviewer};
use petasos_contract::message::Message;
use petasos_contract::model::{Model as _, Prompt, Role};
use petasos_contract::{BoxFuture, CallContext};
use petasos_providers::client::Client;

/// Asks the configured model.
#[derive(Debug)]
pub(crate) struct ModelReviewer {
    client: Arc<Client>,
}

impl ModelReviewer {
    /// Asks through this client.
    pub(crate) fn new(client: Arc<Client>) -> Self {
        Self { client }
    }
}

impl Reviewer for ModelReviewer {
    fn review<'a>(
        &'a self,
        question: &'a Question,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let prompt = Prompt {
                system: question.instructions.to_owned(),
                messages: vec![Message::user(question.document.as_str())],
                max_tokens: Some(question.tokens_max),
                temperature: Some(0.0),
                ..Prompt::default()
            };
            let reply = self.client.ask(&prompt, Role::Approval, cx).await;
            let reply = reply.map_err(|error| error.line)?;
            Ok(reply.message.content.unwrap_or_default())
        })
    }
}
