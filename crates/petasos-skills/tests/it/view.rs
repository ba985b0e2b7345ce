//! One skill: its text, its files, what it lacks.

use std::os::unix::fs::symlink;

use petasos_skills::{Consent, digest_of};
use serde_json::json;

use crate::world::{World, write};

/// S115: a file of a skill lies in its folder, whatever the path says.
#[tokio::test]
async fn s115_nothing_leads_out_of_a_skills_folder() {
    let world = World::new();
    let folder = world.skill("tea", "Tea", "See references/times.md");
    write(&folder.join("references/times.md"), "four minutes");
    write(&folder.join("scripts/sub/brew.sh"), "echo brew");
    write(&folder.join("forms.md"), "for others");
    write(&world.home.agent().join(".env"), "KEY=secret-value");
    symlink(world.home.agent().join(".env"), folder.join("references/env")).unwrap();
    symlink(world.home.agent(), folder.join("assets")).unwrap();
    let told = world.view("tea").await;
    assert_eq!(
        told["linked_files"],
        json!({ "references": ["references/times.md"], "scripts": ["scripts/sub/brew.sh"], "other": ["forms.md"] }),
    );
    let read = world.file("tea", "references/times.md").await;
    assert_eq!((&read["content"], &read["file_type"]), (&json!("four minutes"), &json!(".md")));
    assert_eq!(world.file("tea", "forms.md").await["content"], "for others");
    for file in [
        "../../.env",
        "/etc/passwd",
        "references/../../../.env",
        "references/env",
        "assets/.env",
        "references\\..\\x",
        "..",
        "",
        "references",
        "references/no.md",
        "\0",
    ] {
        let told = world.file("tea", file).await;
        // Without a file the main text is meant.
        assert!(file.is_empty() || told["success"] == false, "{file}: {told}");
        assert!(!told.to_string().contains("secret-value"), "{file}: {told}");
    }
    for name in ["../tea", "/etc", "a/../tea", "~/x", "", "tea/", "x\\y", "./tea"] {
        let told = world.view(name).await;
        assert_eq!(told["error_type"], "bad_argument", "{name}: {told}");
    }
}

#[tokio::test]
async fn a_file_that_is_no_text_or_too_long_says_so() {
    let world = World::new();
    let folder = world.skill("tea", "Tea", "x");
    write(&folder.join("assets/logo.png"), "\u{0}PNG");
    write(&folder.join("references/long.md"), &"é".repeat(100_001));
    assert_eq!(world.file("tea", "assets/logo.png").await["is_binary"], true);
    let long = world.file("tea", "references/long.md").await;
    assert_eq!(long["content"].as_str().unwrap().chars().count(), 100_000);
    assert!(long["hint"].as_str().unwrap().contains("read_file"), "{long}");
}

#[tokio::test]
async fn what_a_skill_lacks_is_named() {
    let world = World::new().variable("PATH", "/bin:/usr/bin").variable("HAVE_KEY", "x");
    let text = "---\nname: needy\ndescription: Needs things\nrequired_environment_variables: [HAVE_KEY, \
                WANT_KEY]\nrequired_credential_files: [token.json, ../up, .env]\nprerequisites:\n  \
                commands: [sh, no-such-program-1]\n---\nIn ${HERMES_SKILL_DIR} for ${PETASOS_SESSION_ID}\n";
    let file = world.home.write(".petasos/skills/needy/SKILL.md", text);
    let told = world.view("needy").await;
    assert_eq!(told["readiness_status"], "setup_needed");
    assert_eq!(told["missing_required_environment_variables"], json!(["WANT_KEY"]));
    assert_eq!(told["missing_required_commands"], json!(["no-such-program-1"]));
    assert_eq!(told["missing_credential_files"], json!(["token.json"]));
    assert_eq!(told["environment_not_granted"], json!(["HAVE_KEY"]));
    let note = told["setup_note"].as_str().unwrap();
    assert!(note.contains("WANT_KEY") && note.contains("do without ../up, .env"), "{note}");
    let folder = file.parent().unwrap();
    let content = told["content"].as_str().unwrap();
    assert!(content.contains(&format!("In {} for one", folder.display())), "{content}");
    Consent::allow(&world.settings(), &digest_of(folder).unwrap(), ["HAVE_KEY".to_owned()])
        .unwrap();
    assert_eq!(world.view("needy").await.get("environment_not_granted"), None);
}

#[tokio::test]
async fn two_readers_at_once_are_both_counted() {
    let world = World::new();
    world.skill("tea", "Tea", "x");
    let other = World::new();
    drop(other);
    let (one, two) = (world.view("tea"), world.view("tea"));
    let (one, two) = tokio::join!(one, two);
    assert_eq!((&one["success"], &two["success"]), (&json!(true), &json!(true)));
    let usage = petasos_skills::Usage::of(&world.settings());
    assert_eq!(usage.get("tea").unwrap().view_count, 2);
}
