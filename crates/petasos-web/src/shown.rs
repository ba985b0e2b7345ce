//! A page as the model is told of it.

use std::sync::Arc;

use petasos_contract::CallContext;
use serde_json::{Map, Value, json};

use crate::cut;
use crate::extract::Page;
use crate::fault::WebError;
use crate::sources::{Cited, Sources};

/// One result, in the order of the addresses.
pub(crate) fn shown(
    url: &str,
    page: Result<Page, WebError>,
    chars: usize,
    (sources, cx): (&Arc<Sources>, &CallContext),
) -> Value {
    let page = match page {
        Ok(page) => page,
        Err(error) => {
            let mut told = Map::new();
            told.insert("url".to_owned(), url.into());
            told.insert("title".to_owned(), Value::Null);
            told.insert("content".to_owned(), "".into());
            told.insert("error".to_owned(), error.message.into());
            told.insert("error_type".to_owned(), error.kind.into());
            told.extend(error.extra);
            return Value::Object(told);
        }
    };
    let kept = page.kept;
    let cut = cut::cut(&kept.text, chars, page.stored.as_deref());
    let mut cited = Cited::new(&kept.final_url, kept.title.clone(), &kept.text);
    cited.stored.clone_from(&page.stored);
    let number = sources.number(cited, &cx.session, &cx.settings);
    let provider = kept.provider.as_deref().unwrap_or("native");
    let mut told = json!({ "url": url, "title": kept.title, "content": cut.text, "error": null,
        "source_id": number, "provider": provider });
    let Some(object) = told.as_object_mut() else { return told };
    if kept.final_url != url {
        object.insert("final_url".to_owned(), kept.final_url.into());
    }
    object.insert("content_type".to_owned(), kept.content_type.into());
    for (key, value) in
        [("published", kept.published), ("byline", kept.byline), ("lang", kept.lang)]
    {
        if let Some(value) = value {
            object.insert(key.to_owned(), value.into());
        }
    }
    if page.is_cached {
        object.insert("cached".to_owned(), true.into());
    }
    if kept.rendered {
        object.insert("rendered".to_owned(), true.into());
    }
    if kept.downgraded {
        object.insert("downgraded".to_owned(), true.into());
    }
    if let Some(next_line) = cut.next_line {
        object.insert("chars_total".to_owned(), kept.text.chars().count().into());
        object.insert("next_line".to_owned(), next_line.into());
        object.insert("stored_path".to_owned(), page.stored.into());
    }
    if !page.warnings.is_empty() {
        object.insert("warnings".to_owned(), json!(page.warnings));
    }
    told
}
