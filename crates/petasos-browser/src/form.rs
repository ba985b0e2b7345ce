//! Where a form goes and what people type into it that they keep to themselves. Policy judges an
//! action on it by that, before anything is sent.

use std::collections::HashMap;
use std::sync::Arc;

use petasos_net::Url;

/// A form as it is written in its document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FormInfo {
    /// Where it goes, as it is written.
    pub(crate) action: Option<String>,
    pub(crate) sensitive: Option<&'static str>,
}

/// An element in a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InForm {
    pub(crate) form: Arc<FormInfo>,
    /// Whether clicking it sends the form.
    pub(crate) submits: bool,
}

/// What sending a form would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// Who gets it.
    pub host: String,
    /// Whether that is another host than the page's.
    pub elsewhere: bool,
    /// `password`, `payment` or `file` where it has such a field.
    pub sensitive: Option<&'static str>,
}

impl Form {
    /// Resolves a form against its page.
    pub(crate) fn of(info: &FormInfo, page: &str) -> Option<Self> {
        let page = Url::parse(page).ok()?;
        let goes = page.join(info.action.as_deref().unwrap_or_default()).ok()?;
        let host = goes.host_str()?.to_owned();
        let elsewhere = page.host_str() != Some(host.as_str());
        Some(Self { host, elsewhere, sensitive: info.sensitive })
    }
}

/// What a field asks for that people keep to themselves.
pub(crate) fn sensitive(tag: &str, attributes: &HashMap<String, String>) -> Option<&'static str> {
    if tag != "INPUT" {
        return None;
    }
    let kind = attributes.get("type").map(|kind| kind.to_ascii_lowercase()).unwrap_or_default();
    let fills = attributes.get("autocomplete").map(String::as_str).unwrap_or_default();
    match kind.as_str() {
        "password" => Some("password"),
        "file" => Some("file"),
        _ if fills.split_whitespace().any(|word| word.starts_with("cc-")) => Some("payment"),
        _ => None,
    }
}

/// The forms of a document, shared by everything inside them: by row, given each row's parent.
pub(crate) fn forms(
    rows: &[(&str, &HashMap<String, String>)],
    parents: &[Option<usize>],
) -> Vec<Option<Arc<FormInfo>>> {
    let mut inside: Vec<Option<usize>> = Vec::with_capacity(rows.len());
    let mut found: HashMap<usize, FormInfo> = HashMap::new();
    for (at, (tag, attributes)) in rows.iter().enumerate() {
        let above = parents.get(at).copied().flatten();
        let form = if *tag == "FORM" {
            let action = attributes.get("action").cloned();
            found.insert(at, FormInfo { action, sensitive: None });
            Some(at)
        } else {
            // Parents come before their children.
            above.and_then(|above| inside.get(above).copied().flatten())
        };
        if let (Some(form), Some(what)) = (form, sensitive(tag, attributes))
            && let Some(form) = found.get_mut(&form)
        {
            form.sensitive = form.sensitive.or(Some(what));
        }
        inside.push(form);
    }
    let shared: HashMap<usize, Arc<FormInfo>> =
        found.into_iter().map(|(at, form)| (at, Arc::new(form))).collect();
    inside.into_iter().map(|form| form.and_then(|form| shared.get(&form).cloned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_says_where_it_goes_and_what_it_asks_for() {
        let of = |pairs: &[(&str, &str)]| -> HashMap<String, String> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let (page, login) = (of(&[]), of(&[("action", "https://other.example/in")]));
        let (secret, card) = (of(&[("type", "password")]), of(&[("autocomplete", "cc-number")]));
        let rows = [("BODY", &page), ("FORM", &login), ("INPUT", &secret), ("INPUT", &card)];
        let found = forms(&rows, &[None, Some(0), Some(1), Some(0)]);
        let form = Form::of(found[2].as_ref().unwrap(), "https://shop.example/x").unwrap();
        assert_eq!((form.host.as_str(), form.elsewhere), ("other.example", true));
        assert_eq!(form.sensitive, Some("password"));
        assert!(found[0].is_none() && found[3].is_none());
        let own = Form::of(&FormInfo::default(), "https://shop.example/x").unwrap();
        assert!(!own.elsewhere && own.host == "shop.example");
    }
}
