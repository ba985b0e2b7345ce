//! ntfy: a topic that the person listens to on their phone.

use petasos_contract::Settings;
use petasos_net::{Method, Scheme};
use serde_json::json;

use crate::fault::VendorError;
use crate::service::{Sent, Service, variable};

/// What is said when there is no topic.
pub const NEEDS: &str =
    "needs NTFY_TOPIC or notify.topic (and NTFY_SERVER if it is not https://ntfy.sh)";

const USUAL_SERVER: &str = "https://ntfy.sh";

/// A topic that can be written to.
#[derive(Debug)]
pub struct Topic {
    service: Service,
    topic: String,
}

impl Topic {
    /// The topic of a snapshot.
    pub fn open(settings: &Settings) -> Result<Self, VendorError> {
        let chat = variable(settings, "NTFY_TOPIC").map(|topic| topic.expose().trim().to_owned());
        let own = settings.text("notify.topic").map(|topic| topic.trim().to_owned());
        let Some(topic) = own.filter(|topic| !topic.is_empty()).or(chat) else {
            return Err(VendorError::setup(NEEDS, &["NTFY_TOPIC"]));
        };
        if !topic.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')) {
            let text = "the ntfy topic holds other characters than letters, digits, `-` and `_`";
            return Err(VendorError::new("missing_setup", text));
        }
        let server = variable(settings, "NTFY_SERVER");
        let server = server.as_ref().map_or(USUAL_SERVER, |server| server.expose().trim());
        let service = Service::new("ntfy", server, settings)?;
        let service = match variable(settings, "NTFY_TOKEN") {
            Some(token) => service.with_key(token, Scheme::Bearer),
            None => service,
        };
        Ok(Self { service, topic })
    }

    /// The host that it is on.
    pub fn host(&self) -> &str {
        self.service.host()
    }

    /// Publishes a message.
    pub async fn publish(
        &self,
        title: &str,
        message: &str,
        urgency: &str,
    ) -> Result<(), VendorError> {
        let priority = match urgency {
            "low" => 2,
            "critical" => 5,
            _ => 3,
        };
        // The tag keeps the chat adapter from answering us.
        let body = json!({
            "topic": self.topic, "title": title, "message": message, "priority": priority,
            "tags": ["petasos"],
        });
        self.service.json(Method::POST, "/", Sent::json(&body)).await.map(drop)
    }
}
