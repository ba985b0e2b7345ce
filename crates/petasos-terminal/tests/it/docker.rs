//! Containers of a real engine: what is limited, what is kept, what a fault looks like.

mod faults;
mod making;

use std::process::Command;

use serde_json::{Value, json};

use crate::stage::Stage;

pub(crate) const IMAGE: &str = "petasos-test:latest";
pub(crate) const BUSYBOX: &str = "petasos-busybox:latest";

/// A running engine.
pub(crate) struct Engine {
    pub(crate) host: String,
    /// The program to use in place of `docker`, such as `podman`.
    program: Option<String>,
}

/// The engine of `scripts/services/docker.sh`, or a word on why the test does not run. Another
/// program with the same images is tried by `PETASOS_TEST_DOCKER_PROGRAM=/path/to/podman`.
#[expect(clippy::disallowed_methods, reason = "the service tells its address by a variable")]
pub(crate) fn engine(test: &str) -> Option<Engine> {
    let told = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let host = told("PETASOS_TEST_DOCKER_DOCKER_HOST").or_else(|| told("DOCKER_HOST"));
    let Some(host) = host else {
        petasos_testkit::skip(test, "docker", "no engine: start scripts/services/docker.sh");
        return None;
    };
    Some(Engine { host, program: told("PETASOS_TEST_DOCKER_PROGRAM") })
}

impl Engine {
    /// A stage whose commands run in a container.
    pub(crate) fn stage(&self, terminal: &Value) -> Stage {
        let mut whole = json!({ "backend": "docker", "docker_image": IMAGE });
        for (key, value) in terminal.as_object().unwrap() {
            whole[key] = value.clone();
        }
        let mut stage = Stage::with(&whole);
        stage.variable("DOCKER_HOST", &self.host);
        if let Some(program) = &self.program {
            stage.variable("PETASOS_DOCKER_BINARY", program);
        }
        stage
    }

    /// Asks the engine directly.
    #[expect(clippy::disallowed_methods, reason = "what is compared with")]
    pub(crate) fn ask(&self, words: &[&str]) -> String {
        let program = self.program.as_deref().unwrap_or("docker");
        let output = Command::new(program).args(words).env("DOCKER_HOST", &self.host).output();
        let output = output.unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "docker {words:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// The containers of one stage.
    pub(crate) fn containers(&self, stage: &Stage) -> Vec<String> {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut home = DefaultHasher::new();
        stage.settings().home().hash(&mut home);
        let profile = format!("label=hermes-profile={:016x}", home.finish());
        let told = self.ask(&["ps", "-aq", "--no-trunc", "--filter", &profile]);
        told.lines().map(str::to_owned).collect()
    }
}
