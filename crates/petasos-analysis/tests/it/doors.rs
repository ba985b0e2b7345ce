//! One rule, whichever tool does the deed.

use petasos_analysis::{
    Facts, Language, Verdict, judge_code, judge_command, judge_delete, judge_read, judge_write,
};

#[test]
fn a_write_meets_the_same_rule_through_three_doors() {
    let facts = Facts::default();
    let target = "/home/user/.ssh/authorized_keys";
    let by_tool = judge_write(target, &facts);
    let by_shell = judge_command("cat k >> ~/.ssh/authorized_keys", &facts);
    let by_code = judge_code(
        Language::Python,
        "import os\nopen(os.path.expanduser('~/.ssh/authorized_keys'), 'a').write(k)",
        &facts,
    );
    for judgement in [&by_tool, &by_shell, &by_code] {
        assert_eq!(judgement.verdict, Verdict::Ask);
        assert_eq!(judgement.findings[0].rule, "write to a credential file");
    }
}

#[test]
fn ordinary_paths_are_free() {
    let facts = Facts { cwd: Some("/home/user/project".into()), ..Facts::default() };
    assert_eq!(judge_write("src/main.rs", &facts).verdict, Verdict::Allow);
    assert_eq!(judge_write(".env", &facts).verdict, Verdict::Allow);
    assert_eq!(judge_read("src/main.rs", &facts).verdict, Verdict::Allow);
    assert_eq!(judge_read("/home/user/.ssh/id_rsa", &facts).verdict, Verdict::Ask);
    assert_eq!(judge_write("../../../etc/hosts", &facts).verdict, Verdict::Ask);
    assert_eq!(judge_delete("/", true, &facts).verdict, Verdict::Block);
}

#[test]
fn the_agents_own_settings_ask() {
    let facts = Facts { agent_home: Some("/srv/agent".into()), ..Facts::default() };
    assert_eq!(judge_write("/srv/agent/config.yaml", &facts).verdict, Verdict::Ask);
    assert_eq!(judge_write("/srv/agent/skills/a.md", &facts).verdict, Verdict::Allow);
}

#[test]
fn the_working_directory_counts() {
    let home = Facts { cwd: Some("/home/user".into()), ..Facts::default() };
    assert_eq!(judge_command("rm -rf *", &home).verdict, Verdict::Block);
    let project = Facts { cwd: Some("/home/user/project".into()), ..Facts::default() };
    assert_eq!(judge_command("rm -rf *", &project).verdict, Verdict::Ask);
    assert_eq!(judge_command("rm -rf ../..", &project).verdict, Verdict::Block);
}

#[test]
fn code_is_judged_by_what_it_does() {
    let facts = Facts::default();
    let verdict = |text: &str| judge_code(Language::Python, text, &facts).verdict;
    assert_eq!(verdict("print('rm -rf /')"), Verdict::Allow);
    assert_eq!(verdict("import os; os.system('rm -rf /')"), Verdict::Block);
    assert_eq!(
        verdict("import subprocess\nsubprocess.run(['git', 'push', '--force'])"),
        Verdict::Ask
    );
}
