//! Typing, by the kind of field; what arrived is read back, because fields cut, mask and refuse.

use std::path::{Path, PathBuf};

use petasos_contract::CallContext;
use serde_json::{Map, Value, json};

use crate::click::outcome;
use crate::element::Element;
use crate::error::BrowserError;
use crate::events::text;
use crate::session::Session;
use crate::{keys, settle};

/// What is typed, and where.
#[derive(Debug, Clone, Default)]
pub struct TypeAsk {
    /// The field.
    pub reference: String,
    /// The text; for a file field, paths, one a line.
    pub text: String,
    /// Whether Enter follows.
    pub submit: bool,
    /// Whether what is there stays.
    pub append: bool,
}

/// Types and reads back.
pub(crate) async fn type_text(
    session: &Session,
    ask: &TypeAsk,
    cx: &CallContext,
) -> Result<Map<String, Value>, BrowserError> {
    let element = Element::find(session, &ask.reference).await?;
    let kind = element.ask(session, KIND, &[]).await?;
    let kind = text(&kind).to_owned();
    if kind == "file" {
        return upload(session, &element, &ask.text, cx).await;
    }
    let (typed, is_secret) = secret(session, &element, &ask.text, cx)?;
    element.actionable(session, true).await?;
    session.state().typed_last = Some(element.number);
    let before = settle::before(session, &element.tab);
    match kind.as_str() {
        "set" | "select" => set(session, &element, &typed).await?,
        _ => insert(session, &element, &typed, ask.append).await?,
    }
    if ask.submit {
        send_key(session, &element.record.key.cdp, "Enter").await?;
    }
    let is_password = kind == "password" || is_secret;
    let value = if is_password {
        Value::Null
    } else {
        element.ask(session, VALUE, &[]).await.unwrap_or_default()
    };
    let mut answer = outcome(session, &element.tab, before).await?;
    let shown = if is_password { "•••".to_owned() } else { ask.text.clone() };
    answer.insert("typed".to_owned(), shown.into());
    answer.insert("element".to_owned(), format!("@e{}", element.number).into());
    let arrived = text(&value);
    let wanted = normal(&typed);
    if value.is_string() && !ask.submit && !ask.append && normal(arrived) != wanted {
        if arrived.is_empty() && !wanted.is_empty() {
            let text = format!("@e{} took none of the text", element.number);
            return Err(
                BrowserError::new("not_actionable", text).with("reason", "refused the text")
            );
        }
        answer.insert("value_now".to_owned(), arrived.into());
        let note =
            "the field holds something else than what was typed (a limit, a mask or a format)";
        answer.insert("note".to_owned(), note.into());
    }
    Ok(answer)
}

fn normal(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `{{secret:NAME}}` becomes its value, on its own hosts only; the model never sees it.
fn secret(
    session: &Session,
    element: &Element,
    given: &str,
    cx: &CallContext,
) -> Result<(String, bool), BrowserError> {
    let Some(name) =
        given.trim().strip_prefix("{{secret:").and_then(|rest| rest.strip_suffix("}}"))
    else {
        return Ok((given.to_owned(), false));
    };
    let refuse =
        |what: &str| BrowserError::new("blocked_policy", format!("the secret `{name}` {what}"));
    let Some(entry) = session.options.secrets.get(name) else {
        return Err(refuse("is not in browser.secrets"));
    };
    let url = {
        let mut state = session.state();
        let frame = &element.record.key.frame;
        state
            .tab(&element.tab.id)
            .and_then(|tab| tab.frames.get(frame).map(|frame| frame.url.clone()))
    };
    let host =
        url.and_then(|url| petasos_net::Url::parse(&url).ok()?.host_str().map(str::to_owned));
    if !host.is_some_and(|host| entry.hosts.contains(&host)) {
        return Err(refuse("may not be typed on this host"));
    }
    let value = cx.settings.variable(&entry.env).map(|variable| variable.value.expose().to_owned());
    value.map(|value| (value, true)).ok_or_else(|| refuse("has no value"))
}

/// Puts text into a field that is typed into.
async fn insert(
    session: &Session,
    element: &Element,
    typed: &str,
    append: bool,
) -> Result<(), BrowserError> {
    let focused = element.ask(session, FOCUS, &[json!({ "value": append })]).await?;
    // Text goes to whatever has the focus: typing without it would change a neighbour.
    if focused != true {
        let text = format!("@e{} does not take the focus", element.number);
        return Err(BrowserError::new("not_actionable", text).with("reason", "no focus"));
    }
    let cdp = &element.record.key.cdp;
    if typed.is_empty() {
        return send_key(session, cdp, "Delete").await;
    }
    session.call(cdp, "Input.insertText", json!({ "text": typed })).await?;
    Ok(())
}

/// Sets a field that cannot be typed into: dates, ranges, colours, lists.
async fn set(session: &Session, element: &Element, typed: &str) -> Result<(), BrowserError> {
    let done = element.ask(session, SET, &[json!({ "value": typed })]).await?;
    match text(&done["problem"]) {
        "" => Ok(()),
        problem => {
            let text = format!("@e{}: {problem}", element.number);
            let error = BrowserError::new("bad_argument", text);
            let options = done["options"].clone();
            Err(if options.is_array() { error.with("candidates", options) } else { error })
        }
    }
}

/// Chooses an option of a list.
pub(crate) async fn choose_option(
    session: &Session,
    element: &Element,
) -> Result<Map<String, Value>, BrowserError> {
    let before = settle::before(session, &element.tab);
    let done = element.ask(session, CHOOSE, &[]).await?;
    if done != true {
        let text = format!("@e{} cannot be chosen", element.number);
        return Err(BrowserError::new("not_actionable", text).with("reason", "disabled"));
    }
    let mut answer = outcome(session, &element.tab, before).await?;
    answer.insert("clicked".to_owned(), format!("@e{}", element.number).into());
    Ok(answer)
}

/// Gives files to a file field.
async fn upload(
    session: &Session,
    element: &Element,
    given: &str,
    cx: &CallContext,
) -> Result<Map<String, Value>, BrowserError> {
    let paths: Vec<PathBuf> = given
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| cx.workspace.join(Path::new(line)))
        .collect();
    if let Some(missing) = paths.iter().find(|path| !path.is_file()) {
        let text = format!("there is no file `{}`", missing.display());
        return Err(BrowserError::new("not_found", text));
    }
    let before = settle::before(session, &element.tab);
    let params = json!({ "files": paths, "backendNodeId": element.record.key.backend });
    session.call(&element.record.key.cdp, "DOM.setFileInputFiles", params).await?;
    let mut answer = outcome(session, &element.tab, before).await?;
    answer.insert("typed".to_owned(), given.into());
    answer.insert("element".to_owned(), format!("@e{}", element.number).into());
    Ok(answer)
}

/// Presses a key where the focus is.
pub(crate) async fn press(
    session: &Session,
    key: &str,
) -> Result<Map<String, Value>, BrowserError> {
    let tab = session.active()?;
    if keys::events(key).is_none() {
        let text = format!("`{key}` is no key; use names such as Enter, ArrowDown or Control+A");
        return Err(BrowserError::new("bad_argument", text));
    }
    let before = settle::before(session, &tab);
    send_key(session, &tab.cdp, key).await?;
    let mut answer = outcome(session, &tab, before).await?;
    answer.insert("pressed".to_owned(), key.into());
    Ok(answer)
}

async fn send_key(session: &Session, cdp: &str, key: &str) -> Result<(), BrowserError> {
    let Some((down, up)) = keys::events(key) else { return Ok(()) };
    session.call(cdp, "Input.dispatchKeyEvent", down).await?;
    session.call(cdp, "Input.dispatchKeyEvent", up).await?;
    Ok(())
}

/// How a field takes text.
const KIND: &str = "function(){
  const t=this.tagName;
  if(t==='SELECT') return 'select';
  if(t==='INPUT'){
    const k=this.type;
    if(k==='file') return 'file';
    if(k==='password') return 'password';
    if(['date','time','datetime-local','month','week','range','color'].includes(k)) return 'set';
    return 'text';
  }
  return this.isContentEditable?'editor':'text';
}";

/// Focuses and selects what is there, or its end; says whether it has the focus.
const FOCUS: &str = "function(append){
  this.focus();
  if(this.isContentEditable){
    const s=getSelection(), r=document.createRange();
    r.selectNodeContents(this); if(append) r.collapse(false);
    s.removeAllRanges(); s.addRange(r);
  } else if(this.setSelectionRange||this.select){
    try{ if(append){const n=this.value.length;this.setSelectionRange(n,n)} else this.select(); }
    catch{ if(!append&&this.select) this.select(); }
  }
  const active=this.getRootNode().activeElement;
  return active===this||(this.isContentEditable&&!!active&&active.contains(this));
}";

const VALUE: &str = "function(){
  if(this.tagName==='SELECT') return Array.from(this.selectedOptions).map(o=>o.label).join(', ');
  return 'value' in this?String(this.value):this.innerText;
}";

/// The native setter, then the events that a person would cause.
const SET: &str = "function(text){
  const tell=()=>{for(const n of ['input','change'])this.dispatchEvent(new Event(n,{bubbles:true,composed:true}))};
  if(this.tagName==='SELECT'){
    const options=Array.from(this.options), fold=s=>s.trim().toLowerCase();
    let hit=options.filter(o=>fold(o.label)===fold(text));
    if(!hit.length) hit=options.filter(o=>o.value===text);
    if(!hit.length) hit=options.filter(o=>fold(o.label).includes(fold(text)));
    if(hit.length!==1) return {problem:hit.length?'several options fit':'no option fits',options:options.slice(0,30).map(o=>o.label)};
    if(hit[0].disabled) return {problem:'the option is disabled'};
    this.focus(); this.value=hit[0].value; hit[0].selected=true; tell(); return {};
  }
  const proto=Object.getPrototypeOf(this), old=this.value;
  Object.getOwnPropertyDescriptor(proto,'value').set.call(this,text);
  if(this.value===''&&text!==''){
    Object.getOwnPropertyDescriptor(proto,'value').set.call(this,old);
    const forms={date:'2026-01-31',time:'13:30','datetime-local':'2026-01-31T13:30',month:'2026-01',week:'2026-W05',color:'#aabbcc'};
    return {problem:'the field wants a value such as '+(forms[this.type]||'a number')};
  }
  this.focus(); tell(); return {};
}";

const CHOOSE: &str = "function(){
  const list=this.closest('select'); if(!list||this.disabled||list.disabled) return false;
  if(list.multiple) this.selected=!this.selected; else {list.value=this.value; this.selected=true;}
  for(const n of ['input','change'])list.dispatchEvent(new Event(n,{bubbles:true,composed:true}));
  return true;
}";
