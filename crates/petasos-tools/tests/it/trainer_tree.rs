//! A checkout of a trainer that only notes how its programs are started.

use std::net::TcpListener;
use std::path::Path;

/// Notes how it was started: its words and which keys it was given.
const NOTE: &str = r#"
import json, os, sys
def note(name):
    keys = sorted(k for k, v in os.environ.items() if "secret" in v)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "notes.jsonl"), "a") as f:
        f.write(json.dumps({"name": name, "argv": sys.argv, "keys": keys}) + "\n")
"#;
const SERVER: &str = r#"
import http.server
class Quiet(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
    def log_message(self, *a):
        pass
def serve(port):
    http.server.ThreadingHTTPServer(("127.0.0.1", port), Quiet).serve_forever()
"#;
const BASE: &str = r#"
class Info:
    def __init__(self, annotation, default, description=""):
        self.annotation, self.default, self.description = annotation, default, description
class BaseEnvConfig:
    model_fields = {
        "group_size": Info(int, 16, "Answers a step"),
        "total_steps": Info(int, 10, "Steps"),
        "wandb_project": Info(str, "", "Project"),
    }
class BaseEnv:
    @classmethod
    def config_init(cls):
        return BaseEnvConfig(), []
"#;
const ENVIRONMENT: &str = r#"
import json, sys, time
from atroposlib.envs.base import BaseEnv
class SumsEnv(BaseEnv):
    """Sums of two numbers."""
    name = "sums"
if __name__ == "__main__":
    from fake.notes import note
    note("env " + sys.argv[1])
    if sys.argv[1] == "process":
        words = dict(zip(sys.argv[2::2], sys.argv[3::2]))
        with open(words["--env.data_path_to_save_groups"], "w") as f:
            for _ in range(int(words["--env.total_steps"])):
                f.write(json.dumps({"scores": [1.0, -1.0]}) + "\n")
    else:
        print("serving", flush=True)
        time.sleep(600)
"#;
const TRAINER: &str = r#"
import json, sys
from fake.notes import note
from fake.server import serve
note("trainer")
config = json.load(open(sys.argv[2]))
assert config["env"]["total_steps"] == 2500, config
serve(int(config["openai"][0]["base_url"].split(":")[2].split("/")[0]))
"#;
const API: &str = r#"
import sys
from fake.notes import note
from fake.server import serve
note("api")
serve(int(sys.argv[2]))
"#;

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

pub(crate) fn tree(root: &Path) {
    for (name, text) in [
        ("atroposlib/envs/base.py", BASE),
        ("tinker_atropos/environments/sums.py", ENVIRONMENT),
        ("tinker_atropos/environments/broken.py", "class Broken(BaseEnv):\n    x = (\n"),
        ("fake/notes.py", NOTE),
        ("fake/server.py", SERVER),
        ("launch_training.py", TRAINER),
        ("api.py", API),
    ] {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        #[expect(clippy::disallowed_methods, reason = "a test's own file needs no atomic writer")]
        std::fs::write(&path, text).unwrap();
    }
}
