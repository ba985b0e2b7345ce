//! `sql_query` on a real SQLite file and on a real PostgreSQL.

use petasos_contract::effect::Effect;
use serde_json::{Value, json};

use crate::bench::{Bench, told};

/// A database as its own program makes it.
fn file(bench: &Bench) {
    let path = bench.path("books.db").display().to_string();
    let made = json!({
        "database": path, "write": true,
        "query": "CREATE TABLE books(id INTEGER PRIMARY KEY, title TEXT, price REAL, cover BLOB)",
    });
    bench.file("books.db", "");
    assert_eq!(bench.run("sql_query", &made)["success"], json!(true));
    let filled = json!({
        "database": path, "write": true, "params": ["Emma", 4.5],
        "query": "INSERT INTO books(title, price, cover) VALUES (?, ?, x'00ff'), ('Persuasion', NULL, NULL)",
    });
    assert_eq!(bench.run("sql_query", &filled)["changed"], json!(2));
}

#[test]
fn a_file_is_read_and_the_engine_refuses_to_change_it() {
    let bench = Bench::new();
    file(&bench);
    let ask =
        |query: &str| bench.run("sql_query", &json!({ "database": "books.db", "query": query }));
    let found = ask("SELECT * FROM books ORDER BY id");
    assert_eq!(found["columns"], json!(["id", "title", "price", "cover"]));
    assert_eq!(found["rows"][0], json!([1, "Emma", 4.5, { "blob_bytes": 2 }]));
    assert_eq!(found["rows"][1], json!([2, "Persuasion", null, null]));
    for change in [
        "DELETE FROM books",
        "/* SELECT */ UPDATE books SET title = 'x'",
        "WITH a AS (SELECT 1) INSERT INTO books(title) SELECT 'x' FROM a",
        "DROP TABLE books",
        "CREATE TEMP TABLE t(x)",
        "VACUUM INTO 'copy.db'",
        "PRAGMA query_only = 0",
        "PRAGMA query_only(0)",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA writable_schema = 1",
        "PRAGMA wal_checkpoint(TRUNCATE)",
        // Those bind the whole process, and with it our own store.
        "PRAGMA hard_heap_limit = 4096",
        "PRAGMA soft_heap_limit = 4096",
        "PRAGMA temp_store_directory = '/nowhere'",
        "PRAGMA trusted_schema = 1",
        "SELECT * FROM pragma_hard_heap_limit(4096)",
        "EXPLAIN DELETE FROM books; DELETE FROM books",
        "DETACH main",
        "SELECT * FROM fts3_tokenizer('x', x'00')",
        "SELECT readfile('/etc/passwd')",
        "SELECT edit('x')",
        "ATTACH 'other.db' AS other",
        "SELECT load_extension('x')",
        "SELECT 1; DELETE FROM books",
        "SELECT writefile('x', 'y')",
    ] {
        let told = ask(change);
        assert!(told["error"].is_string(), "{change}: {told}");
    }
    // Some do nothing here, and are let through or not: the file is what it was.
    let before = std::fs::read(bench.path("books.db")).unwrap();
    for idle in ["REINDEX", "ANALYZE", "BEGIN IMMEDIATE", "SAVEPOINT x", "PRAGMA optimize"] {
        ask(idle);
        assert_eq!(std::fs::read(bench.path("books.db")).unwrap(), before, "{idle}");
    }
    // What tells about the file is no change.
    for question in ["PRAGMA table_info(books)", "PRAGMA user_version", "PRAGMA integrity_check"] {
        assert_eq!(ask(question)["success"], json!(true), "{question}");
    }
    assert_eq!(ask("SELECT count(*) FROM books")["rows"], json!([[2]]));
    assert!(!bench.path("copy.db").exists() && !bench.path("other.db").exists());
    let cut = json!({ "database": "books.db", "query": "SELECT 1 FROM books", "limit": 1 });
    let cut = bench.run("sql_query", &cut);
    assert_eq!((&cut["row_count"], &cut["truncated"]), (&json!(1), &json!(true)));
    let endless = json!({
        "database": "books.db", "timeout_seconds": 1,
        "query": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n",
    });
    assert_eq!(bench.run("sql_query", &endless)["error_type"], "timeout");
}

#[test]
fn a_statement_cannot_eat_the_memory_of_the_program() {
    let bench = Bench::new();
    file(&bench);
    let ask = |query: &str| {
        bench.run("sql_query", &json!({ "database": "books.db", "query": query, "limit": 1000 }))
    };
    for huge in [
        "SELECT zeroblob(900000000)",
        "SELECT hex(zeroblob(400000000))",
        "SELECT printf('%.*c', 900000000, 'x')",
        "WITH RECURSIVE n(t) AS (SELECT 'ab' UNION ALL SELECT t || t FROM n) SELECT t FROM n",
    ] {
        let told = ask(huge);
        assert!(
            told["error"].is_string() || told["truncated"] == json!(true),
            "{huge}: {}",
            told.to_string().len()
        );
    }
    let wide = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000) \
                SELECT printf('%.*c', 1000000, 'x') FROM n";
    let told = ask(wide);
    assert_eq!(told["truncated"], json!(true));
    assert!(told.to_string().len() < 8 << 20, "{}", told.to_string().len());
    assert!(crate::bench::memory_peak() < 1 << 30, "{}", crate::bench::memory_peak());
}

#[test]
fn a_strangers_file_is_refused_and_harms_nobody() {
    let bench = Bench::new();
    let ask = |name: &str, query: &str| {
        bench.run("sql_query", &json!({ "database": name, "query": query }))
    };
    bench.file("noise.db", [0x5a_u8; 9000]);
    let mut broken = b"SQLite format 3\0".to_vec();
    broken.extend([0xff_u8; 5000]);
    bench.file("broken.db", broken);
    for name in ["noise.db", "broken.db"] {
        let told = ask(name, "SELECT * FROM sqlite_schema");
        assert!(told["error"].is_string(), "{name}: {told}");
    }
    // A view of the file that calls what only the person's own files may.
    file(&bench);
    let view = json!({ "database": "books.db", "write": true,
        "query": "CREATE VIEW trap AS SELECT load_extension('x') AS y" });
    let made = bench.run("sql_query", &view);
    if made["success"] == json!(true) {
        assert!(ask("books.db", "SELECT * FROM trap")["error"].is_string());
    }
    std::os::unix::fs::symlink("/dev/zero", bench.path("zero.db")).unwrap();
    assert_eq!(ask("zero.db", "SELECT 1")["error_type"], "not_found");
}

#[test]
fn what_a_statement_would_do_is_stated_before() {
    let bench = Bench::with(&json!({ "sql": { "databases": {
        "shop": { "url": "postgres://ada@db.example/shop" } } } }));
    let stated =
        |args: &Value| bench.effects("sql_query", args).iter().cloned().collect::<Vec<_>>();
    let path = bench.path("a.db");
    let read = json!({ "database": "a.db", "query": "SELECT 1" });
    assert_eq!(stated(&read), [Effect::Read(path.clone())]);
    let write = json!({ "database": "a.db", "query": "SELECT 1", "write": true });
    assert_eq!(stated(&write), [Effect::Read(path.clone()), Effect::Write(path)]);
    let far = json!({ "database": "shop", "query": "SELECT 1", "write": true });
    let target = "sql:shop".to_owned();
    assert_eq!(
        stated(&far),
        [Effect::Reach("db.example".to_owned()), Effect::Actuate { target, guarded: true }]
    );
}

/// Statements that change something, or try to be allowed to.
const WRITES: &[&str] = &[
    "DELETE FROM BOOKS",
    "DELETE FROM BOOKS RETURNING id",
    "WITH gone AS (DELETE FROM BOOKS RETURNING id) SELECT * FROM gone",
    "EXPLAIN ANALYZE DELETE FROM BOOKS",
    "COMMIT",
    "SET TRANSACTION READ WRITE",
    "SELECT set_config('transaction_read_only', 'off', false)",
    "DO $$ BEGIN SET TRANSACTION READ WRITE; DELETE FROM BOOKS; END $$",
    "COPY BOOKS TO PROGRAM 'cat'",
    "COPY BOOKS TO STDOUT",
    "SELECT 1; DELETE FROM BOOKS",
    "SELECT nextval('nothing')",
    // Functions that reach past the transaction.
    "SELECT lo_export(1, '/tmp/petasos-lo')",
    "SELECT \"lo_export\" (1, '/tmp/petasos-lo')",
    "SELECT lo_export/* /* */ */(1, '/tmp/petasos-lo')",
    "SELECT U&\"lo\\005fexport\"(1, '/tmp/petasos-lo')",
    "SELECT lo_from_bytea(0, 'x')",
    "SELECT pg_terminate_backend(pg_backend_pid())",
    "SELECT pg_reload_conf()",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_ls_dir('/')",
    "SELECT set_config('role', 'none', false)",
    "SELECT query_to_xml('SELECT lo_export(1, ''/tmp/petasos-lo'')', true, false, '')",
    "SELECT pg_advisory_lock(1)",
    "SELECT * FROM dblink('x', 'y') AS t(a int)",
    "COPY (SELECT 1) TO PROGRAM 'touch /tmp/petasos-lo'",
    "COPY (SELECT 1) TO '/tmp/petasos-lo'",
    "CALL nothing()",
    "LISTEN x",
    "EXECUTE nothing",
    "nonsense",
];

#[test]
fn postgres_is_read_and_cannot_be_made_to_write() {
    let told = told("PETASOS_TEST_POSTGRES_DATABASE_URL").or_else(|| told("DATABASE_URL"));
    let Some(url) = told else {
        petasos_testkit::skip(
            "sql_query",
            "postgres",
            "no server: start scripts/services/postgres.sh",
        );
        return;
    };
    let bench = Bench::with(&json!({ "sql": { "databases": { "shop": { "url": url } } } }));
    let table = format!("books_{}", std::process::id());
    let ask = |query: &str, write: bool, params: Value| {
        let query = query.replace("BOOKS", &table);
        let args = json!({ "database": "shop", "query": query, "write": write, "params": params });
        bench.run("sql_query", &args)
    };
    let made = "CREATE TABLE BOOKS(id int, title text, price float8, facts jsonb, sold bool)";
    assert_eq!(ask(made, true, json!([]))["success"], json!(true));
    let filled =
        "INSERT INTO BOOKS VALUES ($1, $2, $3, $4, true), (2, 'O''Brien', NULL, NULL, false)";
    let filled = ask(filled, true, json!([1, "Emma", 4.5, "{\"a\": [1]}"]));
    assert_eq!(filled["status"], "INSERT 0 2", "{filled}");
    let found = ask("SELECT * FROM BOOKS WHERE id <= $1 ORDER BY id", false, json!([2]));
    let first = json!([1, "Emma", 4.5, { "a": [1] }, true]);
    assert_eq!((&found["rows"][0], &found["row_count"]), (&first, &json!(2)), "{found}");
    assert_eq!(found["rows"][1], json!([2, "O'Brien", null, null, false]));
    for change in WRITES {
        let told = ask(change, false, json!([]));
        assert!(told["error"].is_string(), "{change}: {told}");
    }
    assert_eq!(ask("SELECT count(*) FROM BOOKS", false, json!([]))["rows"], json!([[2]]));
    assert!(!std::path::Path::new("/tmp/petasos-lo").exists());
    // What only asks goes through, also where its answer changes.
    for question in
        ["SELECT random() < 2", "SELECT upper(title), now() FROM BOOKS", "SHOW server_version"]
    {
        assert_eq!(ask(question, false, json!([]))["success"], json!(true), "{question}");
    }
    let slow = json!({ "database": "shop", "query": "SELECT pg_sleep(30)", "timeout_seconds": 1 });
    assert_eq!(bench.run("sql_query", &slow)["error_type"], "timeout");
    assert_eq!(ask("DROP TABLE BOOKS", true, json!([]))["success"], json!(true));
    scram(&bench, &url, &table);
}

/// A role that proves its password.
fn scram(bench: &Bench, url: &str, name: &str) {
    let role = format!("role_{name}");
    let ask = |query: String| {
        bench.run("sql_query", &json!({ "database": "shop", "query": query, "write": true }))
    };
    let stored = ask(format!("CREATE ROLE {role} LOGIN PASSWORD 'horse battery'"));
    assert_eq!(stored["success"], json!(true), "{stored}");
    let held = ask(format!("SELECT rolpassword FROM pg_authid WHERE rolname = '{role}'"));
    assert!(held["rows"][0][0].as_str().unwrap().starts_with("SCRAM-SHA-256"), "{held}");
    // The throw-away server trusts everybody, so that the exchange itself is a unit test.
    let other = url.replace("petasos@", &format!("{role}@"));
    let bench = Bench::with(&json!({ "sql": { "databases": { "shop": {
        "url": other, "password_env": "NOT_SET" } } } }));
    let missing = bench.run("sql_query", &json!({ "database": "shop", "query": "SELECT 1" }));
    assert_eq!(missing["error_type"], "missing_setup", "{missing}");
    assert_eq!(ask(format!("DROP ROLE {role}"))["success"], json!(true));
}
