//! Callers that cannot await: plain threads, threads inside a runtime, many at once.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::bridging::{Blocking, Inline, SyncTool};
use petasos_contract::call::{Status, ToolCall, ToolResult};
use petasos_contract::wait::Owned;
use petasos_contract::{Args, CallContext, ToolOutput};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};

use super::BlockingDoor;
use crate::probe::{Outcome, Scripted, World, body, echo, entry, error_of};

fn door(world: &World) -> BlockingDoor {
    BlockingDoor::new(world.dispatcher()).unwrap()
}

fn call(door: &BlockingDoor, cx: &CallContext, name: &str) -> ToolResult {
    door.dispatch(ToolCall::new("c", name, "{}"), cx)
}

#[test]
fn a_plain_thread_gets_its_result() {
    let world = World::of(echo());
    let result = call(&door(&world), &world.cx(), "probe");
    assert_eq!(body(&result), json!({ "args": {} }));
}

#[test]
fn a_thread_inside_any_runtime_gets_its_result() {
    let current = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let multi = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    for runtime in [current, multi] {
        runtime.block_on(async {
            let world = World::of(echo());
            let door = door(&world);
            assert_eq!(call(&door, &world.cx(), "probe").status, Status::Ok);
            // The door, with its runtime, is dropped in here as well.
        });
        let inside = runtime.spawn(async {
            let world = World::of(echo());
            call(&door(&world), &world.cx(), "probe").status
        });
        assert_eq!(runtime.block_on(inside).unwrap(), Status::Ok);
    }
}

#[test]
fn worker_threads_share_one_door() {
    let world = World::of(Arc::new(Scripted::new(|_, _| async {
        tokio::task::yield_now().await;
        Ok(ToolOutput::Text("ok".to_owned()))
    })));
    let door = door(&world);
    let cx = world.cx();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| (0..25).all(|_| call(&door, &cx, "probe").status == Status::Ok))
            })
            .collect();
        assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    });
    assert_eq!(world.recorder.counts(), (200, 200));
}

#[test]
fn a_call_from_inside_a_runtime_is_bounded() {
    let world = World::of(Arc::new(Scripted::new(|_, _| async { std::future::pending().await })));
    let door = door(&world).with_bridged_limit(Duration::from_millis(50));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let result = runtime.block_on(async { call(&door, &world.cx(), "probe") });
    assert_eq!((result.status, result.error_type), (Status::Timeout, Some("tool_timeout")));
    assert!(error_of(&result).contains("probe"));
    assert_eq!(world.recorder.counts(), (1, 1));
}

/// Calls another tool through a door, from inside a handler.
struct Calls(Arc<Mutex<Option<Arc<BlockingDoor>>>>);

impl SyncTool for Calls {
    fn call(&self, _: Args, cx: &CallContext) -> Outcome {
        let door = self.0.lock().clone().unwrap();
        Ok(ToolOutput::Text(call(&door, cx, "probe").content.text()))
    }
}

#[test]
fn a_handler_may_use_the_door_that_runs_it() {
    let slot: Arc<Mutex<Option<Arc<BlockingDoor>>>> = Arc::default();
    let world = World::with(vec![
        entry("probe", "test", echo()),
        entry("blocking", "test", Arc::new(Blocking::new(Calls(Arc::clone(&slot))))),
        entry("inline", "test", Arc::new(Inline::new(Calls(Arc::clone(&slot))))),
    ]);
    let door = Arc::new(door(&world).with_bridged_limit(Duration::from_secs(5)));
    *slot.lock() = Some(Arc::clone(&door));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for name in ["blocking", "inline"] {
        assert_eq!(body(&call(&door, &world.cx(), name)), json!({ "args": {} }), "{name}");
        // From inside a runtime the handler runs on a worker of the door itself.
        let bridged = runtime.block_on(async { call(&door, &world.cx(), name) });
        assert_eq!(body(&bridged), json!({ "args": {} }), "{name}");
    }
    slot.lock().take();
}

type Question = (u64, oneshot::Sender<u64>);

/// A client with a task of its own, made on first use and kept.
#[derive(Default)]
struct Client {
    connection: Mutex<Option<(mpsc::Sender<Question>, Owned<()>)>>,
    connected: Mutex<usize>,
}

impl Client {
    fn connection(&self) -> mpsc::Sender<Question> {
        let mut connection = self.connection.lock();
        let (sender, _) = connection.get_or_insert_with(|| {
            *self.connected.lock() += 1;
            let (tx, mut rx) = mpsc::channel::<Question>(8);
            let serve = async move {
                let mut total = 0;
                while let Some((n, reply)) = rx.recv().await {
                    total += n;
                    reply.send(total).unwrap();
                }
            };
            (tx, Owned::start(serve))
        });
        sender.clone()
    }
}

#[test]
fn a_cached_client_stays_usable_from_call_to_call() {
    let client = Arc::new(Client::default());
    let shared = Arc::clone(&client);
    let world = World::of(Arc::new(Scripted::new(move |_, _| {
        let client = Arc::clone(&shared);
        async move {
            let (tx, rx) = oneshot::channel();
            client.connection().send((1, tx)).await.unwrap();
            Ok(ToolOutput::Text(rx.await.unwrap().to_string()))
        }
    })));
    let door = door(&world);
    let cx = world.cx();
    assert_eq!(call(&door, &cx, "probe").content.text(), "1");
    let from_thread = std::thread::scope(|scope| {
        scope.spawn(|| call(&door, &cx, "probe").content.text()).join().unwrap()
    });
    assert_eq!(from_thread, "2");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let inside = runtime.block_on(async { call(&door, &cx, "probe").content.text() });
    assert_eq!(inside, "3");
    drop(runtime);
    assert_eq!(call(&door, &cx, "probe").content.text(), "4");
    assert_eq!(*client.connected.lock(), 1);
}
