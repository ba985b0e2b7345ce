//! `/kanban` and `/api/boards`: the boards of this home, to look at. The page holds nothing; it asks
//! for a key and reads the same endpoints as everybody.

use http::StatusCode;

use crate::answer;
use crate::error::ApiError;
use crate::routes::Handled;
use crate::server::Call;

const PAGE: &str = include_str!("boards/page.html");
/// The page talks to this server and to nobody else.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(crate) fn page(_: Call) -> Handled {
    Box::pin(async {
        let page = answer::plain(StatusCode::OK, "text/html; charset=utf-8", PAGE);
        let page = answer::with_header(page, "content-security-policy", POLICY);
        Ok(answer::with_header(page, "cache-control", "no-store"))
    })
}

pub(crate) fn list(call: Call) -> Handled {
    Box::pin(async move { shown(call.server.host.boards(None).await) })
}

pub(crate) fn one(call: Call) -> Handled {
    Box::pin(async move {
        let board = call.place(0).to_owned();
        shown(call.server.host.boards(Some(&board)).await)
    })
}

fn shown(told: Result<serde_json::Value, String>) -> Result<answer::Answer, ApiError> {
    match told {
        Ok(value) => Ok(answer::json(StatusCode::OK, &value)),
        Err(why) => Err(ApiError::new(StatusCode::NOT_FOUND, "not_found", why)),
    }
}
