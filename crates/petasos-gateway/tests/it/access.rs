//! Who may write, against a table written down a second time; when a chat begins anew.

use std::collections::BTreeSet;

use petasos_gateway::access::{AccessFacts, Class, Standing, decide, may_run};
use petasos_gateway::options::{
    AllowBots, BusyMode, GatewayOptions, PlatformOptions, ResetRule, Strangers,
};
use petasos_gateway::platform::Sender;
use petasos_store::ChatKind;

use crate::world::Config;

fn platform() -> PlatformOptions {
    PlatformOptions {
        off: false,
        allow_all: false,
        allowed: BTreeSet::new(),
        group_allowed: BTreeSet::new(),
        open_chats: BTreeSet::new(),
        bots: AllowBots::No,
        roles: BTreeSet::new(),
        strangers: Strangers::Ignore,
        admins: BTreeSet::new(),
        group_admins: BTreeSet::new(),
        user_commands: BTreeSet::new(),
        mention: false,
        free_chats: BTreeSet::new(),
        ignored_chats: BTreeSet::new(),
        only_chats: BTreeSet::new(),
        busy: BusyMode::Interrupt,
        quiet: false,
    }
}

fn gateway() -> GatewayOptions {
    let nothing = crate::world::settings(std::path::Path::new("/nowhere"), &Config::default());
    GatewayOptions::of(&nothing).unwrap()
}

fn set(on: bool, entry: &str) -> BTreeSet<String> {
    on.then(|| entry.to_owned()).into_iter().collect()
}

/// One combination, as bits.
#[derive(Debug, Clone, Copy)]
struct Case(u32);

impl Case {
    fn bit(self, at: u32) -> bool {
        self.0 >> at & 1 == 1
    }
}

#[test]
fn s34_the_rules_in_every_combination_are_the_table() {
    for bits in 0..1_u32 << 16 {
        let case = Case(bits);
        let (machine, open, bot, named, known, shared) =
            (case.bit(0), case.bit(1), case.bit(2), case.bit(3), case.bit(4), case.bit(5));
        let bots = [AllowBots::No, AllowBots::Mentions, AllowBots::All, AllowBots::No]
            [(bits >> 6 & 3) as usize];
        let (all, role, paired, listed) = (case.bit(8), case.bit(9), case.bit(10), case.bit(11));
        let (group_listed, gateway_listed, owner, everybody) =
            (case.bit(12), case.bit(13), case.bit(14), case.bit(15));
        let options = PlatformOptions {
            allow_all: all,
            allowed: set(listed, "u"),
            group_allowed: set(group_listed, "u"),
            open_chats: set(open, "c"),
            bots,
            roles: set(role, "r"),
            ..platform()
        };
        let around = GatewayOptions {
            allow_all: everybody,
            allowed: set(gateway_listed, "p:u"),
            owner: owner.then(|| "p:u".to_owned()),
            ..gateway()
        };
        let sender = Sender {
            id: known.then(|| "u".to_owned()),
            name: "u".to_owned(),
            bot,
            roles: vec!["r".to_owned()],
            machine: machine.then(|| "route".to_owned()),
            ..Sender::default()
        };
        let facts = AccessFacts {
            platform: "p",
            chat: "c",
            kind: if shared { ChatKind::Group } else { ChatKind::Dm },
            sender: &sender,
            addressed: named,
            standing: if paired { Standing::Paired } else { Standing::Unpaired },
        };
        let bot_may = bots == AllowBots::All || (bots == AllowBots::Mentions && named);
        let expected = if machine || (open && shared && !bot) {
            Some(Class::User)
        } else if (bot && !bot_may) || !known {
            None
        } else if all
            || role
            || paired
            || listed
            || (shared && group_listed)
            || gateway_listed
            || owner
            || everybody
        {
            Some(if owner { Class::Owner } else { Class::Admin })
        } else {
            None
        };
        let found = decide(&facts, &options, &around);
        assert_eq!(found.class, expected, "{bits:016b} {found:?}");
    }
}

#[test]
fn t10_names_never_let_anybody_in() {
    let options = PlatformOptions { allowed: set(true, "una"), ..platform() };
    let sender = Sender { id: Some("42".to_owned()), name: "una".to_owned(), ..Sender::default() };
    let facts = AccessFacts {
        platform: "p",
        chat: "c",
        kind: ChatKind::Dm,
        sender: &sender,
        addressed: true,
        standing: Standing::Unpaired,
    };
    assert_eq!(decide(&facts, &options, &gateway()).class, None);
}

#[test]
fn s40_commands_are_for_their_class() {
    let mut options = platform();
    options.user_commands.insert("model".to_owned());
    for (name, user, admin) in [
        ("help", true, true),
        ("stop", true, true),
        ("model", true, true),
        ("compress", false, true),
        ("rollback", false, true),
        ("some-skill", false, true),
        ("pair", false, false),
        ("restart", false, false),
    ] {
        let may = |class| may_run(class, name, &options);
        assert_eq!(
            (may(Class::User), may(Class::Admin), may(Class::Owner)),
            (user, admin, true),
            "{name}"
        );
    }
}

#[test]
fn s6_s7_a_chat_begins_anew_only_by_its_rule() {
    const HOUR: i64 = 3_600_000;
    let rule = |idle, hour| ResetRule { idle_minutes: idle, at_hour: hour };
    let day = 20_000 * 24 * HOUR;
    assert_eq!(ResetRule::default().fires(0, i64::MAX), None, "none never");
    assert_eq!(rule(Some(60), None).fires(day, day + HOUR - 1), None);
    assert_eq!(rule(Some(60), None).fires(day, day + HOUR).unwrap(), "60 minutes of silence");
    assert_eq!(rule(Some(0), None).fires(day, day + 100 * HOUR), None, "zero is no rule");
    let daily = rule(None, Some(4));
    assert_eq!(daily.fires(day + 5 * HOUR, day + 23 * HOUR), None);
    assert_eq!(daily.fires(day + 3 * HOUR, day + 4 * HOUR).unwrap(), "the daily reset at 4:00 UTC");
    assert_eq!(daily.fires(day + 5 * HOUR, day + 2 * HOUR), None, "a clock that was set back");
    let both = rule(Some(60), Some(4));
    assert_eq!(
        both.fires(day + 3 * HOUR, day + 5 * HOUR).unwrap(),
        "60 minutes of silence",
        "the rule that fired"
    );
}
