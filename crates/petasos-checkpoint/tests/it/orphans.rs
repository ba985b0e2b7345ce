//! Checkpoints of folders that are gone.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use petasos_checkpoint::{Before, orphans};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::middleware::{AroundMiddleware as _, Execution};
use petasos_contract::{Args, CallContext, ToolName, ToolOutput};
use serde_json::json;
use std::sync::Arc;

use crate::project::Project;

#[tokio::test]
async fn checkpoints_of_a_folder_that_is_gone_are_removed_after_a_while_and_no_others() {
    let project = Project::new(&json!({}));
    let root = project.folder.path().canonicalize().unwrap();
    let day = Duration::from_hours(24);
    for (name, days) in [("old", 8), ("young", 1), ("there", 30)] {
        let workspace = root.join(name);
        fs::create_dir(&workspace).unwrap();
        let cx = CallContext { workspace: workspace.clone().into(), ..project.cx.clone() };
        project.checkpoints.take("test", &cx).await.unwrap();
        if name != "there" {
            fs::remove_dir(&workspace).unwrap();
        }
        for entry in fs::read_dir(root.join("home/.petasos/checkpoints")).unwrap() {
            let store = entry.unwrap().path();
            if fs::read(store.join("workspace")).unwrap()
                == workspace.as_os_str().as_encoded_bytes()
            {
                let lock = File::options().write(true).open(store.join("lock")).unwrap();
                lock.set_modified(SystemTime::now() - day * days).unwrap();
            }
        }
    }
    let names = || {
        let gone = orphans(&project.cx.settings).into_iter();
        gone.map(|one| one.workspace.file_name().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(), ["old", "young"]);
    project.put("a", "1");
    let effects = Effects::one(Effect::Write("/w".into()));
    let before = Before::new(Arc::clone(&project.checkpoints));
    let next = |_: Args| {
        Box::pin(async {
            // The sweep runs beside the call.
            tokio::time::sleep(Duration::from_secs(5)).await;
            Ok(ToolOutput::plain_error("ran"))
        }) as _
    };
    let tool = ToolName::new("write_file");
    let call = Execution { tool: &tool, args: Args::default(), effects: &effects };
    tokio::select! {
        done = before.around(call, Box::new(next), &project.cx) => {
            done.unwrap();
        }
        () = async {
            while names().len() == 2 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        } => {}
    }
    assert_eq!(names(), ["young"]);
    for orphan in orphans(&project.cx.settings) {
        orphan.remove().unwrap();
    }
    assert!(names().is_empty());
    assert_eq!(fs::read_dir(root.join("home/.petasos/checkpoints")).unwrap().count(), 3);
}
