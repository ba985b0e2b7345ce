//! What a server has, page by page, with a bound on the pages and a deadline on each.

use std::time::{Duration, Instant};

use petasos_contract::wait;
use rmcp::RoleClient;
use rmcp::model::{PaginatedRequestParams, ToolAnnotations};
use rmcp::service::{Peer, ServiceError};
use serde_json::{Value, json};

use super::register::{Described, Hints};

/// A server that never stops paging is cut here.
const PAGES_MAX: usize = 50;
/// How long a page may take.
const PAGE: Duration = Duration::from_secs(30);

fn page(cursor: Option<String>) -> Option<PaginatedRequestParams> {
    cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)))
}

async fn in_time<T>(
    asked: impl Future<Output = Result<T, ServiceError>>,
) -> Result<T, ServiceError> {
    let waited = wait::until(Instant::now() + PAGE, "a page of an MCP server", asked).await;
    waited.unwrap_or(Err(ServiceError::Timeout { timeout: PAGE }))
}

/// A hint that is not given promises nothing.
fn hints(annotations: Option<&ToolAnnotations>) -> Hints {
    let says =
        |hint: fn(&ToolAnnotations) -> Option<bool>| annotations.and_then(hint) == Some(true);
    Hints {
        read_only: says(|annotations| annotations.read_only_hint),
        idempotent: says(|annotations| annotations.idempotent_hint),
    }
}

/// Its tools.
pub(super) async fn tools(peer: &Peer<RoleClient>) -> Result<Vec<Described>, ServiceError> {
    let (mut tools, mut cursor) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let listed = in_time(peer.list_tools(page(cursor))).await?;
        tools.extend(listed.tools.into_iter().map(|tool| Described {
            hints: hints(tool.annotations.as_ref()),
            name: tool.name.into_owned(),
            description: tool.description.map(std::borrow::Cow::into_owned).unwrap_or_default(),
            schema: (*tool.input_schema).clone(),
        }));
        cursor = listed.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    Ok(tools)
}

/// Its resources, with the templates of more.
pub(super) async fn resources(peer: &Peer<RoleClient>) -> Result<Vec<Value>, ServiceError> {
    let (mut items, mut cursor) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let listed = in_time(peer.list_resources(page(cursor))).await?;
        items.extend(listed.resources.iter().map(|resource| {
            json!({ "uri": resource.uri, "name": resource.name, "description": resource.description, "mimeType": resource.mime_type })
        }));
        cursor = listed.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    // Templates are an extra that many servers do not have.
    if let Ok(listed) = in_time(peer.list_resource_templates(None)).await {
        items.extend(listed.resource_templates.iter().map(|template| {
            json!({ "uriTemplate": template.uri_template, "name": template.name, "description": template.description })
        }));
    }
    Ok(items)
}

/// Its prompts.
pub(super) async fn prompts(peer: &Peer<RoleClient>) -> Result<Vec<Value>, ServiceError> {
    let (mut items, mut cursor) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let listed = in_time(peer.list_prompts(page(cursor))).await?;
        items.extend(listed.prompts.iter().map(|prompt| {
            json!({ "name": prompt.name, "description": prompt.description, "arguments": prompt.arguments })
        }));
        cursor = listed.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    Ok(items)
}
