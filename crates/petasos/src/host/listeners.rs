//! The hooks that belong to the program itself; those of plugins and people join them later.

use std::path::Path;
use std::sync::Arc;

use petasos_contract::hook::Hook;
use petasos_runtime::hooks::HookBus;

use crate::halt::HaltHook;
use crate::scheduled::{GatewayGuard, Scheduled};

/// A bus that the emergency stop, the guards of schedules and these listen to.
pub(super) fn bus(
    home: &Path,
    scheduled: &Scheduled,
    others: impl IntoIterator<Item = Arc<dyn Hook>>,
) -> Arc<HookBus> {
    let bus = Arc::new(HookBus::new());
    bus.register(&(Arc::new(HaltHook(home.to_owned())) as Arc<dyn Hook>));
    bus.register(&(Arc::new(GatewayGuard) as Arc<dyn Hook>));
    bus.register(&(Arc::new(scheduled.first_calls()) as Arc<dyn Hook>));
    for other in others {
        bus.register(&other);
    }
    bus
}
