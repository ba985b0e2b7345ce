//! What Microsoft Entra takes for a token: the secret of an application, or the word of the
//! cluster that the program runs in.

use std::path::Path;

use petasos_contract::{Secret, Settings};

use super::{Ask, MintError, from_file, variable};
use crate::credential::usable::fingerprint;

const SCOPE: &str = "https://ai.azure.com/.default";
const BY_CLUSTER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// The question that gets a token for this application.
pub(super) fn ask(tenants: &str, settings: &Settings) -> Result<Ask, MintError> {
    let needed = |name: &str| {
        let missing = || MintError::Missing(format!("the variable `{name}` is not set"));
        variable(settings, name).ok_or_else(missing)
    };
    let (tenant, client) = (needed("AZURE_TENANT_ID")?, needed("AZURE_CLIENT_ID")?);
    let plain =
        |text: &str| text.chars().all(|sign| sign.is_ascii_alphanumeric() || "-.".contains(sign));
    if !plain(&tenant) {
        return Err(MintError::Missing("`AZURE_TENANT_ID` is no name of a tenant".to_owned()));
    }
    let scope = settings.get("model.entra.scope").and_then(serde_json::Value::as_str);
    let scope = scope.unwrap_or(SCOPE);
    let (proof, secret) = match variable(settings, "AZURE_FEDERATED_TOKEN_FILE") {
        Some(file) => ("client_assertion", from_file(Path::new(&file))?),
        None => ("client_secret", Secret::new(needed("AZURE_CLIENT_SECRET")?)),
    };
    let account = format!("entra {tenant} {client} {scope} {}", fingerprint(&secret));
    let mut form = vec![
        ("grant_type", Secret::new("client_credentials")),
        ("client_id", Secret::new(client)),
        ("scope", Secret::new(scope)),
        (proof, secret),
    ];
    if proof == "client_assertion" {
        form.push(("client_assertion_type", Secret::new(BY_CLUSTER)));
    }
    let url = format!("{tenants}/{tenant}/oauth2/v2.0/token");
    Ok(Ask { provider: "azure-foundry", url, form, account })
}
