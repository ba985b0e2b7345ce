//! What models can do with jobs: their own chat's, within limits, and never from a scheduled run.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use petasos_contract::context::Surface;
use petasos_contract::delivery::{Deliveries, Destination};
use petasos_contract::processes::Processes;
use petasos_contract::{Address, BoxFuture, CallContext, SessionId, Settings};
use petasos_cron::{CronHost, Job, Jobs, Place, Wall as _, desk};
use petasos_session::{Choice, Sessions};
use serde_json::{Map, Value, json};

use super::at;
use super::world::World;

/// A program that can keep jobs and nothing else.
struct Quiet(Arc<Settings>, Arc<AtomicUsize>);

impl CronHost for Quiet {
    fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.0)
    }
    fn sessions(&self) -> Result<Arc<Sessions>, String> {
        Err("no sessions".to_owned())
    }
    fn choice(&self, _: &Job) -> Result<Choice, String> {
        Err("no sessions".to_owned())
    }
    fn unknown_toolsets(&self, names: &[String]) -> Vec<String> {
        names.iter().filter(|name| *name != "web").cloned().collect()
    }
    fn placed(&self, _: &SessionId, _: Place, _: &Job) {}
    fn left(&self, _: &SessionId) {}
    fn resolve<'a>(
        &'a self,
        provider: Option<&'a str>,
        _: Option<&'a str>,
    ) -> BoxFuture<'a, Result<String, String>> {
        let known = provider.is_none_or(|name| name == "openai");
        let answer = if known { Ok("it".to_owned()) } else { Err("no such provider".to_owned()) };
        Box::pin(std::future::ready(answer))
    }
    fn acts_by_itself<'a>(&'a self, _: &'a Job) -> BoxFuture<'a, bool> {
        Box::pin(std::future::ready(false))
    }
    fn findings(&self, _: &str) -> Vec<String> {
        Vec::new()
    }
    fn missing_skills<'a>(&'a self, names: &'a [String]) -> BoxFuture<'a, Vec<String>> {
        Box::pin(std::future::ready(names.to_vec()))
    }
    fn skills<'a>(
        &'a self,
        _: &'a [String],
        _: &'a SessionId,
    ) -> BoxFuture<'a, Result<Vec<String>, String>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
    fn may_still<'a>(&'a self, _: &'a Job) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }
    fn stopped(&self) -> Option<String> {
        None
    }
    fn redact(&self, text: &str) -> String {
        text.to_owned()
    }
    fn save(&self, _: &Path, _: &str) -> Result<(), String> {
        self.1.fetch_add(1, Ordering::SeqCst);
        Err("nowhere".to_owned())
    }
    fn processes(&self) -> Option<Arc<dyn Processes>> {
        None
    }
    fn deliveries(&self) -> Option<Arc<dyn Deliveries>> {
        None
    }
    fn unknown_rules(&self, names: &[String]) -> Vec<String> {
        names.iter().filter(|name| *name != "git push force").cloned().collect()
    }
    fn attach<'a>(
        &'a self,
        _: &'a Destination,
        _: &'a str,
        _: &'a str,
        _: std::time::Duration,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async { Err("there is no chat".to_owned()) })
    }
    fn finished<'a>(&'a self, _: &'a Job, _: Value) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }
}

struct Desk {
    world: World,
    jobs: Jobs,
    /// How often the file of jobs was written.
    written: Arc<AtomicUsize>,
}

impl Desk {
    fn new() -> Self {
        let world = World::new(at("2026-11-18T08:00:00Z"));
        let values = json!({ "timezone": "Europe/Berlin" });
        let values: Map<String, Value> = values.as_object().cloned().unwrap();
        let written = Arc::<AtomicUsize>::default();
        let host = Arc::new(Quiet(Arc::new(Settings::from_values(values)), Arc::clone(&written)));
        let jobs = Jobs::new(world.store(), host, Arc::clone(&world.clock) as _).unwrap();
        Self { world, jobs, written }
    }

    fn cx(&self, surface: Surface, chat: &str) -> CallContext {
        let settings = self.jobs.host().settings();
        let cx = CallContext::new(settings, surface, SessionId::new(format!("session {chat}")));
        if surface == Surface::Gateway {
            cx.at(Arc::new(Address::chat("telegram", chat)))
        } else {
            cx
        }
    }

    async fn ask(&self, chat: &str, request: Value) -> Value {
        let cx = self.cx(Surface::Gateway, chat);
        desk::answer(&self.jobs, None, request, &cx).await
    }
}

fn hello(name: &str) -> Value {
    json!({ "action": "create", "schedule": "every weekday at 9", "prompt": "hello", "name": name })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chat_sees_and_changes_its_own_jobs_only() {
    let desk = Desk::new();
    let made = desk.ask("1", hello("Ours")).await;
    let id = made["job_id"].as_str().unwrap().to_owned();
    assert_eq!(
        (&made["deliver"], &made["job"]["timezone"]),
        (&json!("origin"), &json!("Europe/Berlin"))
    );
    assert!(
        made["next_run_at"].as_str().unwrap().starts_with("2026-11-19T09:00:00+01:00"),
        "{made}"
    );
    assert_eq!(desk.ask("2", json!({ "action": "list" })).await["count"], json!(0));
    for action in ["update", "pause", "resume", "remove", "run"] {
        for reference in [id.as_str(), "Ours"] {
            let request = json!({ "action": action, "job_id": reference, "prompt": "x" });
            let refused = desk.ask("2", request).await;
            assert_eq!(refused["error_type"], json!("not_found"), "{action}: {refused}");
        }
    }
    let mut stealing = hello("Theirs");
    stealing["context_from"] = json!([id]);
    assert_eq!(desk.ask("2", stealing).await["error_type"], json!("not_found"));
    let here = desk.cx(Surface::Cli, "3");
    let local = desk::answer(&desk.jobs, None, json!({ "action": "list" }), &here);
    assert_eq!(local.await["count"], json!(0), "whoever sits at the machine asks the command");
    assert_eq!(desk.ask("1", json!({ "action": "list" })).await["count"], json!(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e143_names_limits_providers_and_toolsets_are_looked_at() {
    let desk = Desk::new();
    for name in ["Twice", "twice"] {
        assert_eq!(desk.ask("1", hello(name)).await["success"], json!(true));
    }
    let both = desk.ask("1", json!({ "action": "pause", "job_id": "TWICE" })).await;
    assert_eq!(
        (&both["error_type"], both["matches"].as_array().map(Vec::len)),
        (&json!("ambiguous"), Some(2))
    );
    let mut foreign = hello("Foreign");
    foreign["model"] = json!({ "provider": "elsewhere", "model": "m" });
    assert_eq!(desk.ask("1", foreign).await["success"], json!(false));
    let mut wide = hello("Wide");
    wide["enabled_toolsets"] = json!(["everything"]);
    assert_eq!(desk.ask("1", wide).await["success"], json!(false));
    let mut skilled = hello("Skilled");
    skilled["skills"] = json!(["absent"]);
    assert_eq!(desk.ask("1", skilled).await["success"], json!(false));
    for number in 0..18 {
        assert_eq!(desk.ask("1", hello(&format!("job {number}"))).await["success"], json!(true));
    }
    let many = desk.ask("1", hello("one more")).await;
    assert_eq!(many["error_type"], json!("quota"), "{many}");
    assert_eq!(desk.ask("2", hello("another chat")).await["success"], json!(true));
    desk.world.clock.pass(86_401);
    assert_eq!(desk.ask("1", hello("tomorrow")).await["success"], json!(true));
    assert!(desk.world.clock.now() > at("2026-11-19T08:00:00Z"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e144_a_scheduled_run_may_not_schedule() {
    let desk = Desk::new();
    let cx = desk.cx(Surface::Cron, "1");
    let refused = desk::answer(&desk.jobs, None, hello("More"), &cx).await;
    assert_eq!((&refused["success"], &refused["error_type"]), (&json!(false), &json!("denied")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_jobs_are_taken_over_with_one_look_at_the_file_of_jobs() {
    let desk = Desk::new();
    let job = |number: usize| {
        json!({ "id": format!("{number:012x}"), "name": format!("job {number}"), "prompt": "hello",
            "enabled": true, "schedule": { "kind": "cron", "expr": "0 9 * * *" } })
    };
    let jobs: Vec<Value> = (0..1000).map(job).collect();
    let done = desk.jobs.import(&json!({ "jobs": jobs }).to_string()).await.unwrap();
    assert_eq!((done.taken.len(), done.refused.len()), (1000, 0));
    assert_eq!(desk.written.load(Ordering::SeqCst), 1, "not once a job");
    assert_eq!(desk.jobs.find("000000000007").await.unwrap().name, "job 7");
    assert_eq!(desk.jobs.find("JOB 999").await.unwrap().id, "0000000003e7");
    let more = desk.jobs.import(&json!({ "jobs": [job(1000)] }).to_string()).await.unwrap();
    assert_eq!(more.refused.len(), 1, "there are as many as there may be");
}
