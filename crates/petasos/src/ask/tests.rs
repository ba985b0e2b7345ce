//! The terminal: what a person sees, and which keys agree.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use petasos_contract::approval::{
    Answer, ApprovalRequest, Approver, Digest, Finding, FindingKind, Scope, Who,
};
use petasos_contract::context::Surface;
use petasos_contract::settings::{Parts, Source, Variable};
use petasos_contract::{BoxFuture, CallContext, Secret, SessionId, Settings, ToolName};
use serde_json::{Value, json};

use super::{Console, Input, Look, TerminalApprover, shown};

fn cx(values: &Value) -> CallContext {
    let source = Source::Environment { variable: "BOX_TOKEN".to_owned() };
    let variable = Variable { value: Secret::new("swordfish-0123"), source };
    let settings = Settings::new(Parts {
        values: values.as_object().cloned().unwrap_or_default(),
        variables: [("BOX_TOKEN".to_owned(), variable)].into(),
        ..Parts::default()
    });
    CallContext::new(Arc::new(settings), Surface::Cli, SessionId::new("one"))
}

fn request(subject: &str, widest: Scope) -> ApprovalRequest {
    ApprovalRequest {
        tool: ToolName::new("terminal"),
        subject: subject.to_owned(),
        cwd: Some("/srv/app".into()),
        findings: vec![Finding {
            key: "recursive delete".into(),
            why: "deletes a directory".to_owned(),
            kind: FindingKind::Rule,
            span: subject.find("rm").map(|start| start..subject.len()),
            widest,
            stores: Some("recursive delete: only /srv/app/build and below".to_owned()),
        }],
        edits: Vec::new(),
        digest: Digest([7; 32]),
        widest,
    }
}

fn yes(scope: Scope) -> Answer {
    Answer::Allowed { scope, by: Who::Person(None) }
}

#[derive(Default)]
struct Keyboard {
    lines: Mutex<VecDeque<Input>>,
    screen: Mutex<String>,
}

impl Keyboard {
    fn with(lines: &[Input]) -> Self {
        Self { lines: Mutex::new(lines.iter().cloned().collect()), screen: Mutex::default() }
    }
}

impl Console for &Keyboard {
    fn show(&self, text: &str) -> io::Result<()> {
        self.screen.lock().unwrap().push_str(text);
        Ok(())
    }

    fn line(&self) -> BoxFuture<'_, io::Result<Input>> {
        let next = self.lines.lock().unwrap().pop_front();
        Box::pin(async move {
            match next {
                Some(line) => Ok(line),
                None => std::future::pending().await,
            }
        })
    }
}

async fn answer(input: Input, widest: Scope) -> Answer {
    let keyboard = Keyboard::with(&[input]);
    let approver = TerminalApprover::new(&keyboard);
    approver.ask(&request("rm -r x", widest), &cx(&json!({}))).await
}

#[tokio::test]
async fn nothing_agrees_by_itself() {
    let line = |text: &str| Input::Line(text.to_owned());
    for input in [
        line(""),
        line("n"),
        line("yes please"),
        line("\r"),
        line("sudo"),
        Input::End,
        Input::Interrupted,
    ] {
        let got = answer(input.clone(), Scope::Always).await;
        assert!(matches!(got, Answer::Denied { by: Who::Person(None), .. }), "{input:?}: {got:?}");
    }
    assert_eq!(answer(line("s"), Scope::Always).await, yes(Scope::Session));
    for agreed in ["y", "yes", "Y", "o"] {
        assert_eq!(answer(line(agreed), Scope::Once).await, yes(Scope::Once));
    }
    assert!(matches!(answer(line("a"), Scope::Session).await, Answer::Denied { .. }));
}

#[tokio::test(start_paused = true)]
async fn silence_expires_after_the_configured_time() {
    let keyboard = Keyboard::default();
    let approver = TerminalApprover::new(&keyboard);
    for (values, seconds) in [(json!({}), 60), (json!({"approvals": {"timeout": 5}}), 5)] {
        let got = approver.ask(&request("rm -r x", Scope::Always), &cx(&values)).await;
        assert_eq!(got, Answer::Expired { after: Duration::from_secs(seconds) });
    }
}

#[tokio::test(start_paused = true)]
async fn one_question_at_a_time() {
    let line = |text: &str| Input::Line(text.to_owned());
    let keyboard = Keyboard::with(&[line("o"), line("d not this")]);
    let approver = TerminalApprover::new(&keyboard);
    let cx = cx(&json!({}));
    let (first, second) = (request("rm -r a", Scope::Always), request("rm -r b", Scope::Always));
    let (one, two) = tokio::join!(approver.ask(&first, &cx), approver.ask(&second, &cx));
    assert_eq!(one, yes(Scope::Once));
    let comment = Some("not this".to_owned());
    assert_eq!(two, Answer::Denied { by: Who::Person(None), comment });
}

#[test]
fn a_person_sees_the_place_the_reasons_and_nothing_secret_or_hidden() {
    let settings = cx(&json!({})).settings;
    let subject = "echo swordfish-0123 \u{1b}[2K\u{202e}; rm -r build";
    let text = shown(&request(subject, Scope::Always), &settings, Look::Plain);
    assert!(text.contains("»rm -r build«"), "{text}");
    assert!(text.contains("recursive delete: deletes a directory"), "{text}");
    assert!(text.contains("in /srv/app\n"), "{text}");
    assert!(text.contains("echo [masked] \\u{1b}[2K\\u{202e};"), "{text}");
    assert!(!text.contains("swordfish") && !text.contains('\u{1b}'), "{text}");
    let coloured = shown(&request("rm -r build", Scope::Once), &settings, Look::Colour);
    assert!(coloured.contains("\u{1b}[1;31mrm -r build\u{1b}[0m"), "{coloured}");
}

#[tokio::test]
async fn always_is_offered_only_where_it_may_be_granted() {
    for (widest, offered) in [(Scope::Once, false), (Scope::Session, false), (Scope::Always, true)]
    {
        let keyboard = Keyboard::with(&[Input::End]);
        TerminalApprover::new(&keyboard).ask(&request("rm -r x", widest), &cx(&json!({}))).await;
        assert_eq!(keyboard.screen.lock().unwrap().contains("[a]lways"), offered);
    }
}
