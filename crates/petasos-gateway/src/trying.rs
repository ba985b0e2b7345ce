//! Whether the accounts that the settings name work, without reading anything.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::Settings;
use petasos_net::Net;

use crate::options::GatewayOptions;
use crate::platform::{NOT_TRIED, Opening, PlatformDef};

const WAIT: Duration = Duration::from_secs(10);

/// What trying an account came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tried {
    /// The server knows us, by this name.
    Works(String),
    /// It cannot be tried without connecting.
    Untried,
    /// It does not work, for this reason.
    Fails(String),
}

/// Tries every configured account; gives platform and account with the outcome.
pub async fn try_accounts(
    settings: &Arc<Settings>,
    net: &Arc<Net>,
    platforms: impl IntoIterator<Item = &'static PlatformDef>,
) -> Vec<(String, Tried)> {
    let mut found = Vec::new();
    for def in platforms {
        let opening = Opening { settings, net };
        let opened = GatewayOptions::platform(settings, def)
            .and_then(|own| if own.off { Ok(Vec::new()) } else { (def.open)(&opening) });
        match opened {
            Err(why) => found.push((def.name.to_owned(), Tried::Fails(why))),
            Ok(accounts) => {
                for account in accounts {
                    let name = format!("{}/{}", def.name, account.account());
                    let tried = match tokio::time::timeout(WAIT, account.probe()).await {
                        Ok(Ok(who)) if who == NOT_TRIED => Tried::Untried,
                        Ok(Ok(who)) => Tried::Works(who),
                        Ok(Err(error)) => Tried::Fails(error.to_string()),
                        Err(_) => Tried::Fails(format!("no answer for {} s", WAIT.as_secs())),
                    };
                    found.push((name, tried));
                }
            }
        }
    }
    found
}
