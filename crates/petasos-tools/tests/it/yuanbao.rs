//! The `yb_*` tools against a stand-in of the vendor. E19 151.

use petasos_contract::effect::Effect;
use serde_json::json;

use crate::bench::Bench;
use crate::double::Double;
use crate::yuanbao_vendor::{fields, socket, text, vendor};

fn bench(double: &Double, socket: &str) -> Bench {
    let places =
        json!({ "yuanbao": double.url, "yuanbao_ws": socket, "yuanbao_files": double.url });
    let settings = json!({ "services": { "endpoints": places } });
    Bench::set_up(&settings, &[("YUANBAO_APP_ID", "app"), ("YUANBAO_APP_SECRET", "bot-secret")])
}

#[test]
fn e151_a_member_is_found_never_guessed_and_gets_the_message() {
    let (double, (url, asked)) = (vendor(), socket());
    let bench = bench(&double, &url);
    let group = bench.run("yb_query_group_info", &json!({ "group_code": "9" }));
    assert_eq!((&group["group_name"], &group["member_count"]), (&json!("Hats"), &json!(3)));
    assert_eq!(group["owner"], json!({ "user_id": "u1", "nickname": "Ada" }));
    let bots = json!({ "group_code": "9", "action": "list_bots", "mention": true });
    let bots = bench.run("yb_query_group_members", &bots);
    assert_eq!(bots["members"], json!([{ "user_id": "b1", "nickname": "Helper", "role": "bot" }]));
    assert!(bots["mention_hint"].is_string());
    let nobody = json!({ "group_code": "9", "action": "find", "name": "Zed" });
    assert_eq!(bench.run("yb_query_group_members", &nobody)["error_type"], "not_found");
    let many = json!({ "group_code": "9", "name": "ad", "message": "hello" });
    let many = bench.run("yb_send_dm", &many);
    assert_eq!(many["error_type"], "ambiguous", "{many}");
    assert_eq!(many["candidates"].as_array().unwrap().len(), 2);
    assert!(asked.lock().iter().all(|(command, _)| command != "send_c2c_message"));
    // A name that is meant exactly is enough.
    let one =
        bench.run("yb_send_dm", &json!({ "group_code": "9", "name": "Ada", "message": "hello" }));
    assert_eq!((&one["success"], &one["chat_id"]), (&json!(true), &json!("direct:u1")), "{one}");
    let sent = asked.lock().iter().rfind(|it| it.0 == "send_c2c_message").unwrap().1.clone();
    let sent = fields(&sent);
    assert_eq!(
        (text(&sent, 2), text(&sent, 3), text(&sent, 6)),
        ("u1".into(), "bot7".into(), "9".into())
    );
    let content = fields(&fields(&sent[3].1)[1].1);
    assert_eq!(text(&content, 1), "hello");
    let effects = bench.effects("yb_send_dm", &json!({ "user_id": "u1", "message": "x" }));
    assert!(
        effects.iter().any(|it| *it == Effect::Send { target: "yuanbao:direct:u1".to_owned() })
    );
}

#[test]
fn e151_a_sticker_and_a_picture_arrive_and_a_refusal_is_told() {
    let (double, (url, asked)) = (vendor(), socket());
    let bench = bench(&double, &url);
    let found = bench.run("yb_search_sticker", &json!({ "query": "applause" }));
    assert_eq!(found["results"][0]["name"], "鼓掌", "{found}");
    let sent = bench.run("yb_send_sticker", &json!({ "sticker": "鼓掌", "chat_id": "direct:u3" }));
    assert_eq!(sent["sticker"]["sticker_id"], "183", "{sent}");
    let frame = asked.lock().last().unwrap().1.clone();
    let element = fields(&fields(&frame)[3].1);
    assert_eq!(text(&element, 1), "TIMFaceElem");
    assert!(text(&fields(&element[1].1), 4).contains("\"sticker_id\":\"183\""));
    let unknown = bench.run("yb_send_sticker", &json!({ "sticker": "nothing", "chat_id": "u3" }));
    assert_eq!(unknown["error_type"], "not_found", "{unknown}");
    let muted = bench.run("yb_send_sticker", &json!({ "sticker": "ok", "chat_id": "group:9" }));
    assert_eq!((&muted["error_type"], &muted["detail"]), (&json!("upstream"), &json!("muted")));
    bench.file("cat.png", b"\x89PNG....");
    let media = json!({ "user_id": "u3", "media_files": [{ "path": "cat.png" }] });
    let media = bench.run("yb_send_dm", &media);
    assert_eq!(media["success"], true, "{media}");
    let frame = asked.lock().last().unwrap().1.clone();
    let element = fields(&fields(&frame)[3].1);
    assert_eq!(text(&element, 1), "TIMImageElem");
    assert!(double.lines().contains(&"PUT /up/cat.png".to_owned()), "{:?}", double.lines());
    let missing =
        bench.run("yb_send_dm", &json!({ "user_id": "u3", "media_files": [{ "path": "no" }] }));
    assert_eq!(missing["error_type"], "not_found", "{missing}");
}
