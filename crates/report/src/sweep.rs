//! The page of a sweep: means over runs with 95 % confidence intervals (Student), as curves over
//! one key, as a heat map of two, and as a table; the reader chooses. The page is one file and
//! needs no network.

use lasthop_figures::{page, text::escaped};
use lasthop_sweep::value::{Value, ValueColumn};
use lasthop_sweep::{Means, QuantityMeans};
use serde::Serialize;
use std::collections::BTreeMap;

/// Largest number of means on a page, so that a browser opens the page at once.
const MEANS_MAX: usize = 300_000;
/// Largest number of values compared for a key.
const COMPARED_MAX: usize = 50;
/// Largest number of values in a sentence.
const TEXTS_MAX: usize = 6;

#[derive(Serialize)]
struct Data<'a> {
    keys: Vec<Key<'a>>,
    points: Vec<Vec<usize>>,
    quantities: Vec<SweepQuantity>,
}

/// A key: its values in order, and as numbers if all of them are.
#[derive(Serialize)]
struct Key<'a> {
    name: &'a str,
    texts: Vec<String>,
    numbers: Option<Vec<f64>>,
}

#[derive(Serialize)]
struct SweepQuantity {
    name: String,
    mean: Vec<Option<f64>>,
    ci: Vec<Option<f64>>,
    n: Vec<u32>,
}

/// Returns the page as HTML.
pub fn page(means: Means<'_>) -> String {
    let Means { asked, keys, ordered, .. } = means;
    let title = format!("{}: sweep", asked.file);
    let what = format!(
        "<h1>{}</h1>\n<p class=\"muted\">{} combination{} of {}, {} run{} each; lasthop {}.</p>\n",
        escaped(&title),
        ordered.len(),
        plural(ordered.len()),
        escaped(
            &keys.iter().map(|(column, _)| column.name.as_str()).collect::<Vec<_>>().join(", ")
        ),
        asked.runs,
        plural(asked.runs as usize),
        escaped(&asked.version),
    );
    let command = format!(
        "<section><h2>Made by</h2>{}</section>\n\
         <section><details><summary>The scenario</summary>{}</details></section>",
        page::preformatted("Made by", &asked.command),
        page::preformatted("The scenario", &asked.scenario)
    );
    let Some(quantities) = means.quantities else {
        let much = format!(
            "<p>There are more than {} combinations, too many for a page: \
             the tables beside it have them.</p>\n",
            Means::COMBINATIONS_MAX
        );
        return page::document(&title, &[what, much, command].concat());
    };
    let data = Data::new(keys, ordered, quantities);
    let same = data.same().into_iter().map(|one| format!("<p>{}</p>\n", escaped(&one)));
    let same: String = same.collect();
    let json = serde_json::to_string(&data).expect("it is valid JSON");
    // Nothing in a script ends it but this.
    let json = json.replace("</", "<\\/");
    let body = format!(
        "<style>{}</style>\n{what}<div id=\"choice\"></div>\n<figure id=\"curves\"></figure>\n\
         <p class=\"muted\">Means over runs; the bars are 95 % confidence intervals.</p>\n{same}\
         <section id=\"map\" hidden><h2>Both keys</h2><figure id=\"heat\"></figure></section>\n\
         <section><h2>Table</h2><div class=\"scroll\" id=\"rows\" role=\"region\" tabindex=\"0\" aria-label=\"Table\"></div></section>\n{command}\n\
         <script type=\"application/json\" id=\"data\">{json}</script>\n<script>\n{}</script>",
        include_str!("sweep/page.css"),
        include_str!("sweep/page.js"),
    );
    page::document(&title, &body)
}

impl<'a> Data<'a> {
    fn new(
        keys: &'a [(ValueColumn, Vec<Value>)],
        ordered: &[u32],
        mut quantities: Vec<QuantityMeans>,
    ) -> Self {
        let mut points = vec![Vec::new(); ordered.len()];
        let keys = keys.iter().map(|(column, values)| {
            let mut distinct: Vec<&Value> = Vec::new();
            let mut sorted: Vec<&Value> = ordered.iter().map(|&at| &values[at as usize]).collect();
            sorted.sort_by(|a, b| a.order(b));
            for value in sorted {
                if distinct.last().is_none_or(|last| last.order(value).is_ne()) {
                    distinct.push(value);
                }
            }
            for (point, &at) in points.iter_mut().zip(ordered) {
                let place = distinct.binary_search_by(|other| other.order(&values[at as usize]));
                point.push(place.expect("all values are there"));
            }
            Key {
                name: &column.name,
                texts: distinct.iter().map(|value| value.to_string()).collect(),
                numbers: distinct.iter().map(|value| value.as_f64()).collect(),
            }
        });
        let keys = keys.collect();
        let most = MEANS_MAX / ordered.len().max(1);
        quantities.retain(|quantity| !quantity.estimates.is_empty());
        quantities.sort_by_key(|quantity| (interest(&quantity.name), quantity.name.clone()));
        let quantity = |quantity: QuantityMeans| {
            let estimates = ordered.iter().map(|at| quantity.estimates.get(at));
            SweepQuantity {
                mean: estimates.clone().map(|one| Some(one?.mean)).collect(),
                ci: estimates.clone().map(|one| one?.ci95).collect(),
                n: estimates.map(|one| one.map_or(0, |one| one.runs)).collect(),
                name: quantity.name,
            }
        };
        Self { keys, points, quantities: quantities.into_iter().take(most).map(quantity).collect() }
    }
}

impl Data<'_> {
    /// Returns a sentence for each key whose values make no difference: every quantity is equal to
    /// the last digit, whatever the other keys are.
    fn same(&self) -> Vec<String> {
        let told = |at: usize| {
            let key = &self.keys[at];
            let mut results: Vec<BTreeMap<Vec<usize>, usize>> =
                vec![BTreeMap::new(); key.texts.len()];
            for (index, point) in self.points.iter().enumerate() {
                let mut others = point.clone();
                let own = others.remove(at);
                results[own].insert(others, index);
            }
            let mut groups: Vec<Vec<usize>> = Vec::new();
            for value in 0..results.len() {
                let is_same = |group: &Vec<usize>| {
                    let (one, other) = (&results[group[0]], &results[value]);
                    !one.is_empty()
                        && one.len() == other.len()
                        && one
                            .iter()
                            .zip(other)
                            .all(|((a, one), (b, other))| a == b && self.is_equal(*one, *other))
                };
                match groups.iter().position(is_same) {
                    Some(place) => groups[place].push(value),
                    None => groups.push(vec![value]),
                }
            }
            let groups = groups.into_iter().filter(|group| group.len() > 1).map(|group| {
                let names: Vec<&str> =
                    group.iter().take(TEXTS_MAX).map(|&value| key.texts[value].as_str()).collect();
                let more = match group.len() - names.len() {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                format!(
                    "{} = {}{more}: the same results to the last digit. Nothing in these runs depends on \
                     which of them it is: a queue that stays empty, for example, drops nothing in any \
                     discipline.",
                    key.name,
                    names.join(", ")
                )
            });
            groups.collect::<Vec<_>>()
        };
        let few = (0..self.keys.len()).filter(|&at| self.keys[at].texts.len() <= COMPARED_MAX);
        few.flat_map(told).collect()
    }

    /// Whether two combinations have the same results.
    fn is_equal(&self, one: usize, other: usize) -> bool {
        let mut quantities = self.quantities.iter();
        quantities.all(|quantity| {
            let of = |at: usize| (quantity.mean[at], quantity.ci[at], quantity.n[at]);
            of(one) == of(other)
        })
    }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// Order of quantities, with the most wanted first.
fn interest(name: &str) -> usize {
    const FIRST: [&str; 5] =
        ["goodput_total", "goodput_mbps", "one_way_delay_mean", "rtt_mean", "one_way_delay_p99"];
    FIRST.iter().position(|part| name.contains(part)).unwrap_or(FIRST.len())
}
