//! Looking at a page otherwise: its pictures, a picture of it, its console, a script's value.

use std::time::Duration;

use base64::Engine as _;
use futures::future::join_all;
use serde_json::{Map, Value, json};

use crate::error::BrowserError;
use crate::events::{cut, page_error, text};
use crate::paint::{Label, paint};
use crate::session::{ActiveTab, Session};
use crate::snapshot;

const IMAGES_MAX: usize = 100;
const RESULT_CHARS: usize = 20_000;
const EVALUATE_WAIT: Duration = Duration::from_secs(10);
const LONG_SIDE: f64 = 1568.0;
const PNG_BYTES_MAX: usize = 4 << 20;
const LABELS_MAX: usize = 200;

/// Words that reach what a page keeps of its user; refused where scripts are restricted.
const PRIVATE_WORDS: [&str; 7] = [
    "cookie",
    "localstorage",
    "sessionstorage",
    "indexeddb",
    "clipboard",
    "credentials",
    "password",
];

/// The pictures of the page with their addresses.
pub(crate) async fn images(session: &Session) -> Result<Map<String, Value>, BrowserError> {
    const CODE: &str = "Array.from(document.images).filter(i=>{const s=i.currentSrc||i.src;
      return s&&!s.startsWith('data:')&&(i.width>=3||i.naturalWidth>=3)}).slice(0,100).map(i=>{
      const r=i.getBoundingClientRect();
      return {src:i.currentSrc||i.src,alt:i.alt,width:i.naturalWidth||i.width,height:i.naturalHeight||i.height,
        visible:r.width>0&&r.height>0&&getComputedStyle(i).visibility!=='hidden'}})";
    let tab = session.active()?;
    let world = json!({ "frameId": tab.target, "worldName": "petasos" });
    let world = session.call(&tab.cdp, "Page.createIsolatedWorld", world).await?;
    let params = json!({ "expression": CODE, "returnByValue": true, "silent": true,
        "contextId": world["executionContextId"] });
    let answer = session.call(&tab.cdp, "Runtime.evaluate", params).await?;
    let mut images = answer["result"]["value"].as_array().cloned().unwrap_or_default();
    images.truncate(IMAGES_MAX);
    let mut map = Map::new();
    map.insert("count".to_owned(), images.len().into());
    map.insert("images".to_owned(), images.into());
    Ok(map)
}

/// A picture of what is visible, kept as a file. With `annotate` the numbers of the references are
/// painted onto it, and it is told where they are.
pub(crate) async fn picture(
    session: &Session,
    annotate: bool,
) -> Result<Map<String, Value>, BrowserError> {
    let tab = session.active()?;
    let view = session.call(&tab.cdp, "Page.getLayoutMetrics", json!({})).await?;
    let side = |key: &str| view["cssVisualViewport"][key].as_f64().unwrap_or(1000.0);
    let scale = (LONG_SIDE / side("clientWidth").max(side("clientHeight"))).min(1.0);
    let clip = json!({ "x": side("pageX"), "y": side("pageY"), "width": side("clientWidth"),
        "height": side("clientHeight"), "scale": scale });
    let labels = if annotate { Some(places(session, &tab).await?) } else { None };
    let shot = |format: &str| json!({ "format": format, "clip": clip, "quality": if format == "jpeg" { json!(80) } else { Value::Null } });
    let mut params = shot("png");
    if let Some(object) = params.as_object_mut() {
        object.remove("quality");
    }
    let mut answer = session.call(&tab.cdp, "Page.captureScreenshot", params).await;
    let mut ending = "png";
    if answer.as_ref().is_ok_and(|png| text(&png["data"]).len() / 4 * 3 > PNG_BYTES_MAX) {
        answer = session.call(&tab.cdp, "Page.captureScreenshot", shot("jpeg")).await;
        ending = "jpeg";
    }
    let answer = answer?;
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(text(&answer["data"]))
        .map_err(|error| BrowserError::new("upstream", format!("no picture: {error}")))?;
    let (bytes, labels) = match labels {
        None => (bytes, None),
        Some(labels) => {
            let (painted, told) = painted(bytes, &labels, scale).await;
            ending = if painted.starts_with(b"\x89PNG") { "png" } else { ending };
            (painted, Some(told))
        }
    };
    let path = store(session, &bytes, ending)?;
    let data = base64::engine::general_purpose::STANDARD.encode(&bytes);
    let mut map = Map::new();
    map.insert("screenshot_path".to_owned(), path.display().to_string().into());
    map.insert("data_url".to_owned(), format!("data:image/{ending};base64,{data}").into());
    if let Some(labels) = labels {
        map.insert("labels".to_owned(), labels);
    }
    Ok(map)
}

/// An element with a reference, where it is in the viewport.
struct Place {
    number: u32,
    role: String,
    sides: [f64; 4],
}

/// The picture with the numbers of the references on it, and where they are.
async fn painted(picture: Vec<u8>, places: &[Place], scale: f64) -> (Vec<u8>, Value) {
    let labels: Vec<Label> = places
        .iter()
        .map(|place| {
            let [x, y, width, height] = place.sides.map(|side| side * scale);
            Label { number: place.number, x, y, width, height }
        })
        .collect();
    let told: Vec<Value> = places
        .iter()
        .map(|place| {
            let [x, y, width, height] = place.sides.map(f64::round);
            json!({ "ref": format!("@e{}", place.number), "role": place.role,
                "x": x, "y": y, "width": width, "height": height })
        })
        .collect();
    let bare = picture.clone();
    let work = tokio::task::spawn_blocking(move || paint(&picture, &labels));
    let done = work.await.ok().flatten();
    (done.unwrap_or(bare), told.into())
}

/// Where the elements with references are in the viewport, those of the page's own process.
async fn places(session: &Session, tab: &ActiveTab) -> Result<Vec<Place>, BrowserError> {
    let nodes = snapshot::look(session).await?;
    let mut found = Vec::new();
    snapshot::visit(&nodes, &mut |node| {
        if let (Some(number), Some(key)) = (node.reference, &node.key)
            && key.cdp == tab.cdp
            && !node.is_unseen
        {
            found.push((number, node.role.clone(), key.backend));
        }
    });
    let asked = found.into_iter().map(|(number, role, backend)| async move {
        let params = json!({ "backendNodeId": backend });
        let quads = session.call(&tab.cdp, "DOM.getContentQuads", params).await.ok()?;
        let corners: Vec<f64> =
            quads["quads"][0].as_array()?.iter().filter_map(Value::as_f64).collect();
        let [left, top, _, _, right, bottom, ..] = corners.as_slice() else { return None };
        let sides = [*left, *top, right - left, bottom - top];
        (sides[2] > 1.0 && sides[3] > 1.0).then_some(Place { number, role, sides })
    });
    let mut places: Vec<Place> = join_all(asked).await.into_iter().flatten().collect();
    places.truncate(LABELS_MAX);
    Ok(places)
}

fn store(
    session: &Session,
    bytes: &[u8],
    ending: &str,
) -> Result<std::path::PathBuf, BrowserError> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let failed =
        |what: String| BrowserError::new("upstream", format!("the picture was not kept: {what}"));
    let random = getrandom::u32().map_err(|error| failed(error.to_string()))?;
    let path = session.folder.join(format!("screenshot_{random:08x}.{ending}"));
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    file.and_then(|mut file| file.write_all(bytes)).map_err(|error| failed(error.to_string()))?;
    Ok(path)
}

/// What the page logged so far.
pub(crate) fn console(session: &Session, clear: bool) -> Map<String, Value> {
    let mut state = session.state();
    let mut map = Map::new();
    let list = |ring: &crate::session::Ring| ring.kept.iter().cloned().collect::<Vec<_>>();
    map.insert("console_messages".to_owned(), list(&state.console).into());
    map.insert("js_errors".to_owned(), list(&state.errors).into());
    map.insert("total_messages".to_owned(), state.console.total.into());
    map.insert("total_errors".to_owned(), state.errors.total.into());
    if clear {
        state.console = crate::session::Ring::default();
        state.errors = crate::session::Ring::default();
    }
    map
}

/// The value of an expression in the page.
pub(crate) async fn evaluate(
    session: &Session,
    code: &str,
) -> Result<Map<String, Value>, BrowserError> {
    let tab = session.active()?;
    let is_restricted = session.options.restrict_evaluate;
    let folded = code.to_ascii_lowercase();
    if is_restricted && let Some(word) = PRIVATE_WORDS.iter().find(|word| folded.contains(**word)) {
        let text = format!("browser.restrict_evaluate refuses expressions with `{word}`");
        return Err(BrowserError::new("blocked_policy", text));
    }
    let params = json!({ "expression": code, "returnByValue": true, "awaitPromise": !is_restricted,
        "userGesture": false, "timeout": 10_000,
        "throwOnSideEffect": is_restricted });
    let answer = session.wire.call(Some(&tab.cdp), "Runtime.evaluate", params, EVALUATE_WAIT).await;
    let answer = match answer {
        Err(crate::wire::WireError::Timeout(_)) => {
            session.wire.post(Some(&tab.cdp), "Runtime.terminateExecution", &json!({}));
            return Err(BrowserError::new("timeout", "the expression did not end within 10 s"));
        }
        other => other?,
    };
    if let Some(problem) = answer.get("exceptionDetails") {
        let told = page_error(problem);
        let message = text(&told["message"]);
        if is_restricted && message.contains("side-effect") {
            let text = "browser.restrict_evaluate lets expressions only read";
            return Err(BrowserError::new("blocked_policy", text));
        }
        return Err(BrowserError::new("upstream", format!("the page threw: {message}")));
    }
    let result = &answer["result"];
    let value = match result.get("value") {
        Some(value) => value.clone(),
        None => result["description"].clone(),
    };
    let long = value.to_string();
    let mut map = Map::new();
    let is_long = long.chars().count() > RESULT_CHARS;
    map.insert("result".to_owned(), if is_long { cut(&long, RESULT_CHARS).into() } else { value });
    map.insert("result_type".to_owned(), result["type"].clone());
    Ok(map)
}
