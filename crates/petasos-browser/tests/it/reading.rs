//! What a model reads of a page: lines, states, frames, shadow roots, what is hidden, parts.

use petasos_browser::SnapshotAsk;

use crate::kit::{Kit, body, reference};

const FORM: &str = r#"
<h1>Order form</h1>
<form aria-label="Order">
  <label>Name <input required placeholder="Your name"></label>
  <label>Password <input type="password" value="secret"></label>
  <label>Size <select><option>Small</option><option selected>Medium</option></select></label>
  <label><input type="radio" name="c" checked> Blue</label>
  <label>File <input type="file"></label>
  <button>Send order</button>
  <button disabled>Not yet</button>
</form>
<div role="status">Nothing yet</div>
<a href="https://other.example/terms">Terms</a>
<a href="/here">Here</a>
<table aria-label="T"><tr><th>A</th><th>B</th></tr><tr><td>1</td><td><button>Del</button></td></tr></table>
"#;

// Acceptance 47: a golden of the compact snapshot.
#[tokio::test]
async fn a_form_is_told_in_the_words_of_the_contract() {
    let Some(kit) = Kit::start("a_form_is_told").await else { return };
    let answer = kit.open(FORM).await;
    let heading = answer["snapshot"].as_str().unwrap().lines().next().unwrap();
    assert!(heading.starts_with("tab t1 of 1 · \"Test\" · http://127.0.0.1:"), "{heading}");
    let wanted = r#"- heading "Order form" h1
- form "Order"
  - textbox "Name" @e1 required placeholder="Your name"
  - textbox "Password" @e2 password filled=6
  - combobox "Size" @e3 collapsed = "Medium"
    - option "Small" @e4
    - option "Medium" @e5 selected
  - radio "Blue" @e6 checked
  - file "File" @e7 = "No file chosen"
  - button "Send order" @e8
  - button "Not yet" @e9 disabled
- status: "Nothing yet"
- link "Terms" @e10 → other.example
- link "Here" @e11
- table "T"
  - row: "A" | "B"
  - row: "1" | "Del"
    - button "Del" @e12"#;
    assert_eq!(body(&answer), wanted);
    assert_eq!(
        (answer["status"].as_u64(), answer["element_count"].as_u64()),
        (Some(200), Some(12))
    );
    assert!(!answer["snapshot"].as_str().unwrap().contains("secret"));
    kit.end().await;
}

// Acceptance 48, 49, 50, 51: numbers belong to nodes.
#[tokio::test]
async fn a_number_stays_with_its_node_and_dies_with_it() {
    let Some(kit) = Kit::start("a_number_stays").await else { return };
    kit.open("<ul id=l><li><button>A</button><li><button>B</button></ul><button id=go onclick=\"location='/next'\">Go</button>").await;
    kit.server.page("/next", "<button>Other</button>");
    let (a, b) = {
        let lines = kit.lines().await;
        (reference(&lines, "\"A\""), reference(&lines, "\"B\""))
    };
    kit.eval("for(let i=0;i<50;i++){const e=document.createElement('li');e.innerHTML='<button>N'+i+'</button>';l.prepend(e)} l.append(l.children[50]); 1").await;
    let lines = kit.full().await;
    assert_eq!((reference(&lines, "\"A\""), reference(&lines, "\"B\"")), (a.clone(), b.clone()));
    kit.eval("const old=[...document.querySelectorAll('button')].find(e=>e.textContent==='A'); const n=old.cloneNode(true); old.replaceWith(n); 1").await;
    let error = kit.click(&a).await.unwrap_err();
    assert_eq!((error.kind, error.extra["reason"].as_str()), ("stale", Some("removed")));
    let candidate = error.extra["candidates"][0]["ref"].as_str().unwrap().to_owned();
    assert!(candidate != a, "{candidate}");
    let go = reference(&kit.lines().await, "\"Go\"");
    assert_eq!(kit.click(&go).await.unwrap()["navigated"], true);
    let error = kit.click(&b).await.unwrap_err();
    assert_eq!((error.kind, error.extra["reason"].as_str()), ("stale", Some("navigated")));
    let other = reference(&kit.lines().await, "\"Other\"");
    assert!(other.trim_start_matches("@e").parse::<u32>().unwrap() > 52, "{other}");
    assert_eq!(kit.click("@e9999").await.unwrap_err().kind, "not_found");
    kit.end().await;
}

// Acceptance 52, 53: frames of the same and of another process, and both kinds of shadow root.
#[tokio::test]
async fn frames_and_shadow_roots_are_in_the_tree_and_can_be_clicked() {
    let Some(kit) = Kit::start("frames_and_shadow_roots").await else { return };
    kit.server.page("/inner", "<button onclick=\"this.textContent='Pressed'\">Inside</button>");
    let port = kit.server.port;
    // Another host name is another site, and so another process.
    let html = format!(
        "<iframe title=near src=/inner></iframe>
         <iframe title=far src='http://localhost:{port}/inner'></iframe>
         <iframe title=boxed sandbox='allow-scripts' srcdoc='<button>Boxed</button>'></iframe>
         <div id=open></div><div id=closed></div><script>
         open_=document.getElementById('open').attachShadow({{mode:'open'}});open_.innerHTML='<button>Open shadow</button>';
         c=document.getElementById('closed').attachShadow({{mode:'closed'}});c.innerHTML='<button onclick=\"window.hit=1\">Closed shadow</button>';</script>"
    );
    kit.server.page("/page", &html);
    let url = format!("http://127.0.0.1:{port}/page");
    // Two pairs are opened: the page's own, and the frame's.
    kit.browsers.navigate(&kit.cx, &format!("http://localhost:{port}/inner"), true).await.unwrap();
    let answer = kit.try_open(&url).await.unwrap();
    let lines = body(&answer);
    for words in ["\"Boxed\"", "\"Open shadow\"", "\"Closed shadow\""] {
        assert!(lines.contains(words), "{words} in\n{lines}");
    }
    assert_eq!(lines.matches("\"Inside\"").count(), 2, "{lines}");
    kit.click(&reference(&lines, "\"Closed shadow\"")).await.unwrap();
    assert_eq!(kit.eval("window.hit").await, 1);
    let inside: Vec<String> = lines
        .lines()
        .filter(|line| line.contains("\"Inside\""))
        .map(|line| reference(line, "Inside"))
        .collect();
    for reference in inside {
        let answer = kit.click(&reference).await.unwrap();
        assert!(answer["changes"].as_str().unwrap_or_default().contains("Pressed"), "{answer:?}");
    }
    kit.end().await;
}

// Acceptance 54, 55, 58: what nobody sees is not told, or told as unseen.
#[tokio::test]
async fn hidden_things_are_left_out_or_marked() {
    let Some(kit) = Kit::start("hidden_things").await else { return };
    kit.open("<p style='display:none'>none</p><p style='visibility:hidden'>invisible</p><p hidden>attr</p>
        <div inert><button>Inert</button></div><details><summary>More</summary>closed words</details>
        <p style='opacity:0'>clear words</p><p style='font-size:0'>tiny words</p>
        <p style='position:absolute;left:-9999px'>far words</p>
        <input type=checkbox style='opacity:0' aria-label='Styled'>
        <p>vis\u{200b}ible\u{202e} words</p><p id=s></p><script>s.textContent='lone \\ud83d half'</script>").await;
    let compact = kit.lines().await;
    for gone in [
        "none",
        "invisible",
        "attr",
        "Inert",
        "closed words",
        "clear words",
        "tiny words",
        "far words",
    ] {
        assert!(!compact.contains(gone), "{gone} in\n{compact}");
    }
    assert!(compact.contains("checkbox \"Styled\" @e") && compact.contains("unseen"), "{compact}");
    assert!(compact.contains("visible words") && compact.contains("lone"), "{compact}");
    let full = kit.full().await;
    assert!(full.contains("text unseen: \"clear words\""), "{full}");
    kit.end().await;
}

// Acceptance 54, by row of the contract's table: what is absent, what is told all the same.
#[tokio::test]
async fn e54_hidden_things_row_by_row() {
    let Some(kit) = Kit::start("e54_hidden").await else { return };
    let button = |name: &str, style: &str| format!("<button {style}>{name}</button>");
    // What it looks like, and the line that tells of it; nothing where there is none.
    let rows = [
        (button("A1", "style='display:none'"), None),
        (button("A2", "style='visibility:hidden'"), None),
        (button("A3", "hidden"), None),
        (format!("<div inert>{}</div>", button("A4", "")), None),
        (format!("<details><summary>S</summary>{}</details>", button("A5", "")), None),
        (button("B1", "style='opacity:0'"), Some("button \"B1\" @e unseen")),
        (button("B2", "style='position:absolute;left:-9999px'"), Some("button \"B2\" @e unseen")),
        (
            format!(
                "<div style='position:absolute;width:1px;height:1px;overflow:hidden'>{}</div>",
                button("B3", "")
            ),
            Some("button \"B3\" @e unseen"),
        ),
        (
            format!("<div aria-hidden=true>words {}</div>", button("C1", "")),
            Some("button \"C1\" @e aria-hidden"),
        ),
        (
            "<div aria-hidden=true><a href=/x>C2</a></div>".to_owned(),
            Some("link \"C2\" @e aria-hidden"),
        ),
        (
            "<div aria-hidden=true><div onclick='1' style='width:50px;height:20px'>C3</div></div>"
                .to_owned(),
            Some("clickable \"C3\" @e aria-hidden"),
        ),
        (format!("<div aria-hidden=true style='display:none'>{}</div>", button("C4", "")), None),
    ];
    let html: Vec<&str> = rows.iter().map(|(html, _)| html.as_str()).collect();
    kit.open(&format!("{}<p>seen words</p>", html.concat())).await;
    let lines = kit.lines().await;
    for (at, (html, wanted)) in rows.iter().enumerate() {
        let name = ["A1", "A2", "A3", "A4", "A5", "B1", "B2", "B3", "C1", "C2", "C3", "C4"][at];
        let line = lines.lines().find(|line| line.contains(&format!("\"{name}\"")));
        let bare = line.map(|line| {
            let words = line.trim().trim_start_matches("- ").split(' ');
            let words = words.map(|word| if word.starts_with("@e") { "@e" } else { word });
            words.collect::<Vec<_>>().join(" ")
        });
        assert_eq!(bare.as_deref(), *wanted, "{html}\n{lines}");
    }
    assert!(!lines.contains("words C1") && lines.contains("seen words"), "{lines}");
    kit.click(&reference(&lines, "\"C1\"")).await.unwrap();
    kit.end().await;
}

// Acceptance 56, 57: parts, find and root.
#[tokio::test]
async fn a_long_page_comes_in_parts_and_can_be_searched() {
    let Some(kit) = Kit::start("a_long_page").await else { return };
    kit.open("<main id=m></main><script>let h='';for(let i=0;i<400;i++)h+='<section aria-label=\"S'+i+'\"><h2>Head '+i+'</h2><p>Some words of paragraph number '+i+' that go on a while</p><button>Do '+i+'</button></section>';m.innerHTML=h</script>").await;
    let ask = SnapshotAsk { full: true, ..SnapshotAsk::default() };
    let first = kit.browsers.snapshot(&kit.cx, ask.clone()).await.unwrap();
    let parts = first["parts"].as_u64().unwrap();
    assert!(parts >= 3, "{parts}");
    let mut whole = body(&first);
    for part in 2..=parts {
        let ask = SnapshotAsk { part: Some(usize::try_from(part).unwrap()), ..ask.clone() };
        let answer = kit.browsers.snapshot(&kit.cx, ask).await.unwrap();
        whole.push_str(answer["snapshot"].as_str().unwrap());
    }
    assert_eq!(whole.matches("- button").count(), 400);
    let ask = SnapshotAsk { find: Some("do 399".to_owned()), full: true, ..SnapshotAsk::default() };
    let found = body(&kit.browsers.snapshot(&kit.cx, ask).await.unwrap());
    assert!(
        found.contains("S399") && found.contains("\"Do 399\"") && !found.contains("Do 1"),
        "{found}"
    );
    kit.end().await;
}
