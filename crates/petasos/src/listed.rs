//! A model of a provider's list, as people read it.

use petasos_providers::catalog::Listed;

/// How much it reads and what it costs, as far as the provider says.
pub(crate) fn facts(model: &Listed) -> Vec<String> {
    let window = model.context_length.map(|tokens| format!("{} tokens", counted(tokens)));
    let price = model.price.map(|price| {
        if price.input == 0.0 && price.output == 0.0 {
            return "free".to_owned();
        }
        format!("${} in, ${} out per million", dollars(price.input), dollars(price.output))
    });
    [window, price].into_iter().flatten().collect()
}

/// `200k`, `8,192`: rounded only where nothing is lost, so that it is the same number everywhere.
pub(crate) fn counted(tokens: u64) -> String {
    match (tokens / 1000, tokens % 1000) {
        (thousands, 0) if thousands > 0 => format!("{thousands}k"),
        (0, rest) => rest.to_string(),
        (thousands, rest) => format!("{thousands},{rest:03}"),
    }
}

/// `3`, `0.15`: no more digits than the price has.
fn dollars(amount: f64) -> String {
    let text = format!("{amount:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use petasos_providers::catalog::Price;

    use super::*;

    #[test]
    fn a_model_says_what_it_reads_and_costs() {
        let model = |price: Option<(f64, f64)>| {
            let price = price.map(|(input, output)| Price {
                input,
                output,
                cache_read: None,
                cache_write: None,
            });
            let context_length = Some(200_000);
            let listed = Listed { id: "m".to_owned(), context_length, price, owned_by: None };
            facts(&listed).join(" · ")
        };
        assert_eq!(model(None), "200k tokens");
        assert_eq!(
            (counted(8192), counted(900), counted(131_072)),
            ("8,192".into(), "900".into(), "131,072".into())
        );
        assert_eq!(model(Some((3.0, 0.15))), "200k tokens · $3 in, $0.15 out per million");
        assert_eq!(model(Some((0.0, 0.0))), "200k tokens · free");
    }
}
