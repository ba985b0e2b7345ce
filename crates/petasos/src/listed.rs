//! A model of a provider's list, as people read it.

use petasos_providers::catalog::Listed;

/// How much it reads and what it costs, as far as the provider says.
pub(crate) fn facts(model: &Listed) -> Vec<String> {
    let window = model.context_length.map(|tokens| format!("{}k tokens", tokens / 1000));
    let price = model.price.map(|price| {
        if price.input == 0.0 && price.output == 0.0 {
            return "free".to_owned();
        }
        format!("${} in, ${} out per million", dollars(price.input), dollars(price.output))
    });
    [window, price].into_iter().flatten().collect()
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
        assert_eq!(model(Some((3.0, 0.15))), "200k tokens · $3 in, $0.15 out per million");
        assert_eq!(model(Some((0.0, 0.0))), "200k tokens · free");
    }
}
