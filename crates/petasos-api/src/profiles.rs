//! Other profiles of a machine behind one listener: what stands below `/p/NAME` is theirs, with their
//! own keys. A profile that is not served is a path that leads nowhere.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::{Request, Uri};

/// What serves each of them.
pub(crate) struct Profiles<T>(BTreeMap<String, Arc<T>>);

impl<T> Default for Profiles<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> Profiles<T> {
    pub(crate) fn add(&mut self, name: &str, server: Arc<T>) {
        self.0.insert(name.to_owned(), server);
    }

    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        self.0.values().cloned().collect()
    }

    /// Whose request this is; its path is led there without the beginning that named them.
    pub(crate) fn led<B>(&self, request: &mut Request<B>) -> Option<Arc<T>> {
        let (name, rest) = named(request.uri())?;
        let server = self.0.get(name)?;
        let mut parts = request.uri().clone().into_parts();
        parts.path_and_query = Some(rest.parse().ok()?);
        *request.uri_mut() = Uri::from_parts(parts).ok()?;
        Some(Arc::clone(server))
    }
}

/// The name below `/p/`, and what follows it.
fn named(uri: &Uri) -> Option<(&str, &str)> {
    let whole = uri.path_and_query()?.as_str();
    let below = whole.strip_prefix("/p/")?;
    let at = below.find('/')?;
    below.split_at_checked(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_known_name_leads_elsewhere() {
        let mut profiles = Profiles::default();
        profiles.add("work", Arc::new("work"));
        for (path, led) in [
            ("/p/work/v1/models?x=/p/y/", Some("/v1/models?x=/p/y/")),
            ("/p/work/", Some("/")),
            ("/p/work", None),
            ("/p/home/v1/models", None),
            ("/p//v1/models", None),
            ("/v1/models", None),
            ("/p/work/p/work/v1/models", Some("/p/work/v1/models")),
        ] {
            let mut request = Request::builder().uri(path).body(()).unwrap();
            let found = profiles.led(&mut request).is_some();
            let uri = request.uri().to_string();
            assert_eq!((found, uri.as_str()), (led.is_some(), led.unwrap_or(path)));
        }
    }
}
