//! The vendors of the walk: doubles that hold every request against the published interface.

use serde_json::{Value, json};

use super::double::{Double, Said, Seen};
use super::yuanbao_vendor;

const DISCORD: &str = include_str!("../../../../petasos-tools/tests/doubles/discord.json");
const FEISHU: &str = include_str!("../../../../petasos-tools/tests/doubles/feishu.json");
const SPOTIFY: &str = include_str!("../../../../petasos-tools/tests/doubles/spotify.json");
const WANDB: &str = include_str!("../../../../petasos-tools/tests/doubles/wandb.json");
const XAI: &str = include_str!("../../../../petasos-tools/tests/doubles/xai.json");
/// An app that may see members and contents.
const FLAGS: u64 = 1 << 15 | 1 << 19;

pub(super) struct Vendors {
    discord: Double,
    feishu: Double,
    spotify: Double,
    wandb: Double,
    xai: Double,
    yuanbao: Double,
    socket: String,
}

impl Vendors {
    pub(super) fn open() -> Self {
        let (socket, _) = yuanbao_vendor::socket();
        Self {
            discord: Double::start(DISCORD, "/api/v10", discord),
            feishu: Double::start(FEISHU, "", feishu),
            spotify: Double::start(SPOTIFY, "/v1", spotify),
            wandb: Double::start(WANDB, "", wandb),
            xai: Double::start(XAI, "/v1", xai),
            yuanbao: yuanbao_vendor::vendor(),
            socket,
        }
    }

    /// Where they are, for `services.endpoints`.
    pub(super) fn endpoints(&self, accounts: &str) -> Value {
        json!({
            "discord": self.discord.url,
            "feishu": self.feishu.url,
            "spotify": self.spotify.url,
            "spotify_accounts": accounts,
            "wandb": self.wandb.url,
            "xai": self.xai.url,
            "yuanbao": self.yuanbao.url,
            "yuanbao_ws": self.socket,
            "yuanbao_files": self.yuanbao.url,
        })
    }

    /// Each was really asked.
    pub(super) fn were_asked(&self) {
        for double in
            [&self.discord, &self.feishu, &self.spotify, &self.wandb, &self.xai, &self.yuanbao]
        {
            assert!(!double.lines().is_empty(), "{} was not asked", double.url);
        }
        assert_eq!(self.spotify.seen().len(), 7, "{:?}", self.spotify.lines());
    }
}

fn discord(seen: &Seen) -> Said {
    assert_eq!(seen.headers["authorization"], "Bot bot-token");
    Said::ok(match seen.path.as_str() {
        "/applications/@me" => json!({ "id": "1", "flags": FLAGS }),
        "/users/@me/guilds" => json!([{ "id": "1", "name": "Hats", "owner": false }]),
        _ => json!([{ "id": "11", "content": "hi", "author": { "id": "9", "username": "ada" },
            "timestamp": "2026-01-01T00:00:00Z", "edited_timestamp": null, "pinned": false,
            "attachments": [], "reactions": [] }]),
    })
}

fn feishu(seen: &Seen) -> Said {
    if seen.path.ends_with("tenant_access_token/internal") {
        return Said::ok(
            json!({ "code": 0, "msg": "ok", "tenant_access_token": "t-1", "expire": 7200 }),
        );
    }
    let data = match (seen.method.as_str(), seen.path.rsplit('/').next()) {
        ("GET", Some("raw_content")) => json!({ "content": "Felt hats\n" }),
        ("GET", _) => json!({ "items": [{ "comment_id": "7" }], "has_more": false }),
        _ => json!({ "comment_id": "8" }),
    };
    Said::ok(json!({ "code": 0, "msg": "success", "data": data }))
}

fn spotify(seen: &Seen) -> Said {
    assert_eq!(seen.headers["authorization"], "Bearer token-1");
    Said::ok(match seen.path.as_str() {
        "/search" => json!({ "tracks": { "items": [{ "id": "1", "name": "Felt Hat" }] } }),
        "/me/player/devices" => json!({ "devices": [{ "id": "d1", "name": "Kitchen" }] }),
        "/me/player/queue" => json!({ "currently_playing": null, "queue": [] }),
        "/me/player" => json!({ "is_playing": true, "item": { "name": "Felt Hat" } }),
        _ => json!({ "name": "Hats", "items": [{ "id": "1" }] }),
    })
}

fn wandb(seen: &Seen) -> Said {
    if seen.body["query"].as_str().is_some_and(|query| query.contains("history")) {
        let rows = json!(["{\"_step\":1}"]);
        return Said::ok(json!({ "data": { "project": { "run": { "history": rows } } } }));
    }
    let summary = "{\"_step\":7,\"train/reward_mean\":0.5}";
    let node = json!({ "name": "abc", "displayName": "x", "state": "running",
        "summaryMetrics": summary });
    Said::ok(json!({ "data": { "project": { "runs": { "edges": [{ "node": node }] } } } }))
}

fn xai(seen: &Seen) -> Said {
    assert_eq!(seen.headers["authorization"], "Bearer xai-key-0123456789");
    Said::ok(json!({ "id": "r1", "citations": ["https://x.com/a/status/1"], "output": [
        { "type": "message", "role": "assistant", "content": [
            { "type": "output_text", "text": "Hats", "annotations": [] }] }] }))
}
