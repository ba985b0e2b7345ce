//! Archives, the lock, what an older home has.

use std::io::Write as _;

use petasos_skills::hub::{self, Decision, Fetcher, Source, TrustLevel, decide, unpacked};
use petasos_skills::scan::Verdict;
use petasos_skills::{SkillError, Usage, lock};
use serde_json::{Value, json};
use zip::write::SimpleFileOptions;

use crate::world::{World, write};

const MAIN: &[u8] = b"---\nname: tea\ndescription: Tea\n---\nBoil.\n";

fn zipped(entries: &[(&str, &[u8], u32)]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, data, mode) in entries {
        if *mode == 0o120_777 {
            let target = String::from_utf8_lossy(data).into_owned();
            archive.add_symlink(*name, target, SimpleFileOptions::default()).unwrap();
        } else {
            archive
                .start_file(*name, SimpleFileOptions::default().unix_permissions(*mode))
                .unwrap();
            archive.write_all(data).unwrap();
        }
    }
    archive.finish().unwrap().into_inner()
}

/// A header and its data, as tar has it.
fn tarred(entries: &[(&str, u8, &[u8])]) -> Vec<u8> {
    let mut all = Vec::new();
    for (name, flag, data) in entries {
        let mut head = [0_u8; 512];
        head[..name.len()].copy_from_slice(name.as_bytes());
        head[124..135].copy_from_slice(format!("{:011o}", data.len()).as_bytes());
        head[156] = *flag;
        head[257..262].copy_from_slice(b"ustar");
        all.extend_from_slice(&head);
        all.extend_from_slice(data);
        all.resize(all.len().div_ceil(512) * 512, 0);
    }
    all.extend_from_slice(&[0; 1024]);
    all
}

fn refused(bytes: &[u8]) -> SkillError {
    unpacked(bytes, None).expect_err("it is refused")
}

/// S123: an archive that leads elsewhere, links, or unpacks to far more is refused whole.
#[test]
fn s123_hostile_archives_are_refused() {
    let (name, files) = unpacked(&zipped(&[("tea/SKILL.md", MAIN, 0o644)]), None).unwrap();
    assert_eq!((name.as_str(), files.len()), ("tea", 1));
    for path in ["../x", "tea/../../x", "/etc/x", "tea\\..\\x", "C:x", "tea/a\u{0301}"] {
        let bytes = zipped(&[("tea/SKILL.md", MAIN, 0o644), (path, b"x", 0o644)]);
        assert_eq!(refused(&bytes).kind, "denied", "{path}");
        if !path.contains('\\') {
            let bytes = tarred(&[("tea/SKILL.md", b'0', MAIN), (path, b'0', b"x")]);
            assert_eq!(refused(&bytes).kind, "denied", "{path}");
        }
    }
    let link = zipped(&[("tea/SKILL.md", MAIN, 0o644), ("tea/l", b"/etc/passwd", 0o120_777)]);
    assert!(refused(&link).message.contains("a link"));
    for (flag, what) in [(b'2', "a link"), (b'1', "a link"), (b'3', "a device"), (b'6', "a device")]
    {
        let bytes = tarred(&[("tea/SKILL.md", b'0', MAIN), ("tea/odd", flag, b"")]);
        assert!(refused(&bytes).message.contains(what), "{flag}");
    }
    let zeros = vec![0_u8; 20 << 20];
    let bomb = zipped(&[("tea/SKILL.md", MAIN, 0o644), ("tea/zeros", &zeros, 0o644)]);
    assert!(bomb.len() < 1 << 20);
    assert_eq!(refused(&bomb).kind, "too_large");
    let twice = tarred(&[("tea/SKILL.md", b'0', MAIN), ("tea/SKILL.md", b'0', MAIN)]);
    assert!(refused(&twice).message.contains("twice"));
    let case = tarred(&[("tea/SKILL.md", b'0', MAIN), ("tea/skill.md", b'0', MAIN)]);
    assert!(refused(&case).message.contains("capital"));
    assert_eq!(refused(&tarred(&[("readme", b'0', b"x")])).kind, "not_found");
    let two = tarred(&[("a/SKILL.md", b'0', MAIN), ("b/SKILL.md", b'0', MAIN)]);
    assert_eq!(refused(&two).kind, "ambiguous");
    assert_eq!(unpacked(&two, Some("b")).unwrap().0, "b");
    assert_eq!(
        refused(&tarred(&[("tea/SKILL.md", b'0', "x".repeat(300 * 1024).as_bytes())])).kind,
        "too_large"
    );
    assert!(unpacked(b"not an archive at all", None).is_err());
}

#[test]
fn trust_and_verdict_decide_and_nothing_forces_it() {
    for (trust, verdicts) in [
        (TrustLevel::Own, [Decision::Allow, Decision::Allow, Decision::Allow]),
        (TrustLevel::Trusted, [Decision::Allow, Decision::Ask, Decision::Refuse]),
        (TrustLevel::Community, [Decision::Ask, Decision::TypeName, Decision::Refuse]),
    ] {
        let all = [Verdict::Safe, Verdict::Caution, Verdict::Dangerous];
        assert_eq!(all.map(|verdict| decide(trust, verdict)), verdicts, "{trust:?}");
    }
}

#[test]
fn what_a_person_types_names_a_place() {
    let world = World::new();
    let settings = world.settings();
    let of = |typed: &str| Source::of(typed, &settings);
    let git = |typed: &str| match of(typed).unwrap() {
        Source::Git { url, path, reference } => (url, path, reference),
        other => panic!("{other:?}"),
    };
    let hub = "https://github.com/anthropics/skills.git".to_owned();
    let pdf = Some("document-skills/pdf".to_owned());
    assert_eq!(
        git("anthropics/skills/document-skills/pdf@v1"),
        (hub.clone(), pdf, Some("v1".into()))
    );
    assert_eq!(git("anthropics/skills"), (hub, None, None));
    assert_eq!(of("anthropics/skills").unwrap().trust(), TrustLevel::Trusted);
    assert_eq!(of("somebody/skills").unwrap().trust(), TrustLevel::Community);
    assert!(matches!(of("https://e.example/a/SKILL.md").unwrap(), Source::Page(_)));
    assert!(matches!(of("https://e.example/a.tar.gz").unwrap(), Source::RemoteArchive(_)));
    for odd in
        ["", "--upload-pack=x", "ssh://e.example/x.git", "ext::sh", "a/../b", "/no/such", "x"]
    {
        assert!(of(odd).is_err(), "{odd}");
    }
    for odd in ["a/b/../c", "a/b@--x", "https://e.example/x"] {
        assert!(!matches!(of(odd), Ok(Source::Git { reference: Some(_), .. })), "{odd}");
    }
}

/// S122: an update shows what changes; a file that was changed behind our back withholds the skill.
#[tokio::test]
async fn s122_an_update_shows_its_diff_and_a_tampered_skill_is_withheld() {
    let world = World::new();
    let settings = world.settings();
    let origin = world.at("source/tea", "Tea", "Boil.");
    let source = Source::of(&origin.display().to_string(), &settings).unwrap();
    let fetcher = Fetcher::new(&settings, None);
    let install = async || {
        let package = fetcher.fetch(&source).await.unwrap();
        let review = hub::review(&package, &source, &settings).unwrap();
        hub::install(&package, &review, ("~/source/tea", &source), &settings).unwrap();
        review
    };
    assert_eq!(install().await.diff, None);
    assert_eq!(world.view("tea").await["trust"], "hub");
    assert_eq!(hub::verify(&settings).unwrap()["tea"], "ok");
    write(&origin.join("SKILL.md"), "---\nname: tea\ndescription: Tea\n---\nSteep.\n");
    let diff = install().await.diff.unwrap();
    assert!(diff.contains("-Boil.") && diff.contains("+Steep."), "{diff}");
    let installed = world.home.agent().join("skills/tea/SKILL.md");
    write(&installed, "---\nname: tea\ndescription: Tea\n---\nSend it away.\n");
    assert_eq!(hub::verify(&settings).unwrap()["tea"], "tampered");
    let told = world.view("tea").await;
    assert!(told["error"].as_str().unwrap().contains("skills verify tea"), "{told}");
    let lock: Value = serde_json::from_slice(
        &std::fs::read(world.home.agent().join("skills/.hub/lock.json")).unwrap(),
    )
    .unwrap();
    assert_eq!(
        (&lock["version"], &lock["installed"]["tea"]["source"]),
        (&json!(1), &json!("folder"))
    );
    let audit = std::fs::read_to_string(world.home.agent().join("skills/.hub/audit.log")).unwrap();
    let actions: Vec<&str> = audit.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(actions, ["INSTALL", "UPDATE"]);
    hub::uninstall("tea", &settings).unwrap();
    assert!(!installed.exists() && lock::read(&settings).unwrap().installed.is_empty());
}

/// S124: lock, usage and skills of an older home are read, and what we do not know stays.
#[tokio::test]
async fn s124_an_older_home_loads_unchanged() {
    let world = World::new();
    world.skill("mlops/tune_model", "Tunes a model", "x");
    let lock = json!({ "version": 1, "installed": { "tune_model": {
        "source": "github", "identifier": "a/b/tune_model", "trust_level": "community",
        "scan_verdict": "safe", "content_hash": "sha256:0123", "install_path": "mlops/tune_model",
        "files": ["SKILL.md"], "metadata": { "x": 1 }, "installed_at": "2025-01-01T00:00:00+00:00",
        "updated_at": "2025-01-01T00:00:00+00:00", "theirs": true,
    } } });
    let usage = json!({ "tune_model": { "use_count": 3, "view_count": 5, "patch_count": 0,
        "state": "active", "pinned": true, "theirs": "kept" } });
    write(&world.home.agent().join("skills/.hub/lock.json"), &lock.to_string());
    write(&world.home.agent().join("skills/.usage.json"), &usage.to_string());
    assert_eq!(world.names(), ["tune_model"]);
    let told = world.view("mlops:tune_model").await;
    assert_eq!((&told["trust"], &told["source"]), (&json!("hub"), &json!("a/b/tune_model")));
    let record = Usage::of(&world.settings()).get("tune_model").unwrap().clone();
    assert_eq!((record.view_count, record.pinned), (6, true));
    assert_eq!(record.other["theirs"], "kept");
    assert_eq!(hub::verify(&world.settings()).unwrap()["tune_model"], "unknown");
}
