//! What each status, limit and refused credential leads to, on every surface.

use std::time::Duration;

use petasos_contract::model::Step;

use super::scene::{Scene, Setup, alone, check, pair};
use super::server::{answer, error, page, stream};

#[tokio::test]
async fn every_status_takes_its_own_path() {
    let ok = || stream("ok");
    let cases: Vec<(&str, Setup, &str)> = vec![
        ("fine", alone(vec![ok()]), "main, = ok"),
        ("401 alone", alone(vec![error(401)]), "main, auth/401, gave up"),
        (
            "401 spare",
            pair(vec![error(401)]),
            "main, auth/401, skip absent, > spare, spare, = spare",
        ),
        ("403 alone", alone(vec![error(403)]), "main, auth/403, gave up"),
        (
            "403 spare",
            pair(vec![error(403)]),
            "main, auth/403, skip absent, > spare, spare, = spare",
        ),
        (
            "404 json",
            pair(vec![error(404)]),
            "main, format/404, skip absent, > spare, spare, = spare",
        ),
        (
            "404 page",
            alone(vec![page(404), ok()]),
            "main, invalid_response/404, wait 5000, main, = ok",
        ),
        (
            "404 page again",
            pair(vec![page(404), page(404)]),
            "main, invalid_response/404, wait 5000, main, invalid_response/404, skip absent, > spare, spare, = spare",
        ),
        ("408", alone(vec![error(408), ok()]), "main, timeout/408, wait 2000, main, = ok"),
        ("413", pair(vec![error(413)]), "main, payload_too_large/413, gave up"),
        (
            "500",
            alone(vec![error(500), error(500), ok()]),
            "main, server_error/500, wait 2000, main, server_error/500, wait 4000, main, = ok",
        ),
        (
            "500 for ever",
            alone(vec![error(500), error(500), error(500), error(500), ok()]),
            "main, server_error/500, wait 2000, main, server_error/500, wait 4000, main, server_error/500, wait 8000, main, server_error/500, gave up",
        ),
        (
            "502 spare",
            pair(vec![error(502), error(502), error(502), error(502)]),
            "main, server_error/502, wait 2000, main, server_error/502, wait 4000, main, server_error/502, wait 8000, main, server_error/502, skip absent, > spare, spare, = spare",
        ),
        ("503", alone(vec![error(503), ok()]), "main, overloaded/503, wait 2000, main, = ok"),
        (
            "529 spare",
            pair(vec![error(529), error(529), error(529)]),
            "main, overloaded/529, wait 2000, main, overloaded/529, wait 4000, main, overloaded/529, skip absent, > spare, spare, = spare",
        ),
        (
            "html error",
            alone(vec![page(502), ok()]),
            "main, server_error/502, wait 2000, main, = ok",
        ),
        (
            "html success",
            alone(vec![page(200), ok()]),
            "main, invalid_response, wait 5000, main, = ok",
        ),
    ];
    for (name, setup, expected) in cases {
        check(name, setup, expected).await;
    }
}

#[tokio::test]
async fn a_rate_limit_waits_as_long_as_it_is_told_and_then_looks_elsewhere() {
    let ok = || stream("ok");
    let limited = |header: &'static str, value: &str| {
        answer(429, &[(header, value)], "{\"error\":{\"message\":\"Rate limit reached\"}}")
    };
    let later = httpdate::fmt_http_date(std::time::SystemTime::now() + Duration::from_mins(10));
    check(
        "seconds",
        alone(vec![limited("retry-after", "7"), ok()]),
        "main, rate_limit/429, wait 7000, main, = ok",
    )
    .await;
    check(
        "milliseconds",
        alone(vec![limited("retry-after-ms", "1500"), ok()]),
        "main, rate_limit/429, wait 1500, main, = ok",
    )
    .await;
    check(
        "no header",
        alone(vec![error(429), ok()]),
        "main, rate_limit/429, wait 2000, main, = ok",
    )
    .await;
    let past = httpdate::fmt_http_date(std::time::SystemTime::now() - Duration::from_mins(10));
    check(
        "a moment that has passed",
        alone(vec![limited("retry-after", &past), ok()]),
        "main, rate_limit/429, wait 2000, main, = ok",
    )
    .await;
    check(
        "longer than anybody waits",
        alone(vec![limited("retry-after", "3600"), ok()]),
        "main, rate_limit/429, gave up",
    )
    .await;
    let dated = Scene::new(alone(vec![limited("retry-after", &later), ok()])).await;
    let outcome = dated.ask().await;
    let Step::Waited { wait_ms } = petasos_providers::client::path(&outcome)[2] else { panic!() };
    assert!((590_000..=600_000).contains(&wait_ms), "{wait_ms}");
    check(
        "too long with a spare",
        pair(vec![limited("retry-after", &later)]),
        "main, rate_limit/429, skip absent, > spare, spare, = spare",
    )
    .await;
    let pool = Setup {
        main: vec![error(429), error(429), ok()],
        keys: vec!["key-main-0002"],
        ..Setup::default()
    };
    let scene = check(
        "rotates at the second",
        pool,
        "main, rate_limit/429, wait 2000, main, rate_limit/429, rotated, main, = ok",
    )
    .await;
    assert_eq!(scene.main.keys(), ["key-main-0001", "key-main-0001", "key-main-0002"]);
    let counters = answer(
        200,
        &[("x-ratelimit-remaining-requests", "41"), ("content-type", "application/json")],
        "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}",
    );
    let scene = check("counters", alone(vec![counters]), "main, = ok").await;
    assert_eq!(scene.client.limits()[0].1.requests.remaining, Some(41));
}

#[tokio::test]
async fn a_refused_credential_is_renewed_once_then_rotated_then_left() {
    let ok = || stream("ok");
    let renewed = Setup {
        main: vec![error(401), ok()],
        refreshed: Some("key-main-new1"),
        ..Setup::default()
    };
    let scene = check("renewed", renewed, "main, auth/401, refreshed, main, = ok").await;
    assert_eq!(scene.main.keys(), ["key-main-0001", "key-main-new1"]);
    let refused = Setup {
        main: vec![error(401), error(401), error(401)],
        refreshed: Some("key-main-new1"),
        keys: vec!["key-main-0002"],
        spare: vec![stream("spare")],
        has_spare: true,
        ..Setup::default()
    };
    let scene = check("everything", refused,
        "main, auth/401, refreshed, main, auth/401, rotated, main, auth/401, skip absent, > spare, spare, = spare").await;
    assert_eq!(scene.main.keys(), ["key-main-0001", "key-main-new1", "key-main-0002"]);
    assert_eq!(scene.spare.keys(), ["key-spare-0001"]);
    let unpaid = answer(402, &[], "{\"error\":{\"message\":\"Insufficient credits\"}}");
    let unpaid =
        Setup { main: vec![unpaid, ok()], keys: vec!["key-main-0002"], ..Setup::default() };
    check("unpaid", unpaid, "main, billing/402, rotated, main, = ok").await;
}

#[tokio::test]
async fn no_error_shows_the_secret() {
    let echo = answer(401, &[], "{\"error\":{\"message\":\"bad key key-main-0001\"}}");
    let scene = Scene::new(alone(vec![echo])).await;
    let error = scene.ask().await.unwrap_err();
    assert!(!format!("{error:?}").contains("key-main-0001"), "{error:?}");
    assert!(error.line.contains("petasos auth status"), "{}", error.line);
}

#[tokio::test]
async fn a_conversation_never_follows_a_redirect() {
    let redirect = answer(307, &[("location", "http://127.0.0.1:9/v1/x")], "");
    let expected = "main, refused/307, skip absent, > spare, spare, = spare";
    check("redirect", pair(vec![redirect]), expected).await;
}
