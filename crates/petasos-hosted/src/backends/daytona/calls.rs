//! The toolbox of one sandbox as the calls that programs are made of.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use petasos_contract::BoxFuture;
use petasos_net::Url;

use super::api::Api;
use crate::{Calls, Repeat, Said, VendorError};

/// One sandbox.
pub(super) struct Toolbox {
    pub(super) api: Api,
    pub(super) url: Url,
}

/// The vendor splits a command into words itself, so a script travels as one harmless word.
fn wrapped(script: &str) -> String {
    format!("sh -c \"echo '{}' | base64 -d | sh\"", STANDARD.encode(script))
}

impl Calls for Toolbox {
    fn run(
        &self,
        script: String,
        within: Duration,
        repeat: Repeat,
    ) -> BoxFuture<'_, Result<Said, VendorError>> {
        Box::pin(async move {
            let done = self.api.execute(&self.url, &wrapped(&script), within, repeat).await?;
            Ok(Said { code: done.code, text: done.result })
        })
    }

    fn put<'a>(&'a self, path: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, Result<(), VendorError>> {
        Box::pin(async move { self.api.upload(&self.url, &[(path, &bytes)]).await })
    }
}
