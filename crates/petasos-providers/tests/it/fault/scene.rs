//! Two servers, a client between them, and the path of a question in few words.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use petasos_contract::context::Surface;
use petasos_contract::event::{Event, EventSink, Subscriber};
use petasos_contract::message::Message;
use petasos_contract::model::{
    Delta, DeltaSink, DeltaSubscriber, Model, ModelError, Prompt, Reply, Role, Step,
};
use petasos_contract::{BoxFuture, CallContext, Secret, Settings};
use petasos_net::client::{Net, NetOptions};
use petasos_net::{Allowed, Credential, Scheme, Scope};
use petasos_providers::client::Client;
use petasos_providers::failure::Failure;
use petasos_providers::fallback::Wanted;
use petasos_providers::mode::{ApiMode, Wire};
use petasos_providers::route::{Routes, Unroutable};
use petasos_providers::runtime::{BaseUrl, EndpointKind, Overrides, ProviderRuntime, Source};
use petasos_providers::table::Table;
use serde_json::json;

use super::server::{Act, Server, stream};

/// Every place that a question can come from.
const SURFACES: [Surface; 8] = [
    Surface::Cli,
    Surface::OneShot,
    Surface::Gateway,
    Surface::Cron,
    Surface::Acp,
    Surface::Mcp,
    Surface::ApiServer,
    Surface::Embedded,
];

/// Providers `main` and `spare`, each a server of its own.
struct Double {
    main: String,
    spare: String,
    keys: Mutex<Vec<&'static str>>,
    refreshed: Mutex<Option<&'static str>>,
    /// Keys handed out so far, where there is always another one.
    endless: Option<Mutex<u32>>,
    wire: Wire,
    overrides: Overrides,
}

impl Double {
    fn runtime(&self, base: &str, key: &str) -> ProviderRuntime {
        ProviderRuntime {
            provider: if base == self.spare { "spare" } else { "main" }.to_owned(),
            requested: "main".to_owned(),
            api_mode: ApiMode::ChatCompletions,
            wire: self.wire,
            base_url: BaseUrl::parse(base).unwrap(),
            credential: Some(Credential {
                owner: "main".to_owned(),
                secret: Secret::new(key),
                scope: Scope::new([Allowed::Loopback]),
                scheme: Scheme::Bearer,
            }),
            source: Source::Explicit,
            expiry: None,
            pool: None,
            headers: Vec::new(),
            overrides: self.overrides.clone(),
            model: Some("model-1".to_owned()),
            endpoint_kind: EndpointKind::Custom,
            launch: None,
            aws: None,
            notices: Vec::new(),
        }
    }
}

impl Double {
    /// The next key of an endless supply.
    fn another(&self) -> Option<String> {
        let mut count = self.endless.as_ref()?.lock().unwrap();
        *count += 1;
        Some(format!("key-main-{count:04}"))
    }
}

impl Routes for Double {
    fn resolve<'a>(
        &'a self,
        wanted: &'a Wanted,
        _: Role,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ProviderRuntime, Unroutable>> {
        Box::pin(async move {
            match wanted.provider.as_deref() {
                None => Ok(self.runtime(&self.main, "key-main-0001")),
                Some("spare") => Ok(self.runtime(&self.spare, "key-spare-0001")),
                Some(other) => Err(Unroutable {
                    provider: other.to_owned(),
                    code: "missing_api_key".to_owned(),
                    message: format!("`{other}` has no key"),
                }),
            }
        })
    }

    fn preview<'a>(
        &'a self,
        wanted: &'a Wanted,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Option<ProviderRuntime>> {
        Box::pin(async move { self.resolve(wanted, Role::Main, cx).await.ok() })
    }

    fn can_refresh(&self, _: &ProviderRuntime) -> bool {
        self.endless.is_some() || self.refreshed.lock().unwrap().is_some()
    }

    fn refresh<'a>(
        &'a self,
        runtime: &'a ProviderRuntime,
        _: &'a Settings,
    ) -> BoxFuture<'a, Option<ProviderRuntime>> {
        let key = self.refreshed.lock().unwrap().take().map(str::to_owned);
        let key = key.or_else(|| self.another());
        let renewed = key.map(|key| self.runtime(runtime.base_url.as_str(), &key));
        Box::pin(async move { renewed })
    }

    fn can_rotate(&self, runtime: &ProviderRuntime, _: &Settings) -> bool {
        let another = self.endless.is_some() || !self.keys.lock().unwrap().is_empty();
        runtime.provider == "main" && another
    }

    fn rotate<'a>(
        &'a self,
        runtime: &'a ProviderRuntime,
        _: &'a Failure,
        _: &'a Settings,
    ) -> BoxFuture<'a, Option<ProviderRuntime>> {
        let key = self.keys.lock().unwrap().pop().map(str::to_owned);
        let key = key.or_else(|| self.another());
        let rotated = key.map(|key| self.runtime(runtime.base_url.as_str(), &key));
        Box::pin(async move { rotated })
    }
}

#[derive(Default)]
pub(super) struct Heard {
    pub(super) notices: Mutex<Vec<String>>,
    pub(super) text: Mutex<String>,
}

impl Subscriber for Heard {
    fn take(&self, event: Event) {
        if let Event::Notice { text } = event {
            self.notices.lock().unwrap().push(text);
        }
    }
}

impl DeltaSubscriber for Heard {
    fn take(&self, _: u32, delta: &Delta) {
        if let Delta::Text { text } = delta {
            self.text.lock().unwrap().push_str(text);
        }
    }
}

/// One scene: two servers, what the credentials can do, and everything that was heard.
pub(super) struct Scene {
    pub(super) main: Server,
    pub(super) spare: Server,
    pub(super) client: Client,
    pub(super) heard: Arc<Heard>,
    has_spare: bool,
}

#[derive(Clone, Default)]
pub(super) struct Setup {
    pub(super) main: Vec<Act>,
    pub(super) spare: Vec<Act>,
    pub(super) has_spare: bool,
    pub(super) refreshed: Option<&'static str>,
    pub(super) keys: Vec<&'static str>,
    /// Whether a credential can be renewed and rotated without end.
    pub(super) endless: bool,
    /// Another address for the main provider than its server's.
    pub(super) main_at: Option<String>,
    pub(super) overrides: Overrides,
}

impl Scene {
    pub(super) async fn new(setup: Setup) -> Self {
        Self::over(setup, &net().await).await
    }

    async fn over(setup: Setup, net: &Arc<Net>) -> Self {
        let main = Server::start(setup.main).await;
        let spare = Server::start(setup.spare).await;
        let routes = Double {
            main: setup.main_at.unwrap_or_else(|| main.url()),
            spare: spare.url(),
            keys: Mutex::new(setup.keys),
            refreshed: Mutex::new(setup.refreshed),
            endless: setup.endless.then(Mutex::default),
            wire: Wire::ChatCompletions,
            overrides: setup.overrides,
        };
        let client = Client::new(Arc::new(routes), Arc::clone(net), Table::built_in());
        let client = client.with_dice(|| 0.0).with_pace(0.001);
        Self { main, spare, client, heard: Arc::default(), has_spare: setup.has_spare }
    }

    pub(super) fn context(&self) -> CallContext {
        self.context_on(Surface::Cli)
    }

    pub(super) fn context_on(&self, surface: Surface) -> CallContext {
        let mut values = json!({});
        if self.has_spare {
            values = json!({"fallback_providers": [{"provider": "absent", "model": "m"},
                {"provider": "spare", "model": "model-2"}]});
        }
        let settings = Arc::new(Settings::from_values(values.as_object().cloned().unwrap()));
        let mut cx = CallContext::new(settings, surface, "s".into());
        cx.events = EventSink::to(self.heard.clone());
        cx.deadline = Instant::now() + Duration::from_secs(20);
        cx
    }

    pub(super) fn prompt(&self) -> Prompt {
        Prompt {
            messages: vec![Message::user("hello")],
            deltas: DeltaSink::to(self.heard.clone()),
            ..Prompt::default()
        }
    }

    pub(super) async fn ask(&self) -> Result<Reply, ModelError> {
        self.client.ask(&self.prompt(), Role::Main, &self.context()).await
    }
}

/// The address of a port that was free a moment ago.
pub(super) async fn closed() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    format!("http://127.0.0.1:{port}/v1")
}

/// A way out that has read its certificates already: that takes longer than some deadlines here.
async fn net() -> Arc<Net> {
    let net = Arc::new(Net::new(NetOptions::default()));
    let nobody = petasos_net::checked_url("http://127.0.0.1:9/").unwrap();
    let request = petasos_net::Request::new(petasos_net::Method::GET, nobody);
    assert!(net.send(request).await.is_err(), "somebody listens where nobody should");
    net
}

/// A path in few words.
pub(super) fn told(outcome: &Result<Reply, ModelError>) -> String {
    let words = petasos_providers::client::path(outcome).iter().map(|step| match step {
        Step::Sent { provider, .. } => provider.clone(),
        Step::Failed { reason, status } => {
            let reason = serde_json::to_value(reason).unwrap().as_str().unwrap().to_owned();
            status.map_or(reason.clone(), |status| format!("{reason}/{status}"))
        }
        Step::Waited { wait_ms } => format!("wait {wait_ms}"),
        Step::Refreshed => "refreshed".to_owned(),
        Step::Rotated => "rotated".to_owned(),
        Step::Repaired { repair } => format!("[{repair}]"),
        Step::FellBack { provider, .. } => format!("> {provider}"),
        Step::Skipped { provider, .. } => format!("skip {provider}"),
        Step::GaveUp => "gave up".to_owned(),
        _ => "?".to_owned(),
    });
    let mut words: Vec<String> = words.collect();
    if let Ok(reply) = outcome {
        words.push(format!("= {}", reply.message.text()));
    }
    words.join(", ")
}

/// Asks on every surface, each with servers of its own, and expects the same path; gives the last.
pub(super) async fn check(name: &str, setup: Setup, expected: &str) -> Scene {
    let net = &net().await;
    let each = SURFACES.map(|surface| {
        let setup = setup.clone();
        async move {
            let scene = Scene::over(setup, net).await;
            let cx = scene.context_on(surface);
            let outcome = scene.client.ask(&scene.prompt(), Role::Main, &cx).await;
            assert_eq!(told(&outcome), expected, "{name} on {surface:?}: {outcome:?}");
            scene
        }
    });
    futures::future::join_all(each).await.pop().unwrap()
}

pub(super) fn alone(main: Vec<Act>) -> Setup {
    Setup { main, ..Setup::default() }
}

pub(super) fn pair(main: Vec<Act>) -> Setup {
    Setup { main, spare: vec![stream("spare")], has_spare: true, ..Setup::default() }
}
