//! Who we are to the vendor: a token with its project and team, or a token that names both.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use petasos_contract::{Secret, Settings};
use serde::Deserialize;

use crate::variable;

/// A token, and for whom it speaks.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    pub(super) token: Secret,
    pub(super) project: String,
    pub(super) team: String,
}

#[derive(Debug, Deserialize)]
struct Claims {
    owner_id: String,
    project_id: String,
}

impl Identity {
    /// From the variables; an access token that a person set comes before one of a platform.
    pub(super) fn of(settings: &Settings) -> Result<Self, String> {
        let text = |name: &str| variable(settings, name).map(|text| text.expose().to_owned());
        if let Some(token) = variable(settings, "VERCEL_TOKEN") {
            let needed = |name: &str| {
                text(name).ok_or_else(|| {
                    format!(
                        "`{name}` is not set: `VERCEL_TOKEN` needs the project and the team too"
                    )
                })
            };
            let (project, team) = (needed("VERCEL_PROJECT_ID")?, needed("VERCEL_TEAM_ID")?);
            return Ok(Self { token, project, team });
        }
        let Some(token) = variable(settings, "VERCEL_OIDC_TOKEN") else {
            return Err("neither `VERCEL_TOKEN` nor `VERCEL_OIDC_TOKEN` is set: make a token in \
                        Vercel's account settings and put it into `.env`"
                .to_owned());
        };
        let claims = claims(token.expose()).ok_or_else(|| {
            "`VERCEL_OIDC_TOKEN` names no project and owner: get a new one with `vercel env pull`"
                .to_owned()
        })?;
        Ok(Self { token, project: claims.project_id, team: claims.owner_id })
    }
}

/// What a token says about itself; the vendor checks that it is true.
fn claims(token: &str) -> Option<Claims> {
    let mut parts = token.split('.');
    let (_, payload, _) = (parts.next()?, parts.next()?, parts.next()?);
    let payload = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
    serde_json::from_slice(&payload).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_of_a_platform_names_project_and_owner() {
        let payload = URL_SAFE_NO_PAD.encode(r#"{"owner_id":"team_1","project_id":"prj_1"}"#);
        let found = claims(&format!("head.{payload}.sign")).unwrap();
        assert_eq!((found.owner_id.as_str(), found.project_id.as_str()), ("team_1", "prj_1"));
        assert!(claims("plain").is_none() && claims("a.b.c").is_none());
    }
}
