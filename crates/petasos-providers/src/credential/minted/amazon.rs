//! Keys that Amazon hands to whatever runs inside it: a container's, a cluster's service account, a
//! machine's own.
//!
//! In the order of Amazon's tools. The machine's own are asked for only when nothing else names
//! any, for a second at most; a key travels from these places to us and never the other way.

use std::path::Path;
use std::time::{Duration, Instant};

use petasos_contract::{Secret, Settings, wait};
use petasos_net::address::Reach;
use petasos_net::{Follow, Method, Net, Request, Url, checked_url};
use serde_json::Value;

use super::{BYTES_MAX, MintError, TIMEOUT, from_file, variable};
use crate::credential::jwt;
use crate::credential::refresh::RefreshError;
use crate::runtime::AwsKeys;

/// How long a machine's own service may take: elsewhere nobody answers at all.
const MACHINE_WITHIN: Duration = Duration::from_secs(1);
/// How long a token of the machine's service is wanted for.
const MACHINE_TOKEN_S: &str = "60";

/// Keys that were fetched, and where from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The keys.
    pub keys: AwsKeys,
    /// Where they came from.
    pub how: &'static str,
    /// When they end.
    pub expires_at_ms: Option<u64>,
}

/// Where Amazon's services are.
#[derive(Debug, Clone)]
pub struct Places {
    /// Of a container's agent, for addresses that are given without a host.
    pub container: String,
    /// Of the machine itself.
    pub machine: String,
    /// Of the service that trades a cluster's word for keys; `{region}` is replaced.
    pub trade: String,
}

impl Default for Places {
    fn default() -> Self {
        Self {
            container: "http://169.254.170.2".to_owned(),
            machine: "http://169.254.169.254".to_owned(),
            trade: "https://sts.{region}.amazonaws.com".to_owned(),
        }
    }
}

/// A source, and what tells its keys from another's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    Container(String),
    Cluster { role: String, file: String },
    Machine,
}

impl Source {
    /// The first that this snapshot names; the machine itself when it may be asked.
    pub(super) fn of(settings: &Settings, places: &Places) -> Option<Self> {
        let set = |name: &str| variable(settings, name);
        if let Some(path) = set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") {
            return Some(Self::Container(format!("{}{path}", places.container)));
        }
        if let Some(url) = set("AWS_CONTAINER_CREDENTIALS_FULL_URI") {
            return Some(Self::Container(url));
        }
        if let (Some(file), Some(role)) = (set("AWS_WEB_IDENTITY_TOKEN_FILE"), set("AWS_ROLE_ARN"))
        {
            return Some(Self::Cluster { role, file });
        }
        let off = set("AWS_EC2_METADATA_DISABLED");
        let off = off.is_some_and(|word| word.eq_ignore_ascii_case("true"));
        (!off).then_some(Self::Machine)
    }

    /// Fetches its keys.
    pub(super) async fn fetch(
        &self,
        places: &Places,
        settings: &Settings,
        net: &Net,
    ) -> Result<Fetched, MintError> {
        match self {
            Self::Container(url) => container(url, settings, net).await,
            Self::Cluster { role, file } => {
                let trade = places.trade.replace("{region}", &region(settings)?);
                let word = from_file(Path::new(file))?;
                cluster(&trade, role, &word, settings, net).await
            }
            Self::Machine => {
                let by = Instant::now() + MACHINE_WITHIN;
                let asked = machine(&places.machine, net);
                match wait::until(by, "the machine's own keys", asked).await {
                    Ok(fetched) => fetched,
                    Err(_) => Err(MintError::Missing(
                        "this machine has no metadata service that answers".to_owned(),
                    )),
                }
            }
        }
    }
}

async fn container(url: &str, settings: &Settings, net: &Net) -> Result<Fetched, MintError> {
    let url = checked_url(url).map_err(|error| passing(&error))?;
    // Unencrypted, only the agents' own addresses and this machine are believed.
    let reach = if url.scheme() == "https" { Reach::Anywhere } else { Reach::OwnMetadata };
    let mut request = get(url, reach);
    let word = match variable(settings, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") {
        Some(file) => Some(from_file(Path::new(&file))?),
        None => variable(settings, "AWS_CONTAINER_AUTHORIZATION_TOKEN").map(Secret::new),
    };
    if let Some(word) = word {
        request =
            request.header("authorization", word.expose()).map_err(|error| passing(&error))?;
    }
    from_json(&send(request, net).await?, "container")
}

async fn machine(base: &str, net: &Net) -> Result<Fetched, MintError> {
    let at =
        |path: &str| checked_url(&format!("{base}/latest/{path}")).map_err(|error| passing(&error));
    let mut hello = get(at("api/token")?, Reach::OwnMetadata);
    hello.method = Method::PUT;
    let hello = hello.header("x-aws-ec2-metadata-token-ttl-seconds", MACHINE_TOKEN_S);
    let token = send(hello.map_err(|error| passing(&error))?, net).await?;
    let ask = |path: String| {
        let request = get(at(&path)?, Reach::OwnMetadata);
        let request = request.header("x-aws-ec2-metadata-token", token.trim());
        request.map_err(|error| passing(&error))
    };
    let folder = "meta-data/iam/security-credentials/";
    let role = send(ask(folder.to_owned())?, net).await?;
    let role = role.lines().next().unwrap_or_default().trim();
    from_json(&send(ask(format!("{folder}{role}"))?, net).await?, "instance")
}

async fn cluster(
    trade: &str,
    role: &str,
    word: &Secret,
    settings: &Settings,
    net: &Net,
) -> Result<Fetched, MintError> {
    let name = variable(settings, "AWS_ROLE_SESSION_NAME").unwrap_or_else(|| "petasos".to_owned());
    let form = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("Action", "AssumeRoleWithWebIdentity")
        .append_pair("Version", "2011-06-15")
        .append_pair("RoleArn", role)
        .append_pair("RoleSessionName", &name)
        .append_pair("WebIdentityToken", word.expose())
        .finish();
    let url = checked_url(trade).map_err(|error| passing(&error))?;
    let mut request = get(url, Reach::Anywhere);
    request.method = Method::POST;
    let request = request
        .header("content-type", "application/x-www-form-urlencoded")
        .map_err(|error| passing(&error))?;
    let answer = send(request.body(form), net).await?;
    let text = |tag: &str| {
        let (_, rest) = answer.split_once(&format!("<{tag}>"))?;
        Some(rest.split_once(&format!("</{tag}>"))?.0.trim())
    };
    let keys = || {
        Some(AwsKeys {
            access_key_id: text("AccessKeyId")?.to_owned(),
            secret_access_key: Secret::new(text("SecretAccessKey")?),
            session_token: Some(Secret::new(text("SessionToken")?)),
        })
    };
    let keys = keys().ok_or_else(|| passing(&"the answer holds no keys"))?;
    let expires_at_ms = text("Expiration").and_then(jwt::parse_date);
    Ok(Fetched { keys, how: "web identity", expires_at_ms })
}

fn region(settings: &Settings) -> Result<String, MintError> {
    let named = settings.text("bedrock.region").map(str::to_owned);
    let named = named.or_else(|| variable(settings, "AWS_REGION"));
    let region = named.or_else(|| variable(settings, "AWS_DEFAULT_REGION"));
    let region = region.unwrap_or_else(|| "us-east-1".to_owned());
    let plain = region.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '-');
    if plain { Ok(region) } else { Err(MintError::Missing(format!("`{region}` is no region"))) }
}

fn get(url: Url, reach: Reach) -> Request {
    let mut request = Request::new(Method::GET, url).first_byte(TIMEOUT);
    request.follow = Follow::Nowhere;
    request.reach = reach;
    request
}

async fn send(request: Request, net: &Net) -> Result<String, MintError> {
    let reply = net.send(request).await.map_err(|error| passing(&error))?;
    let status = reply.status;
    let body = reply.bytes(BYTES_MAX, TIMEOUT).await.map_err(|error| passing(&error))?;
    let text = String::from_utf8_lossy(&body).into_owned();
    if status == 200 {
        return Ok(text);
    }
    let said: String = text.chars().take(200).collect();
    Err(passing(&format!("status {status}: {}", said.trim())))
}

fn from_json(text: &str, how: &'static str) -> Result<Fetched, MintError> {
    let body: Value = serde_json::from_str(text).unwrap_or(Value::Null);
    let word = |name: &str| body.get(name).and_then(Value::as_str);
    let (Some(id), Some(secret)) = (word("AccessKeyId"), word("SecretAccessKey")) else {
        return Err(passing(&"the answer holds no keys"));
    };
    Ok(Fetched {
        keys: AwsKeys {
            access_key_id: id.to_owned(),
            secret_access_key: Secret::new(secret),
            session_token: word("Token").map(Secret::new),
        },
        how,
        expires_at_ms: word("Expiration").and_then(jwt::parse_date),
    })
}

fn passing(reason: &dyn std::fmt::Display) -> MintError {
    let (provider, reason) = ("bedrock".to_owned(), reason.to_string());
    MintError::Refused(RefreshError::Passing { provider, reason })
}
