//! Packages that `npx` and `uvx` would fetch, asked about in a list of known malware.
//!
//! Only malware stops a start. No answer in time does not: the list is a help, not a gate.

use std::time::Duration;

use petasos_contract::Settings;
use petasos_net::{Method, Net, Request, checked_url};
use serde_json::{Value, json};

use super::spec::Launch;

const WITHIN: Duration = Duration::from_secs(10);
const ANSWER_MAX: usize = 1024 * 1024;
const ENDPOINT: &str = "https://api.osv.dev/v1/query";

/// Why the package of a launch is refused, if it is.
pub(super) async fn refused(launch: &Launch, settings: &Settings, net: &Net) -> Option<String> {
    let (ecosystem, package) = package(launch)?;
    let endpoint = settings.variable("OSV_ENDPOINT").map(|variable| variable.value.expose());
    let found = malware(endpoint.unwrap_or(ENDPOINT), ecosystem, &package, net).await;
    let id = found.unwrap_or_else(|| {
        tracing::debug!(package, "the list of malware could not be asked");
        None
    })?;
    Some(format!("package `{package}` is listed as malware ({id})"))
}

/// The malware entry of a package, if there is one; `None` outside when nobody answered.
async fn malware(
    endpoint: &str,
    ecosystem: &str,
    package: &str,
    net: &Net,
) -> Option<Option<String>> {
    let url = checked_url(endpoint).ok()?;
    let asked = json!({ "package": { "name": package, "ecosystem": ecosystem } }).to_string();
    let request = Request::new(Method::POST, url).first_byte(WITHIN).body(asked);
    let request = request.header("content-type", "application/json").ok()?;
    let reply = net.send(request).await.ok()?;
    if reply.status != 200 {
        return None;
    }
    let body = reply.bytes(ANSWER_MAX, WITHIN).await.ok()?;
    let answer: Value = serde_json::from_slice(&body).ok()?;
    let ids = answer.get("vulns").and_then(Value::as_array).into_iter().flatten();
    let mut ids = ids.filter_map(|entry| entry.get("id")?.as_str());
    Some(ids.find(|id| id.starts_with("MAL-")).map(str::to_owned))
}

/// The package that a launcher would fetch, with where it comes from.
fn package(launch: &Launch) -> Option<(&'static str, String)> {
    let Launch::Stdio { command, args, .. } = launch else { return None };
    let program = command.rsplit('/').next().unwrap_or(command);
    let ecosystem = match program {
        "npx" | "bunx" => "npm",
        "uvx" => "PyPI",
        _ => return None,
    };
    let mut words = args.iter();
    let mut name = None;
    while let Some(word) = words.next() {
        match word.as_str() {
            "-p" | "--package" | "--from" => name = words.next().cloned(),
            option if option.starts_with('-') => {}
            first => {
                name = name.or_else(|| Some(first.to_owned()));
                break;
            }
        }
    }
    let name = name?;
    // The version after the last `@` is not part of the name; a leading one is a scope.
    let bare = match name.rfind('@') {
        Some(at) if at > 0 => name.split_at_checked(at).map_or(name.as_str(), |(bare, _)| bare),
        _ => name.split("==").next().unwrap_or(&name),
    };
    Some((ecosystem, bare.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_package_of_a_launcher_is_its_first_word_without_version() {
        let of = |command: &str, args: &[&str]| {
            let args = args.iter().map(|&arg| arg.to_owned()).collect();
            let (command, env) = (command.to_owned(), BTreeMap::new());
            package(&Launch::Stdio { command, args, env, cwd: None }).map(|(_, name)| name)
        };
        assert_eq!(of("npx", &["-y", "@scope/pkg@1.2", "x"]).as_deref(), Some("@scope/pkg"));
        assert_eq!(of("/usr/bin/npx", &["pkg@latest"]).as_deref(), Some("pkg"));
        assert_eq!(of("uvx", &["--from", "pkg==1", "tool"]).as_deref(), Some("pkg"));
        assert_eq!(of("node", &["pkg"]), None);
    }
}
