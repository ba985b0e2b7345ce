//! The carrier against a double that is built from the shapes of the vendor's own library, not
//! from the service, and against servers that answer badly.

mod double;

use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::settings::Parts;
use petasos_contract::{Secret, Settings};
use petasos_net::{Net, NetOptions, Url};

use super::api::Api;
use super::carrier::{Plan, Vercel};
use super::credential::Identity;
use crate::{HostedSettings, test_double};
use double::{Answer, Double};
use petasos_terminal::backend::Opening;
use petasos_terminal::remote::Carrier as _;
use petasos_terminal::sync::FileSync;

fn settings(home: &std::path::Path) -> Arc<Settings> {
    Arc::new(Settings::new(Parts { home: home.to_owned(), ..Parts::default() }))
}

fn api(url: &str) -> Api {
    let identity = Identity {
        token: Secret::new("vercel-test"),
        project: "prj_1".to_owned(),
        team: "team_1".to_owned(),
    };
    Api::new(Arc::new(Net::new(NetOptions::default())), Url::parse(url).unwrap(), identity)
}

fn plan(settings: &Arc<Settings>, is_kept: bool) -> Plan {
    let hosted = HostedSettings {
        container_persistent: is_kept,
        vercel_runtime: "node24".to_owned(),
        ..HostedSettings::default()
    };
    Plan::of(&hosted, Opening { settings, install: None, task: "default" })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_carries_programs_and_is_gone_at_the_end() {
    let (home, double) = (tempfile::tempdir().unwrap(), Double::start(Answer::Well).await);
    let settings = settings(home.path());
    let sync = FileSync::of(&settings);
    let carrier = Vercel::open(api(&double.url), plan(&settings, false), sync).await.unwrap();
    test_double::carries(&carrier, false).await;
    assert_eq!(double.running(), 1);
    carrier.close().await.unwrap();
    assert_eq!((double.running(), double.sandboxes()), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_sandbox_begins_from_its_snapshot_and_an_ended_one_is_replaced() {
    let (home, double) = (tempfile::tempdir().unwrap(), Double::start(Answer::Well).await);
    let settings = settings(home.path());
    let open = || async {
        let sync = FileSync::of(&settings);
        Vercel::open(api(&double.url), plan(&settings, true), sync).await.unwrap()
    };
    open().await.close().await.unwrap();
    let kept = std::fs::read_to_string(home.path().join("vercel_sandbox_snapshots.json")).unwrap();
    assert!(kept.contains("snap_1"), "{kept}");
    let carrier = open().await;
    assert_eq!(double.last_source().as_deref(), Some("snap_1"));
    double.end_all();
    let refused = carrier.start(test_double::order("echo again", &[])).await.err().unwrap();
    carrier.revive(&refused).await.unwrap();
    let said = test_double::run(&carrier, test_double::order("echo again", &[])).await;
    assert_eq!(said.output, b"again\n");
    carrier.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_answers_end_in_time_with_a_word_and_create_nothing_twice() {
    let cases = [
        (Answer::Limited, "asks to wait 120 s"),
        (Answer::Failed, "HTTP 500"),
        (Answer::Garbage, "cannot be read"),
        (Answer::Never, ""),
    ];
    for (answer, word) in cases {
        let (home, double) = (tempfile::tempdir().unwrap(), Double::start(answer).await);
        let settings = settings(home.path());
        let mut api = api(&double.url);
        api.rest.short = Duration::from_millis(400);
        let begun = Instant::now();
        let sync = FileSync::of(&settings);
        let error = Vercel::open(api, plan(&settings, false), sync).await.err().unwrap();
        assert!(error.to_string().contains(word), "{answer:?}: {error}");
        assert!(begun.elapsed() < Duration::from_secs(6), "{answer:?}: {:?}", begun.elapsed());
        assert!(double.creations() <= 1, "{answer:?}: {}", double.creations());
    }
}

#[test]
fn without_a_token_it_says_what_to_set() {
    let bare = Settings::from_values(serde_json::Map::new());
    assert!(super::carrier::usable(&bare).unwrap_err().contains("VERCEL_TOKEN"));
}
