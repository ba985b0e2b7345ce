//! Files that strangers wrote are known again: by their place, their path and their content.

use petasos_contract::Settings;
use petasos_contract::settings::Parts;
use petasos_taint::Ledger;

// Acceptance 37, the list behind it.
#[test]
fn e37_a_file_is_known_again_by_path_and_content() {
    let home = tempfile::tempdir().unwrap();
    let settings = Settings::new(Parts { home: home.path().to_path_buf(), ..Parts::default() });
    let ledger = Ledger::of(&settings);
    let cached = home.path().join("cache/browser/files/s/report.csv");
    assert!(ledger.source(&cached).unwrap().contains("report.csv"));
    assert_eq!(ledger.source(&home.path().join("cache/other/x")), None);
    let (kept, copy, own) =
        (home.path().join("a.txt"), home.path().join("b.txt"), home.path().join("c.txt"));
    std::fs::write(&kept, "words of a stranger").unwrap();
    std::fs::write(&copy, "words of a stranger").unwrap();
    std::fs::write(&own, "my own words").unwrap();
    assert_eq!(ledger.source(&kept), None);
    ledger.note(&kept, "web_extract news.example").unwrap();
    for path in [&kept, &copy] {
        assert_eq!(ledger.source(path).as_deref(), Some("web_extract news.example"));
    }
    assert_eq!(ledger.source(&own), None);
    // A changed file keeps its label until it is written anew.
    std::fs::write(&kept, "words of a stranger, and mine").unwrap();
    assert!(Ledger::of(&settings).source(&kept).is_some());
    ledger.forgive(&kept).unwrap();
    assert_eq!(ledger.source(&kept), None);
    ledger.forgive(&own).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(home.path().join("provenance.jsonl")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
}
