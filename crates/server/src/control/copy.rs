//! COPY data over a control connection.

use protocol::postgres::frontend;
use protocol::postgres::sql::{SqlError, Supply};

use super::Control;
use super::query::{QueryAnswer, broken};
use super::stall_watch::StallWatch;

impl Control {
    /// Runs a `COPY … FROM STDIN` to its end.
    pub(super) fn copy(
        &mut self,
        sql: &str,
        fill: &mut dyn FnMut(&mut Vec<u8>) -> Supply,
        answer: &mut QueryAnswer,
        watch: &mut StallWatch,
    ) -> Result<(), SqlError> {
        frontend::query(&mut self.out, sql);
        self.send(watch)?;
        while !answer.copy_started {
            if self.next_message(sql, answer, watch)? {
                return match answer.error.take() {
                    Some(error) => Err(error),
                    None => Err(broken("the statement is not a COPY … FROM STDIN")),
                };
            }
        }
        match self.send_copy(sql, fill, answer, watch) {
            Ok(true) => Ok(()),
            Ok(false) => self.rest(sql, answer, watch),
            Err(error) if watch.is_over() => Err(error),
            // The server's error before it closed explains more.
            Err(error) => self.rest(sql, answer, watch).and(Err(error)),
        }
    }

    /// Sends the data; `true` when the server has given its last answer already.
    fn send_copy(
        &mut self,
        sql: &str,
        fill: &mut dyn FnMut(&mut Vec<u8>) -> Supply,
        answer: &mut QueryAnswer,
        watch: &mut StallWatch,
    ) -> Result<bool, SqlError> {
        let mut data = Vec::new();
        let supply = loop {
            data.clear();
            let supply = fill(&mut data);
            if !data.is_empty() {
                frontend::copy_data(&mut self.out, &data);
                self.send(watch)?;
            }
            if supply != Supply::More {
                break supply;
            }
            // A server that has refused the data would still read it all.
            while self.stream.has_input() {
                if self.next_message(sql, answer, watch)? {
                    return Ok(true);
                }
            }
            if answer.error.is_some() {
                return Ok(false);
            }
        };
        match supply {
            Supply::GiveUp => frontend::copy_fail(&mut self.out, "given up"),
            _ => frontend::copy_done(&mut self.out),
        }
        self.send(watch).map(|()| false)
    }
}
