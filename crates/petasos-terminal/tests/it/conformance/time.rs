//! Commands that are cut short, many at once, and what is left of them.

use std::time::{Duration, Instant};

use petasos_contract::terminal::{Ended, Terminal};
use petasos_contract::wait::Owned;

use crate::conformance::cases;
use crate::stage::{command, within};

cases! { CASES;
    "a command whose time is up ends with all its children" => |bed| {
        let begun = Instant::now();
        let ran = bed.stage.run_in(&bed.stage.cx(), within(1.0, "echo early; sh -c 'sleep 7101; :' ; :")).await;
        assert!(matches!(ran.ended, Ended::TimedOut(_)), "{ran:?}");
        assert_eq!(ran.output, "early\n");
        assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
        assert_eq!(bed.running("sleep.7101").await, 0);
    }
    "one that ignores TERM is killed" => |bed| {
        let script = "trap '' TERM; sh -c 'trap \"\" TERM; while :; do sleep 7102; done'";
        let ran = bed.stage.run_in(&bed.stage.cx(), within(1.0, script)).await;
        assert!(matches!(ran.ended, Ended::TimedOut(_)), "{ran:?}");
        assert_eq!(bed.running("sleep.7102").await, 0);
    }
    "one that left its session is killed too" => |bed| {
        let script = "command -v setsid >/dev/null || exit 9; setsid sh -c 'sleep 7103; :' & sleep 7103";
        let ran = bed.stage.run_in(&bed.stage.cx(), within(1.0, script)).await;
        assert!(matches!(ran.ended, Ended::TimedOut(_)), "{ran:?}");
        assert_eq!(bed.running("sleep.7103").await, 0);
    }
    "a cancelled command ends with all its children" => |bed| {
        let cx = bed.stage.session("cancel");
        let cancel = cx.cancel.clone();
        let engine = std::sync::Arc::clone(&bed.stage.engine);
        let marker = format!("{}/cancel", bed.folder);
        let script = format!("touch {marker}; sleep 7104");
        let task = Owned::start(async move { engine.run(command(&script), &cx).await });
        bed.until(&format!("test -e {marker}")).await;
        cancel.cancel();
        let ran = task.join().await.unwrap().unwrap();
        assert_eq!(ran.ended, Ended::Interrupted);
        assert_eq!(bed.running("sleep.7104").await, 0);
    }
    "a dropped call leaves nothing running" => |bed| {
        let cx = bed.stage.session("drop");
        let engine = std::sync::Arc::clone(&bed.stage.engine);
        let marker = format!("{}/drop", bed.folder);
        let script = format!("touch {marker}; sleep 7105");
        let task = Owned::start(async move { engine.run(command(&script), &cx).await });
        bed.until(&format!("test -e {marker}")).await;
        drop(task);
        bed.until("! grep -la '[s]leep.7105' /proc/[0-9]*/cmdline 2>/dev/null | grep -q .").await;
    }
    "eight commands at once do not mix" => |bed| {
        let tasks: Vec<_> = (0..8)
            .map(|number| {
                let engine = std::sync::Arc::clone(&bed.stage.engine);
                let cx = bed.stage.session(&format!("many-{number}"));
                let script = format!("for i in 1 2 3 4 5; do echo {number}; done; exit {number}");
                Owned::start(async move { engine.run(command(&script), &cx).await.unwrap() })
            })
            .collect();
        for (number, task) in (0..8).zip(tasks) {
            let ran = task.join().await.unwrap();
            assert_eq!(ran.ended, Ended::Exited(number));
            assert_eq!(ran.output, format!("{number}\n").repeat(5));
        }
    }
    "commands leave no files and no processes of ours behind" => |bed| {
        for script in ["true", "exit 3", "cat", "sleep 0.1 & wait"] {
            bed.stage.run(script).await;
        }
        let temp = bed.place().await.facts().temp.to_string();
        let left = bed.stage.run(&format!("ls -A '{temp}' | grep '^.petasos-' | grep -v jobs; true")).await;
        assert_eq!(left.output, "");
        // Two shells may wait for the next commands; whatever else bears a mark was left behind.
        let ours = "test -z \"$PETASOS_RUN\" || test $(grep -lsz '^PETASOS_RUN=.' /proc/[0-9]*/environ \
                    | xargs -r grep -Lsz \"PETASOS_RUN=$PETASOS_RUN\" | wc -l) -le 2";
        bed.until(ours).await;
    }
    "the place says that it is well" => |bed| {
        use petasos_contract::environment::Health;
        let health = bed.place().await.health().await;
        assert!(!matches!(health, Health::Lost { .. }), "{health:?}");
    }
}
