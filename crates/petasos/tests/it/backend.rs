//! `petasos backend` and what `tools explain terminal` says about a place that is not there.

use petasos_testkit::Home;

use crate::petasos;

#[test]
fn an_explanation_says_why_the_terminal_is_not_offered() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = closed.local_addr().expect("an address").port();
    drop(closed);
    let unreachable = format!("  backend: ssh\n  ssh_host: 127.0.0.1\n  ssh_port: {port}\n");
    let vercel = if cfg!(feature = "vercel_sandbox") { "VERCEL_" } else { "built without" };
    let rows = [
        ("  backend: docker\n", "docker"),
        ("  backend: ssh\n", "`terminal.ssh_host` is not set"),
        (unreachable.as_str(), "refused"),
        ("  backend: daytona\n", "DAYTONA_API_KEY"),
        ("  backend: vercel_sandbox\n", vercel),
    ];
    for (terminal, word) in rows {
        let home = Home::temp();
        home.write(".petasos/config.yaml", format!("terminal:\n{terminal}"));
        home.write(".petasos/.env", "DOCKER_HOST=unix:///nonexistent/docker.sock\n");
        let told = petasos(&home).run(&["tools", "explain", "terminal", "--json"]).json();
        assert_eq!(told["verdict"], "hidden", "{terminal}: {told}");
        let steps = told["steps"].as_array().expect("steps");
        let check = steps.iter().find(|step| step["step"] == "check").expect("a check");
        let detail = check["detail"].as_str().expect("a reason");
        assert!(detail.contains(word), "{terminal}: {detail}");
    }
}

#[test]
fn a_backend_that_cannot_start_is_tried_and_told() {
    let home = Home::temp();
    home.write(".petasos/config.yaml", "terminal:\n  backend: daytona\n");
    let told = petasos(&home).run(&["backend", "check", "--json"]);
    assert_eq!(told.code, Some(1), "{}", told.stderr);
    let told = told.json();
    assert_eq!((&told["backend"], &told["ok"]), (&"daytona".into(), &false.into()));
    let listed = petasos(&home).run(&["backend", "list", "--json"]).json();
    let rows = listed.as_array().expect("rows");
    assert!(rows.len() >= 7 && rows.iter().any(|row| row["configured"] == true), "{listed}");
}
