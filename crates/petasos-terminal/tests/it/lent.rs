//! Files of the home that a skill lends to commands in places that do not see the home: there while
//! a command that may use them runs, and gone after it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::CallContext;
use petasos_contract::jobs::{Jobs as _, Notify};
use petasos_contract::terminal::Terminal;
use serde_json::json;

use crate::ssh::server::{Machine, server};
use crate::stage::{Lending, Stage, command};

const TOKEN: &str = "{\"token\": \"a\\b%s\\0 ü\"}\nsecond\tline\n";
const SHOW: &str = "cat ~/.hermes/keys/token.json 2>/dev/null || echo nothing";

fn keeps_a_token(stage: &Stage) {
    let home = stage.settings().home().to_owned();
    std::fs::create_dir_all(home.join("keys")).unwrap();
    for (name, text) in [("token.json", TOKEN), ("other.json", "never")] {
        let mut file = std::fs::File::create(home.join("keys").join(name)).unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    }
}

async fn shown(stage: &Stage, cx: &CallContext, script: &str) -> String {
    stage.run_in(cx, command(script)).await.output
}

/// Comes back when a command of somebody else sees no file.
async fn until_gone(stage: &Stage, cx: &CallContext) {
    let until = Instant::now() + Duration::from_mins(1);
    while shown(stage, cx, SHOW).await != "nothing\n" {
        assert!(Instant::now() < until, "the file stays");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn lends_only_while_in_use(stage: &Stage) {
    keeps_a_token(stage);
    let (one, two) = (stage.session("one"), stage.session("two"));
    assert_eq!(shown(stage, &one, SHOW).await, "nothing\n");
    let skill = Lending::of(&[], &["keys/token.json", "keys/missing.json"]);
    stage.engine.lend(&one.session, "skills/weather", Arc::clone(&skill) as _);
    assert_eq!(shown(stage, &one, SHOW).await, TOKEN);
    assert_eq!(shown(stage, &two, SHOW).await, "nothing\n", "it is gone with its command");
    let mode = shown(stage, &one, "stat -c %a ~/.hermes/keys/token.json; ls ~/.hermes/keys").await;
    assert_eq!(mode, "600\ntoken.json\n");
    // Two commands at once: the first that ends takes nothing from the other.
    let (long, short) = tokio::join!(
        shown(stage, &one, "sleep 2; cat ~/.hermes/keys/token.json"),
        shown(stage, &one, "cat ~/.hermes/keys/token.json"),
    );
    assert_eq!((long.as_str(), short.as_str()), (TOKEN, TOKEN));
    // What a command itself put there is not in the way of anything.
    skill.end();
    assert_eq!(shown(stage, &one, SHOW).await, "nothing\n", "no longer in use");
    let left = shown(stage, &one, "ls -A ~/.hermes/.lent | wc -l").await;
    assert_eq!(left.trim(), "0");
}

/// A job has what is lent as long as it runs, also when whoever began it is gone.
async fn goes_with_a_job(stage: &Stage) {
    keeps_a_token(stage);
    let (one, two) = (stage.session("one"), stage.session("two"));
    let skill = Lending::of(&[], &["keys/token.json"]);
    stage.engine.lend(&one.session, "skills/weather", Arc::clone(&skill) as _);
    let started = stage.engine.start(command("sleep 300"), Notify::Silent, &one).await.unwrap();
    assert_eq!(
        shown(stage, &two, "wc -c <~/.hermes/keys/token.json").await.trim(),
        TOKEN.len().to_string()
    );
    stage.engine.jobs().kill(&started.job, &one).await.unwrap();
    until_gone(stage, &two).await;
}

/// A link in the target leads nothing elsewhere.
async fn follows_no_link(stage: &Stage) {
    keeps_a_token(stage);
    let one = stage.session("three");
    stage
        .run_in(
            &one,
            command(
                "mkdir -p ~/.hermes ~/away && ln -s ~/away ~/.hermes/keys && ls ~/.hermes/keys/",
            ),
        )
        .await;
    let skill = Lending::of(&[], &["keys/token.json"]);
    stage.engine.lend(&one.session, "skills/weather", Arc::clone(&skill) as _);
    let refused = stage.engine.run(command("echo ran"), &one).await.unwrap_err();
    assert!(refused.to_string().contains("a link is in the way"), "{refused}");
    skill.end();
    assert_eq!(shown(stage, &one, "ls ~/away; rm -rf ~/.hermes/keys ~/away").await, "");
}

#[tokio::test]
async fn files_are_lent_to_a_container_only_while_a_skill_is_in_use() {
    let Some(engine) = crate::docker::engine("files_are_lent_to_a_container") else { return };
    let stage = engine.stage(&json!({ "container_persistent": false }));
    lends_only_while_in_use(&stage).await;
    goes_with_a_job(&stage).await;
    follows_no_link(&stage).await;
    stage.engine.close_places().await;
}

#[tokio::test]
async fn files_are_lent_over_ssh_only_while_a_skill_is_in_use() {
    let Some(server) = server("files_are_lent_over_ssh", Machine::Whole) else { return };
    let stage = server.stage();
    lends_only_while_in_use(&stage).await;
    goes_with_a_job(&stage).await;
    follows_no_link(&stage).await;
    stage.engine.close_places().await;
}
