//! No secret reaches an origin outside its scope: generated addresses against generated scopes,
//! judged by a second, plainer reading of the rules.

use petasos_contract::Secret;
use petasos_net::{Allowed, Credential, Origin, Scheme, Scope, Url, checked_url};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const HOSTS: &[&str] = &[
    "api.deepseek.com",
    "openrouter.ai",
    "api.openai.com",
    "x.ai",
    "localhost",
    "127.0.0.1",
    "[::1]",
    "evil.test",
    "192.168.1.5",
];

/// Spellings around a real host: some mean the same host, most do not.
fn spelled(host: String) -> impl Strategy<Value = String> {
    let dressed = |pattern: &'static str, host: &str| pattern.replace("{}", host);
    let patterns = prop::sample::select(vec![
        "{}",
        "{}.",
        "{}..",
        "a.{}",
        "evil{}",
        "{}.evil.test",
        "{}@evil.test",
        "evil.test@{}",
        "evil.test\\@{}",
        "evil.test#@{}",
        "evil.test?@{}",
        "evil.test/{}",
        "xn--{}",
        "0x7f.1",
        "2130706433",
        "127.1",
        "[::ffff:127.0.0.1]",
        "127.0.0.1.{}",
        "{}%2eevil.test",
        "evil.test%2f{}",
        "ｅvil.{}",
        "{}\t",
        "user:pass@{}",
        ".{}",
        "{}%00",
        "ópenrouter.ai",
    ]);
    (patterns, prop::bool::ANY).prop_map(move |(pattern, upper)| {
        let text = dressed(pattern, &host);
        if upper { text.to_uppercase() } else { text }
    })
}

fn address() -> impl Strategy<Value = String> {
    let host = prop::sample::select(HOSTS.to_vec()).prop_map(str::to_owned).prop_flat_map(spelled);
    let scheme = prop::sample::select(vec![
        "https://",
        "http://",
        "HTTPS://",
        "https:",
        "https:/",
        "ftp://",
        "ws://",
        "https:\\\\",
        "file://",
        "",
    ]);
    let port = prop::sample::select(vec!["", ":443", ":80", ":8443", ":0", ":99999"]);
    let path = prop::sample::select(vec![
        "",
        "/v1",
        "/openrouter.ai/v1",
        "/@api.deepseek.com",
        "?x=https://x.ai",
        "/\\..",
        "/a b",
    ]);
    (scheme, host, port, path).prop_map(|(s, h, port, path)| format!("{s}{h}{port}{path}"))
}

fn scope() -> impl Strategy<Value = Vec<Allowed>> {
    let host = prop::sample::select(HOSTS.to_vec());
    let rule = (0..4_u8, host).prop_map(|(kind, host)| match kind {
        0 => Allowed::Host(host.to_owned()),
        1 => Allowed::Below(host.to_owned()),
        2 => Allowed::Loopback,
        _ => Allowed::Exact(
            Origin::of(&Url::parse(&format!("http://{host}:8443/")).unwrap()).unwrap(),
        ),
    });
    prop::collection::vec(rule, 0..3)
}

/// The rules read a second time, over the text that the client would connect to.
fn expected(rules: &[Allowed], url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.').to_owned();
    let https = url.scheme() == "https";
    let web = https || url.scheme() == "http";
    let here = host == "localhost" || host.ends_with(".localhost");
    let here = here || host.starts_with("127.") && host.parse::<std::net::Ipv4Addr>().is_ok();
    let here = here || host == "[::1]" || host == "[::ffff:7f00:1]";
    let is_name = !host.starts_with('[') && host.parse::<std::net::Ipv4Addr>().is_err();
    web && rules.iter().any(|rule| match rule {
        Allowed::Host(allowed) => https && is_name && host == *allowed,
        Allowed::Below(allowed) => {
            https && is_name && (host == *allowed || host.ends_with(&format!(".{allowed}")))
        }
        Allowed::Loopback => here,
        Allowed::Exact(origin) => {
            url.scheme() == "http" && origin.host() == host && url.port() == Some(8443)
        }
    })
}

#[test]
fn a_secret_is_attached_only_inside_its_scope() {
    let mut runner =
        TestRunner::new(Config { cases: 100_000, failure_persistence: None, ..Config::default() });
    let attached = std::cell::Cell::new(0_u32);
    let outcome = runner.run(&(address(), scope()), |(text, rules)| {
        let Ok(url) = checked_url(&text) else { return Ok(()) };
        prop_assert!(!text.contains('\\') && !text.trim().contains(['\t', ' ']), "{text}");
        prop_assert!(url.username().is_empty() && url.password().is_none(), "{text}");
        let credential = Credential {
            owner: "test".to_owned(),
            secret: Secret::new("sk-0123456789"),
            scope: Scope::new(rules.clone()),
            scheme: Scheme::Bearer,
        };
        let got = credential.attach(&url).is_ok();
        attached.set(attached.get() + u32::from(got));
        prop_assert_eq!(got, expected(&rules, &url), "{} {:?}", url, rules);
        Ok(())
    });
    outcome.unwrap();
    assert!(attached.get() > 1_000, "the generator must also make addresses that are allowed");
}

#[test]
fn an_address_that_two_readers_could_take_apart_differently_is_refused() {
    for text in [
        "https://openrouter.ai@evil.test/v1",
        "https://evil.test\\@openrouter.ai/api/v1",
        "https://open\trouter.ai/",
        "https://a b/",
        "https://@host/",
        "",
        "localhost:11434",
        "https://",
    ] {
        assert!(checked_url(text).is_err(), "{text:?}");
    }
    assert_eq!(
        checked_url("https://OpenRouter.AI./api").unwrap().as_str(),
        "https://openrouter.ai/api"
    );
}
