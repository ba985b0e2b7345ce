//! The mail tools against a real Postfix and Dovecot.

use petasos_contract::effect::Effect;
use serde_json::{Value, json};

use crate::bench::{Bench, told};

/// A mailbox of one of the test's people.
fn mailbox(test: &str, who: &str) -> Option<Bench> {
    let known = |name: &str| told(&format!("PETASOS_TEST_MAIL_{name}")).or_else(|| told(name));
    let (Some(imap), Some(smtp), Some(ca), Some(address), Some(password)) = (
        known("MAIL_IMAPS_PORT"),
        known("MAIL_SMTP_PORT"),
        known("MAIL_CA_FILE"),
        known(&format!("MAIL_{who}")),
        known(&format!("MAIL_{who}_PASSWORD")),
    ) else {
        petasos_testkit::skip(test, "mail", "no server: start scripts/services/mail.sh");
        return None;
    };
    let settings = json!({ "mail": {
        "address": address, "imap_host": "localhost", "imap_port": imap.parse::<u16>().unwrap(),
        "smtp_host": "localhost", "smtp_port": smtp.parse::<u16>().unwrap(), "ca_cert": ca,
    }});
    Some(Bench::set_up(&settings, &[("MAIL_PASSWORD", &password)]))
}

/// Words that no other run has used.
fn fresh(what: &str) -> String {
    let mut bytes = [0_u8; 8];
    getrandom::fill(&mut bytes).unwrap();
    format!("{what} {:016x}", u64::from_le_bytes(bytes))
}

/// Looks until a letter has come; mail takes its time.
fn arrived(bench: &Bench, query: &Value) -> Value {
    for _ in 0..100 {
        let found = bench.run("mail_search", query);
        assert_eq!(found["success"], true, "{found}");
        if found["count"] != 0 {
            return found["messages"][0].clone();
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("no letter came: {query}")
}

#[test]
fn a_letter_is_sent_found_read_and_answered() {
    let test = "a_letter_is_sent_found_read_and_answered";
    let (Some(ada), Some(bob)) = (mailbox(test, "PERSON"), mailbox(test, "STRANGER")) else {
        return;
    };
    let subject = fresh("Grüße über Mittag");
    let sent = ada.run(
        "mail_send",
        &json!({
            "to": "Bob <stranger@petasos.test>", "subject": subject, "body": "Um zwölf?\n.\nAda",
        }),
    );
    assert_eq!((&sent["success"], &sent["kept_in"]), (&json!(true), &json!("Sent")), "{sent}");
    let row = arrived(&bob, &json!({ "subject": subject, "from": "person@", "unread": true }));
    assert_eq!(row["subject"], subject.as_str());
    let letter = bob.run("mail_read", &json!({ "id": row["id"] }));
    assert_eq!(letter["text"], "Um zwölf?\n.\nAda", "{letter}");
    let again = arrived(&bob, &json!({ "subject": subject }));
    assert_eq!(again["unread"], true, "reading leaves no mark");

    let answer = bob.run(
        "mail_send",
        &json!({
            "to": ["person@petasos.test"], "body": "Gern", "reply_to_id": row["id"],
        }),
    );
    assert_eq!(answer["success"], true, "{answer}");
    let back = arrived(&ada, &json!({ "subject": subject, "query": "Gern" }));
    assert_eq!(back["subject"], format!("Re: {subject}"));
    assert_eq!(
        ada.run("mail_search", &json!({ "subject": subject, "folder": "Sent" }))["count"],
        1
    );
}

#[test]
fn a_draft_is_kept_and_nobody_is_written_to() {
    let test = "a_draft_is_kept_and_nobody_is_written_to";
    let Some(ada) = mailbox(test, "PERSON") else { return };
    let subject = fresh("Entwurf");
    let args = json!({ "to": ["stranger@petasos.test"], "subject": subject, "body": "Noch nicht" });
    let kept = ada.run("mail_draft", &args);
    assert_eq!((&kept["sent"], &kept["folder"]), (&json!(false), &json!("Drafts")), "{kept}");
    let found = arrived(&ada, &json!({ "subject": subject, "folder": "Drafts" }));
    assert_eq!(found["subject"], subject.as_str());
    let effects = ada.effects("mail_draft", &args);
    assert!(!effects.iter().any(|it| matches!(it, Effect::Send { .. })), "{effects:?}");
}

#[test]
fn everybody_who_is_written_to_is_named_before() {
    let settings = json!({ "mail": { "address": "ada@x.test", "imap_host": "imap.x.test", "smtp_host": "smtp.x.test" } });
    let bench = Bench::set_up(&settings, &[("MAIL_PASSWORD", "p")]);
    let args =
        json!({ "to": ["Bob <BOB@x.test>"], "cc": ["eve@x.test", "bob@x.test"], "body": "x" });
    let all: Vec<Effect> = bench.effects("mail_send", &args).iter().cloned().collect();
    let to = |who: &str| Effect::Send { target: format!("mail:{who}") };
    let reach = |host: &str| Effect::Reach(host.to_owned());
    assert_eq!(
        all,
        [reach("imap.x.test"), reach("smtp.x.test"), to("bob@x.test"), to("eve@x.test")]
    );
    for bad in ["", "nobody", "a@b\r\nBcc: c@d", "a b@c.test", "a@b@c", "ü@x.test", "<a@b>, c@d"] {
        let refused = bench.run("mail_send", &json!({ "to": [bad], "body": "x" }));
        assert_eq!(refused["error_type"], "bad_argument", "{bad}: {refused}");
    }
}

#[test]
fn folders_days_passwords_and_gone_letters_are_told() {
    let test = "folders_days_passwords_and_gone_letters_are_told";
    let Some(ada) = mailbox(test, "PERSON") else { return };
    let kind = |tool: &str, args: Value| ada.run(tool, &args)["error_type"].clone();
    let missing = ada.run("mail_search", &json!({ "folder": "Snet" }));
    assert_eq!(
        (&missing["error_type"], &missing["candidates"][0]),
        (&json!("not_found"), &json!("Sent"))
    );
    assert_eq!(kind("mail_search", json!({ "since": "yesterday" })), "bad_argument");
    assert_eq!(kind("mail_read", json!({ "id": "INBOX:1:1" })), "stale");
    assert_eq!(kind("mail_read", json!({ "id": "x" })), "bad_argument");
    let hostile = json!({ "query": "\" OR ALL {5}\r\na DELETE INBOX ü", "since": "2026-01-02" });
    assert_eq!(ada.run("mail_search", &hostile)["success"], true);

    let mut settings = json!({});
    for key in ["address", "imap_host", "imap_port", "smtp_host", "smtp_port", "ca_cert"] {
        settings["mail"][key] = ada.cx.settings.get(&format!("mail.{key}")).unwrap().clone();
    }
    let wrong = Bench::set_up(&settings, &[("MAIL_PASSWORD", "wrong")]);
    let refused = wrong.run("mail_search", &json!({}));
    assert_eq!(refused["error_type"], "auth", "{refused}");
    let refused = wrong.run("mail_send", &json!({ "to": "bot@petasos.test", "body": "x" }));
    assert_eq!(refused["error_type"], "auth", "{refused}");
}
