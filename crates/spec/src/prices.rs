//! Prices of machines and services, from a dated list.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A price list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Day of the prices: `"2021-09-25"`.
    pub date: String,
    /// Currency: `"USD"`.
    pub currency: String,
    /// Where the prices are from.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// Billed hours of a month.
    #[serde(default = "usual_hours")]
    #[schemars(range(min = 1, max = 744))]
    pub hours_per_month: f64,
    /// Offers by name.
    pub offer: BTreeMap<String, Price>,
}

fn usual_hours() -> f64 {
    730.0
}

/// An offer and its price.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Price {
    /// Price of an hour.
    pub hour: f64,
    /// Fixed price of a month.
    pub month: f64,
    /// Storage, GB.
    pub storage_gb: f64,
    /// Price of a GB of storage for a month.
    pub storage_gb_month: f64,
    /// Levels of factors that the price is for: `{ machine = "m6gd" }`. Empty: all runs.
    pub of: BTreeMap<String, String>,
}

impl Price {
    /// Cost of a month with this many hours.
    #[must_use]
    pub fn per_month(&self, hours: f64) -> f64 {
        self.hour * hours + self.month + self.storage_gb * self.storage_gb_month
    }
}

impl Prices {
    /// Cost per million operations at a constant rate (per second, above 0) over a month.
    #[must_use]
    pub fn per_million(&self, offer: &Price, rate: f64) -> f64 {
        offer.per_month(self.hours_per_month) / (rate * 3600.0 * self.hours_per_month) * 1e6
    }

    /// An invalid value: its key below `prices`, and the problem.
    #[must_use]
    pub fn problem(&self) -> Option<(Vec<String>, String)> {
        let at = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
        if !is_date(&self.date) {
            return Some((
                at(&["date"]),
                format!("invalid date \"{}\": write e.g. \"2021-09-25\"", self.date),
            ));
        }
        if self.currency.trim().is_empty() {
            return Some((at(&["currency"]), "names no currency; write e.g. \"USD\"".to_owned()));
        }
        if !(1.0..=744.0).contains(&self.hours_per_month) {
            return Some((
                at(&["hours_per_month"]),
                format!("{} is not within 1..744", self.hours_per_month),
            ));
        }
        if self.offer.is_empty() {
            return Some((
                at(&["offer"]),
                "there is none; write [prices.offer.NAME] with hour = …".to_owned(),
            ));
        }
        self.offer.iter().find_map(|(name, offer)| {
            let parts = [
                ("hour", offer.hour),
                ("month", offer.month),
                ("storage_gb", offer.storage_gb),
                ("storage_gb_month", offer.storage_gb_month),
            ];
            let wrong = parts.iter().find(|(_, value)| !(0.0..=1e12).contains(value));
            match wrong {
                Some((key, value)) => {
                    Some((at(&["offer", name, key]), format!("invalid price or size {value}")))
                }
                None if offer.per_month(self.hours_per_month) <= 0.0 => {
                    Some((at(&["offer", name]), "costs nothing; give hour, month or storage".to_owned()))
                }
                None => None,
            }
        })
    }
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let number = |at: usize, digits: usize, most: u32| {
        parts.get(at).is_some_and(|part| {
            part.len() == digits && part.parse::<u32>().is_ok_and(|number| (1..=most).contains(&number))
        })
    };
    parts.len() == 3 && number(0, 4, 9999) && number(1, 2, 12) && number(2, 2, 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As in the study: 0.318 x 730 + 250 x 0.115 = 260.89 for RDS, 0.1808 x 730 + 100 x 0.08 = 139.98 for
    /// EC2.
    #[test]
    fn months_cost_what_the_study_says() {
        let rds = Price { hour: 318.0 / 1e3, storage_gb: 250.0, storage_gb_month: 0.115, ..Price::default() };
        let ec2 = Price { hour: 0.1808, storage_gb: 100.0, storage_gb_month: 0.08, ..Price::default() };
        assert!((rds.per_month(730.0) - 260.89).abs() < 1e-9);
        assert!((ec2.per_month(730.0) - 139.984).abs() < 1e-9);
        let offer = BTreeMap::from([("rds".to_owned(), rds), ("ec2".to_owned(), ec2)]);
        let prices = Prices {
            date: "2021-09-25".into(),
            currency: "USD".into(),
            source: String::new(),
            hours_per_month: 730.0,
            offer,
        };
        assert_eq!(prices.problem(), None);
        // 17.332670 tiles a second are 45.55 million a month.
        let per_million = prices.per_million(&prices.offer["ec2"], 17.332_670);
        assert!((per_million - 139.984 / 45.550_256_76).abs() < 1e-6, "{per_million}");
    }

    #[test]
    fn what_is_no_price_list_says_why() {
        let offer = BTreeMap::from([("a".to_owned(), Price { hour: 1.0, ..Price::default() })]);
        let fine = Prices {
            date: "2021-09-25".into(),
            currency: "USD".into(),
            source: String::new(),
            hours_per_month: 730.0,
            offer,
        };
        let cases = [
            (Prices { date: "25.9.2021".into(), ..fine.clone() }, "date", "invalid date"),
            (Prices { date: "2021-13-25".into(), ..fine.clone() }, "date", "invalid date"),
            (Prices { currency: " ".into(), ..fine.clone() }, "currency", "names no currency"),
            (Prices { hours_per_month: 0.0, ..fine.clone() }, "hours_per_month", "not within"),
            (Prices { offer: BTreeMap::new(), ..fine.clone() }, "offer", "there is none"),
        ];
        for (prices, key, wanted) in cases {
            let (keys, problem) = prices.problem().unwrap();
            assert!(keys == [key] && problem.contains(wanted), "{keys:?}: {problem}");
        }
        let free = BTreeMap::from([("a".to_owned(), Price::default())]);
        assert_eq!(Prices { offer: free, ..fine }.problem().unwrap().0, ["offer", "a"]);
    }
}
