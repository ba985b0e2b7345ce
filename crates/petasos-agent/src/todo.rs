//! The list of tasks of one agent, in memory; a resumed conversation finds it in its own results.

use petasos_contract::message::Message;
use petasos_store::LoadedRow;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const ITEMS_MAX: usize = 256;
const CONTENT_CHARS_MAX: usize = 4000;
/// A longer stored result is not read back.
const RECALL_CHARS_MAX: usize = 512_000;

/// How far a task is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// Not begun.
    #[default]
    Pending,
    /// Under way.
    InProgress,
    /// Done.
    Completed,
    /// Given up.
    Cancelled,
}

impl Progress {
    fn read(word: &str) -> Self {
        match word {
            "in_progress" => Self::InProgress,
            "completed" => Self::Completed,
            "cancelled" => Self::Cancelled,
            _ => Self::Pending,
        }
    }
}

/// One task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Its name in the list.
    pub id: String,
    /// What is to be done.
    pub content: String,
    /// How far it is.
    pub status: Progress,
}

/// A task as a model writes it: anything may be missing.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Given {
    id: Value,
    content: Option<String>,
    status: Option<String>,
}

/// The list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TodoList {
    items: Vec<Item>,
}

impl TodoList {
    /// Replaces the list, or updates it by identity.
    pub fn write(&mut self, given: Vec<Given>, merge: bool) {
        let mut next = if merge { std::mem::take(&mut self.items) } else { Vec::new() };
        for one in given {
            let id = match &one.id {
                Value::String(id) if !id.trim().is_empty() => id.trim().to_owned(),
                Value::Number(id) => id.to_string(),
                _ => "?".to_owned(),
            };
            let content: Option<String> =
                one.content.map(|text| text.trim().chars().take(CONTENT_CHARS_MAX).collect());
            let status = one.status.as_deref().map(Progress::read);
            match next.iter().position(|item| item.id == id) {
                Some(at) if merge => {
                    let item = &mut next[at];
                    item.content = content.unwrap_or_else(|| item.content.clone());
                    item.status = status.unwrap_or(item.status);
                }
                found => {
                    if let Some(at) = found {
                        next.remove(at);
                    }
                    let content = content.unwrap_or_default();
                    next.push(Item { id, content, status: status.unwrap_or_default() });
                }
            }
        }
        next.truncate(ITEMS_MAX);
        self.items = next;
    }

    /// The list and its numbers, as the model reads it.
    pub fn to_json(&self) -> Value {
        let count = |status| self.items.iter().filter(|item| item.status == status).count();
        json!({
            "todos": self.items,
            "summary": {
                "total": self.items.len(),
                "pending": count(Progress::Pending),
                "in_progress": count(Progress::InProgress),
                "completed": count(Progress::Completed),
                "cancelled": count(Progress::Cancelled),
            }
        })
    }

    /// What is still to be done, for a conversation that was summarised.
    pub fn open(&self) -> Option<String> {
        let open = |item: &&Item| matches!(item.status, Progress::Pending | Progress::InProgress);
        let line = |item: &Item| {
            let mark = if item.status == Progress::InProgress { "in progress" } else { "pending" };
            format!("- {} ({mark}): {}", item.id, item.content)
        };
        let lines: Vec<String> = self.items.iter().filter(open).map(line).collect();
        (!lines.is_empty()).then(|| format!("Tasks still open:\n{}", lines.join("\n")))
    }

    /// Finds the list in the last result of `todo` that has one. Whether there was one.
    pub fn recall(&mut self, rows: &[LoadedRow]) -> bool {
        let given = rows.iter().rev().find_map(|row| match &row.stored.message {
            Message::Tool(result) if result.name.as_ref().is_some_and(|name| *name == "todo") => {
                listed(&result.content.text())
            }
            _ => None,
        });
        let found = given.is_some();
        if let Some(given) = given {
            self.write(given, false);
        }
        found
    }
}

/// The list in a result; words of the user may follow its JSON.
fn listed(text: &str) -> Option<Vec<Given>> {
    if text.len() > RECALL_CHARS_MAX {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let result = values.next()?.ok()?;
    serde_json::from_value(result.get("todos")?.clone()).ok()
}
