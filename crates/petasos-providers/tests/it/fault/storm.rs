//! However a provider fails and however many credentials there are, a question ends.

use petasos_providers::recover::FAILURES_MAX;
use proptest::prelude::*;
use serde_json::json;

use super::scene::{Scene, Setup};
use super::server::{Act, answer, error, page};

fn failure() -> impl Strategy<Value = Act> {
    let schema = (0..40_u32).prop_map(|n| {
        let words = format!("Invalid schema for function 'tool_{n}': nope");
        answer(400, &[], &json!({"error": {"message": words}}).to_string())
    });
    let field = (0..40_u32).prop_map(|n| {
        let name: String = format!("{n:b}").replace('0', "a").replace('1', "b");
        let words = format!("Unsupported parameter: '{name}'");
        answer(400, &[], &json!({"error": {"message": words}}).to_string())
    });
    let status = prop::sample::select(vec![400, 401, 401, 401, 402, 403, 404, 408, 429, 500, 503]);
    prop_oneof![
        6 => status.prop_map(error),
        1 => Just(page(200)),
        1 => Just(Act::CloseAtOnce),
        2 => schema,
        2 => field,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_question_asks_a_candidate_a_bounded_number_of_times(
        acts in prop::collection::vec(failure(), 120),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let asked = runtime.block_on(async {
            let setup = Setup { main: acts, endless: true, ..Setup::default() };
            let scene = Scene::new(setup).await;
            assert!(scene.ask().await.is_err());
            scene.main.keys().len()
        });
        prop_assert!(asked <= FAILURES_MAX as usize, "{asked} requests");
    }
}
