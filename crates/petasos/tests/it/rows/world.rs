//! A home in which the condition of every tool is met.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use petasos_testkit::Home;
use serde_json::{Value, json};

use super::found::Found;
use super::screen::{Screen, screen};
use super::site::site;
use super::tools;
use super::trainer_tree::{free_port, tree};
use super::vendors::Vendors;
use crate::bot_api::{self, BotApi};
use crate::loopback::Loopback;
use crate::making::painter;
use crate::petasos;

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct World {
    pub(super) home: Home,
    pub(super) screen: Screen,
    found: Found,
    vendors: Vendors,
    telegram: BotApi,
    site: String,
    subject: String,
}

impl World {
    /// Everything there is; nothing where a service is missing, which is said.
    pub(super) fn open(test: &str, model: &Loopback) -> Option<Self> {
        let found = match Found::all() {
            Ok(found) => found,
            Err(component) => {
                petasos_testkit::skip(test, component, "it is not there");
                return None;
            }
        };
        let screen = screen(test)?;
        found.furnish();
        let home = Home::temp();
        // A name that no other run has used.
        let own = home.user().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let subject = format!("Lunch {}", own.trim_start_matches('.'));
        let (vendors, telegram) = (Vendors::open(), BotApi::new());
        let world = Self { home, screen, found, vendors, telegram, site: site(), subject };
        world.files();
        let settings = world.settings(model).to_string();
        world.home.write(".petasos/config.yaml", settings);
        world.home.write(".petasos/.env", world.variables());
        world.sign_in();
        // Something that was said before.
        let said = petasos(&world.home).run(&["run", "Where are the hats?"]);
        assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
        Some(world)
    }

    /// What the calls of the walk are about.
    pub(super) fn facts(&self) -> Value {
        let site = format!("http://{}/", self.site);
        json!({
            "pages": [site],
            "site": site,
            "link": "@e1",
            "field": "@e2",
            "calendar": "walk",
            "people": [self.found.mail_address],
            "subject": self.subject,
        })
    }

    /// Where programs are found: the trainer's own first.
    pub(super) fn path(&self) -> String {
        format!("{}:/usr/local/bin:/usr/bin:/bin", self.home.user().join("bin").display())
    }

    fn trainer(&self) -> PathBuf {
        self.home.user().join("trainer")
    }

    fn files(&self) {
        let home = &self.home;
        home.write("work/README.md", "# Sample\n\nA sample workspace.\n");
        let program = "fn main() {\n    let sample = 1;\n    drop(sample);\n}\n";
        home.write("work/src/main.rs", program);
        home.write("work/hat.png", bot_api::PICTURE);
        tree(&self.trainer());
        let trainer = self.trainer();
        let server = format!(
            "#!/bin/sh\nPYTHONPATH={0} exec python3 -B {0}/api.py \"$@\"\n",
            trainer.display()
        );
        let server = home.write("bin/run-api", server);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(server, mode).expect("its own file");
        let film = home.workspace().join("film.mp4");
        #[expect(clippy::disallowed_methods, reason = "a test makes its film")]
        let made = Command::new("ffmpeg")
            .args(["-v", "error", "-f", "lavfi", "-i", "color=red:s=64x48:d=1", "-y"])
            .arg(film)
            .status()
            .expect("ffmpeg runs");
        assert!(made.success());
    }

    fn settings(&self, model: &Loopback) -> Value {
        let mut toolsets: Vec<&str> = tools().map(|def| def.toolset).collect();
        toolsets.sort_unstable();
        toolsets.dedup();
        let local = |port: u16| format!("http://127.0.0.1:{port}");
        let site = format!("http://{}", self.site);
        let (painter, _) = painter();
        let found = &self.found;
        let double = json!({ "provider": "custom", "model": "double" });
        json!({
            "model": {
                "provider": "custom", "base_url": model.url, "default": "double",
                "api_key": "sk-loopback-0123456789", "context_length": 1_000_000,
            },
            "approvals": { "mode": "manual" },
            "platform_toolsets": { "acp": toolsets },
            "tools": { "tool_search": { "enabled": "off" } },
            "browser": { "raw_cdp": true },
            "security": { "private_hosts": [self.site] },
            "image_gen": { "provider": "openai", "openai": { "base_url": painter } },
            "video_gen": { "provider": "xai", "xai": { "base_url": format!("{site}/v1") } },
            "tts": { "provider": "espeak" },
            "telegram": { "base_url": self.telegram.url, "base_file_url": self.telegram.url },
            "services": { "endpoints": self.vendors.endpoints(&site) },
            "dav": { "url": found.dav_url, "user": found.dav_user },
            "mail": {
                "address": found.mail_address, "ca_cert": found.mail_ca,
                "imap_host": "localhost", "imap_port": found.imap,
                "smtp_host": "localhost", "smtp_port": found.smtp,
            },
            "sql": { "databases": { "shop": { "url": found.database } } },
            "moa": { "presets": { "default": {
                "reference_models": [double], "aggregator": double,
            } } },
            "rl": {
                "trainer_dir": self.trainer(), "wandb_entity": "team",
                "rollout_url": local(free_port()), "inference_url": local(free_port()),
            },
        })
    }

    fn variables(&self) -> String {
        let found = &self.found;
        let site = format!("http://{}", self.site);
        [
            ("HASS_URL", found.hass_url.as_str()),
            ("HASS_TOKEN", &found.hass_token),
            ("DAV_PASSWORD", &found.dav_password),
            ("MAIL_PASSWORD", &found.mail_password),
            ("DISCORD_BOT_TOKEN", "bot-token"),
            ("FEISHU_APP_ID", "cli_a"),
            ("FEISHU_APP_SECRET", "feishu-secret"),
            ("YUANBAO_APP_ID", "app"),
            ("YUANBAO_APP_SECRET", "bot-secret"),
            ("XAI_API_KEY", "xai-key-0123456789"),
            ("OPENAI_API_KEY", "sk-paint-0123456789abcdef"),
            ("TINKER_API_KEY", "tinker-secret-1"),
            ("WANDB_API_KEY", "wandb-secret-2"),
            ("OPENROUTER_API_KEY", "openrouter-secret-3"),
            ("SPOTIFY_CLIENT_ID", "app-1"),
            ("SEARXNG_URL", &site),
            ("TELEGRAM_BOT_TOKEN", bot_api::TOKEN),
            ("TELEGRAM_ALLOWED_USERS", "7"),
        ]
        .map(|(name, value)| format!("{name}={value}\n"))
        .concat()
    }

    /// The person signs in to Spotify: opens the page, agrees, pastes where it led.
    fn sign_in(&self) {
        #[expect(clippy::disallowed_methods, reason = "tests start the program that they test")]
        let mut program = Command::new(env!("CARGO_BIN_EXE_petasos"))
            .args(["auth", "login", "spotify"])
            .env_clear()
            .env("HOME", self.home.user())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .current_dir(self.home.workspace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut told = BufReader::new(program.stdout.take().expect("a pipe")).lines();
        let mut pages = told.by_ref().map_while(Result::ok);
        let page = pages.find(|line| line.contains("/authorize?")).expect("a page to open");
        let state = page.split("state=").nth(1).and_then(|rest| rest.split('&').next());
        let led = format!(
            "http://127.0.0.1:43827/spotify/callback?code=c-1&state={}\n",
            state.expect("it")
        );
        let mut stdin = program.stdin.take().expect("a pipe");
        stdin.write_all(led.as_bytes()).expect("it reads");
        drop(stdin);
        let rest: Vec<String> = told.map_while(Result::ok).collect();
        assert!(program.wait().expect("its end").success(), "{rest:?}");
    }

    /// What a person at the machine calls: tools that models have on their own platform only.
    pub(super) fn call(&self, tool: &str, args: &str) -> String {
        petasos(&self.home).run(&["tools", "call", tool, args]).stdout
    }

    /// Mail takes its time.
    pub(super) fn letter_has_come(&self) {
        let args = json!({ "subject": self.subject }).to_string();
        until(|| self.call("mail_search", &args).contains("\"messages\":[{"));
    }

    /// The last of the three programs of a training has begun.
    pub(super) fn training_runs(&self) {
        until(|| {
            let notes = std::fs::read_to_string(self.trainer().join("notes.jsonl"));
            notes.is_ok_and(|notes| notes.contains("env serve"))
        });
    }

    /// What nobody but its own service may see: not the model, not the editor, not a file of the
    /// home but those where keys are kept.
    pub(super) fn keeps_its_secrets(&self, told: &[(&str, String)]) {
        let own = self.variables();
        let keys = own.lines().filter_map(|line| line.split_once('='));
        let secret = ["TOKEN", "KEY", "SECRET", "PASSWORD"];
        let keys = keys
            .filter(|(name, key)| secret.iter().any(|word| name.ends_with(word)) && key.len() >= 8);
        let mut secrets: Vec<(&str, &str)> = keys.collect();
        secrets.extend([("the login", "token-1"), ("its renewal", "refresh-1")]);
        assert!(secrets.len() > 10, "{secrets:?}");
        let mut places: Vec<(String, Vec<u8>)> = Vec::new();
        files(self.home.user(), &mut places);
        places.retain(|(place, _)| !place.ends_with("/.env") && !place.ends_with("/auth.json"));
        let told =
            told.iter().map(|(place, text)| ((*place).to_owned(), text.clone().into_bytes()));
        places.extend(told);
        for (place, bytes) in &places {
            for (name, key) in &secrets {
                let is_there = bytes.windows(key.len()).any(|piece| piece == key.as_bytes());
                assert!(!is_there, "{name} is in {place}");
            }
        }
    }

    /// Nobody was only talked about.
    pub(super) fn was_asked(&self) {
        self.vendors.were_asked();
        assert_eq!(self.telegram.sent(1)[0]["text"], "The hats are ready.");
    }
}

/// Waits for something that takes its time; whether it came is seen by what follows.
fn until(mut holds: impl FnMut() -> bool) {
    let late = Instant::now() + PATIENCE;
    while !holds() && Instant::now() < late {
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn files(folder: &std::path::Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            files(&path, found);
        } else if let Ok(bytes) = std::fs::read(&path) {
            found.push((path.display().to_string(), bytes));
        }
    }
}
