//! Where skills are found, which wins, and what is held back.

use petasos_contract::ports::{BroughtSkill, Skills as _};
use petasos_skills::{Consent, digest_of};
use serde_json::json;

use crate::world::{World, write};

/// S111: the order of places, shadows, and what a name means when several have it.
#[tokio::test]
async fn s111_the_first_place_wins_and_says_what_it_hides() {
    let world =
        World::with(json!({ "skills": { "external_dirs": ["~/more", "/no/such/folder"] } }));
    world.home.write("work/.git/HEAD", "ref: refs/heads/main\n");
    let project = world.at("work/.claude/skills/tea", "Of the project", "P");
    Consent::agree(&world.settings(), &project, &digest_of(&project).unwrap()).unwrap();
    let home = world.skill("tea", "Of the home", "H");
    world.at("more/tea", "From elsewhere", "E");
    world.at("more/coffee", "From elsewhere", "E");
    world.skill("hot/cocoa", "Warm", "C");
    world.skill("cold/cocoa", "Cold", "C2");
    let survey = world.library.survey(&world.cx());
    let tea = survey.skills.iter().find(|skill| skill.name == "tea").unwrap();
    assert_eq!(tea.description(), "Of the project");
    assert_eq!(tea.shadows, [home.clone(), world.home.user().join("more/tea")]);
    for (name, expected) in [
        ("coffee", "From elsewhere"),
        ("home:tea", "Of the home"),
        ("project:tea", "Of the project"),
        ("hot:cocoa", "Warm"),
        ("cold/cocoa", "Cold"),
    ] {
        assert_eq!(world.view(name).await["description"], expected, "{name}");
    }
    for name in ["tea", "cocoa"] {
        let told = world.view(name).await;
        assert_eq!(told["error_type"], "ambiguous", "{told}");
        assert!(told["candidates"].as_array().unwrap().len() > 1, "{told}");
    }
    // The same content twice is one skill.
    write(&home.join("SKILL.md"), &std::fs::read_to_string(project.join("SKILL.md")).unwrap());
    write(
        &world.home.user().join("more/tea/SKILL.md"),
        &std::fs::read_to_string(project.join("SKILL.md")).unwrap(),
    );
    assert_eq!(world.view("tea").await["trust"], "project");
}

/// S112: nothing of a project is shown before somebody agreed, and a change asks again.
#[tokio::test]
async fn s112_a_projects_skills_wait_for_consent() {
    let world = World::new();
    let folder = world.at("work/.petasos/skills/deploy", "Deploys", "Run scripts/go.sh");
    let script = folder.join("scripts/go.sh");
    write(&script, "echo go\n");
    assert_eq!(world.names(), [""; 0]);
    let told = world.view("deploy").await;
    assert!(told["error"].as_str().unwrap().contains("petasos skills trust deploy"), "{told}");
    assert!(!told.to_string().contains("Deploys") && !told.to_string().contains("go.sh"));
    Consent::agree(&world.settings(), &folder, &digest_of(&folder).unwrap()).unwrap();
    assert_eq!(world.names(), ["deploy"]);
    write(&script, "echo gone\n");
    assert_eq!(world.names(), [""; 0]);
    let told = world.view("deploy").await;
    assert!(told["error"].as_str().unwrap().contains("was changed"), "{told}");
    // A link could lead to another content tomorrow.
    std::fs::remove_file(&script).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &script).unwrap();
    assert!(digest_of(&folder).is_err());
    assert!(world.view("deploy").await["error"].as_str().unwrap().contains("is a link"));
}

#[tokio::test]
async fn folders_that_hold_no_skills_are_passed_by_and_others_are_found_three_deep() {
    let world = World::new();
    for place in
        ["a/b/deep", "flat", "node_modules/x", ".archive/y", "flat/references/z", "a/b/c/deeper"]
    {
        world.skill(place, "About", "x");
    }
    assert_eq!(world.names(), ["deep", "flat"]);
}

#[tokio::test]
async fn switched_off_and_foreign_systems_are_told_and_not_offered() {
    let values = json!({ "skills": {
        "disabled": ["tea"], "platform_disabled": { "cli": ["coffee"], "telegram": ["milk"] },
    } });
    let world = World::with(values);
    for name in ["tea", "coffee", "milk"] {
        world.skill(name, "About", "x");
    }
    let windows = "---\nname: registry\ndescription: About\nplatforms: [windows]\n---\n";
    world.home.write(".petasos/skills/registry/SKILL.md", windows);
    world.home.write(".petasos/skills/torn/SKILL.md", "---\nname: [\n---\n");
    assert_eq!(world.names(), ["milk"]);
    for (name, kind, said) in [
        ("tea", "denied", "skills.disabled"),
        ("coffee", "denied", "switched off"),
        ("registry", "unsupported", "for windows"),
        ("torn", "denied", "no YAML"),
        ("nothing", "not_found", "no skill is named"),
    ] {
        let told = world.view(name).await;
        assert_eq!(told["error_type"], kind, "{told}");
        assert!(told["error"].as_str().unwrap().contains(said), "{told}");
    }
}

#[tokio::test]
async fn a_plugins_skills_are_read_by_name_and_not_listed_in_the_prompt() {
    let world = World::new();
    world.home.write("plugin/brew/SKILL.md", "boil the water");
    world.home.write("plugin/brew/references/times.md", "four minutes");
    world.home.write("plugin/secret.txt", "not for skills");
    let brought =
        BroughtSkill { name: "tea:brew".to_owned(), path: world.home.user().join("plugin/brew") };
    world.library.bring("tea", vec![brought]);
    let told = world.view("tea:brew").await;
    assert_eq!((&told["content"], &told["trust"]), (&json!("boil the water"), &json!("plugin")));
    assert_eq!(world.file("tea:brew", "references/times.md").await["content"], "four minutes");
    assert_eq!(world.file("tea:brew", "../secret.txt").await["error_type"], "denied");
    let index = world.library.index(None, &world.cx()).await.unwrap_or_default();
    assert!(!index.contains("tea:brew"), "{index}");
    world.library.bring("tea", Vec::new());
    assert_eq!(world.view("tea:brew").await["error_type"], "not_found");
}
