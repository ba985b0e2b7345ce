//! The policy: whether a call may run, who must agree, and what is remembered and recorded of it.
//!
//! Its law: it never reads shell syntax and never decides how people are asked. What a command
//! would do comes from `petasos-analysis`; an external scanner, where there is one, is started
//! through the host's processes.
//!
//! | file | what it holds |
//! |---|---|
//! | `policy` | the verdict on a call, from its effects, rules, permissions and grants |
//! | `permissions`, `grants`, `keys` | what the user has allowed, and how keys compare |
//! | `settings` | the sections `approvals`, `permissions` and `security` |
//! | `smart`, `scan` | questions to a model, to a scanner |
//! | `log`, `suggest`, `id` | the decision log, what it suggests, names in it |

pub mod grants;
mod id;
mod keys;
pub mod log;
pub mod permissions;
pub mod policy;
pub mod scan;
pub mod settings;
pub mod smart;
pub mod suggest;

pub use petasos_analysis::own_program;
pub use petasos_analysis::{
    Analysis, Effect, EffectKind, Facts, Finding, Judgement, Language, Leaf, RULES, Rule, Scripts,
    Severity, Span, Verdict, analyse, analyse_code, judge, judge_code, judge_command, judge_delete,
    judge_read, judge_write,
};
pub use policy::Engine;
