//! Texts of scripts, queries and SQL files: each is stored once for all experiments.

use rusqlite::{Row, params};
use spec::{Error, Text};

use super::rows::{to_json, to_word};
use super::{ExperimentId, Sqlite, Store, rows};

impl Store {
    /// Stores the texts of an experiment; existing ones stay unchanged.
    pub fn keep_texts(&mut self, experiment: ExperimentId, texts: &[Text]) -> Result<(), Error> {
        if texts.is_empty() {
            return Ok(());
        }
        let kept = self.write(|transaction| {
            for text in texts {
                transaction.execute(
                    "INSERT INTO text (sha256, bytes, text, replaced) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
                    params![text.hash, text.bytes as i64, text.text, to_json(&text.replaced)],
                )?;
                transaction.execute(
                    "INSERT INTO experiment_text SELECT ?1, ?2, ?3, ?4, text_id FROM text WHERE sha256 = ?5
                     ON CONFLICT DO NOTHING",
                    params![experiment.0, text.used_by, text.name, to_word(&text.kind), text.hash],
                )?;
            }
            Ok::<(), rusqlite::Error>(())
        });
        kept.map_err(|error| self.error(&error))
    }

    /// The texts that an experiment used, by user; imported runs have none.
    ///
    /// # Errors
    /// When the file cannot be read, or is damaged.
    pub fn texts(&self, experiment: ExperimentId) -> Result<Vec<Text>, Error> {
        self.rows(
            "SELECT used_by, name, kind, sha256, bytes, text, replaced FROM v_text WHERE experiment_id = ?1
             ORDER BY used_by, name",
            [experiment.0],
            text,
        )
    }
}

fn text(row: &Row<'_>) -> Sqlite<Text> {
    Ok(Text {
        used_by: row.get(0)?,
        name: row.get(1)?,
        kind: rows::read_word(row, 2)?,
        hash: row.get(3)?,
        bytes: row.get::<_, i64>(4)? as u64,
        text: row.get(5)?,
        replaced: rows::json(row, 6)?,
    })
}
