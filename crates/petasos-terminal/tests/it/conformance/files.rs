//! Files, through the same door as commands.

use std::io::Write as _;

use petasos_contract::environment::{EnvError, FileKind, WriteMode};
use petasos_contract::path::HostPath;

use crate::conformance::cases;

fn bytes(size: usize) -> Vec<u8> {
    (0..size).map(|at| u8::try_from((at * 31 + at / 251) % 256).unwrap()).collect()
}

cases! { CASES;
    "bytes that are written are read back" => |bed| {
        let (place, path) = (bed.place().await, bed.path("deep/er/file.bin"));
        for content in [Vec::new(), b"text\n".to_vec(), bytes(300_000)] {
            place.files().write(&path, &content, WriteMode::Replace).await.unwrap();
            let read = place.files().read(&path, 0, u64::MAX).await.unwrap();
            assert!(read == content, "{} of {}", read.len(), content.len());
        }
    }
    "a part of a file is read" => |bed| {
        let (place, path) = (bed.place().await, bed.path("part"));
        place.files().write(&path, b"0123456789", WriteMode::Replace).await.unwrap();
        assert_eq!(place.files().read(&path, 3, 4).await.unwrap(), b"3456");
        assert_eq!(place.files().read(&path, 8, 10).await.unwrap(), b"89");
        assert_eq!(place.files().read(&path, 20, 10).await.unwrap(), b"");
    }
    "replacing keeps the permissions and the link" => |bed| {
        let place = bed.place().await;
        bed.stage.output(&format!("cd {} && echo a >real && chmod 750 real && ln -sf real link", bed.folder)).await;
        place.files().write(&bed.path("link"), b"b", WriteMode::Replace).await.unwrap();
        let stat = place.files().stat(&bed.path("real")).await.unwrap();
        assert_eq!((stat.mode, stat.size), (Some(0o750), 1));
        assert_eq!(bed.stage.output(&format!("test -h {}/link && echo link", bed.folder)).await, "link\n");
    }
    "creating refuses what is there, appending adds to it" => |bed| {
        let (place, path) = (bed.place().await, bed.path("created"));
        place.files().write(&path, b"one", WriteMode::Create).await.unwrap();
        assert!(place.files().write(&path, b"two", WriteMode::Create).await.is_err());
        place.files().write(&path, b"+two", WriteMode::Append).await.unwrap();
        assert_eq!(place.files().read(&path, 0, 100).await.unwrap(), b"one+two");
    }
    "a folder lists its entries with their kinds" => |bed| {
        let place = bed.place().await;
        let made = "mkdir -p L/sub && cd L && printf abc >.hid && printf '' >'two words' && ln -s nowhere dangling && : >'-dash' && : >'new\nline'";
        bed.stage.output(&format!("cd {} && {made}", bed.folder)).await;
        let entries = place.files().list(&bed.path("L")).await.unwrap();
        let told: Vec<_> = entries.iter().map(|entry| (entry.name.as_str(), entry.kind)).collect();
        assert_eq!(told, [
            ("-dash", FileKind::File), (".hid", FileKind::File), ("dangling", FileKind::Link),
            ("new\nline", FileKind::File), ("sub", FileKind::Directory), ("two words", FileKind::File),
        ]);
        assert_eq!(entries[1].size, 3);
    }
    "stat follows links and knows the time" => |bed| {
        let place = bed.place().await;
        bed.stage.output(&format!("cd {} && printf 12345 >told && ln -sf told away && touch -d @1700000000 told", bed.folder)).await;
        let stat = place.files().stat(&bed.path("away")).await.unwrap();
        assert_eq!((stat.kind, stat.size), (FileKind::File, 5));
        assert_eq!(stat.modified_ns, 1_700_000_000_000_000_000);
        assert!(stat.resolved.to_string().ends_with("/told"), "{}", stat.resolved);
        assert_eq!(place.files().stat(&bed.path("")).await.unwrap().kind, FileKind::Directory);
    }
    "what is not there is said to be missing" => |bed| {
        let (place, path) = (bed.place().await, bed.path("missing/file"));
        let errors = [
            place.files().read(&path, 0, 1).await.unwrap_err(),
            place.files().stat(&path).await.unwrap_err(),
            place.files().list(&path).await.unwrap_err(),
            place.files().remove(&path).await.unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, EnvError::File { missing: true, .. }), "{error:?}");
        }
    }
    "folders and devices are not read as files" => |bed| {
        let place = bed.place().await;
        for path in [bed.path(""), petasos_contract::path::TargetPath::new("/dev/zero")] {
            let error = place.files().read(&path, 0, 1).await.unwrap_err();
            assert!(matches!(error, EnvError::File { missing: false, .. }), "{error:?}");
        }
    }
    "files are moved and removed" => |bed| {
        let (place, from, to) = (bed.place().await, bed.path("from"), bed.path("to"));
        place.files().write(&from, b"x", WriteMode::Replace).await.unwrap();
        place.files().rename(&from, &to).await.unwrap();
        assert!(place.files().stat(&from).await.is_err());
        place.files().remove(&to).await.unwrap();
        assert!(place.files().stat(&to).await.is_err());
        bed.stage.output(&format!("mkdir -p {0}/full/x", bed.folder)).await;
        assert!(place.files().remove(&bed.path("full")).await.is_err());
        place.files().remove(&bed.path("full/x")).await.unwrap();
    }
    "names of every kind are reached" => |bed| {
        let place = bed.place().await;
        for name in ["it's", "two  blanks", "-dash", "höme 家", "$HOME", "a\"b", "back\\slash", "new\nline", "*"] {
            let path = bed.path(&format!("names/{name}"));
            place.files().write(&path, name.as_bytes(), WriteMode::Replace).await.unwrap();
            assert_eq!(place.files().read(&path, 0, 100).await.unwrap(), name.as_bytes(), "{name}");
        }
    }
    "a large file goes there and comes back" => |bed| {
        let place = bed.place().await;
        let (here, back) = (bed.stage.path().join("large"), bed.stage.path().join("back"));
        let content = bytes(20_000_000);
        std::fs::File::create(&here).unwrap().write_all(&content).unwrap();
        place.files().copy_in(&HostPath::new(&*here), &bed.path("large")).await.unwrap();
        let told = bed.stage.output(&format!("wc -c <{}/large", bed.folder)).await;
        assert_eq!(told.trim(), "20000000");
        place.files().copy_out(&bed.path("large"), &HostPath::new(&*back)).await.unwrap();
        assert!(std::fs::read(&back).unwrap() == content);
    }
    "a full disk is said and leaves the old file" => |bed| {
        let place = bed.place().await;
        let full = petasos_contract::path::TargetPath::new("/dev/full/x");
        assert!(place.files().write(&full, b"x", WriteMode::Replace).await.is_err());
        let path = bed.path("kept");
        place.files().write(&path, b"old", WriteMode::Replace).await.unwrap();
        assert_eq!(place.files().read(&path, 0, 10).await.unwrap(), b"old");
    }
}
