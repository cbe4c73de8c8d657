//! COPY data over a control connection.

use protocol::postgres::frontend;
use protocol::postgres::sql::{SqlError, Supply};

use super::Control;
use super::query::{Answer, broken};
use super::vigil::Vigil;

impl Control {
    /// Runs a `COPY … FROM STDIN` to its end.
    pub(super) fn copy(
        &mut self,
        sql: &str,
        fill: &mut dyn FnMut(&mut Vec<u8>) -> Supply,
        answer: &mut Answer,
        vigil: &mut Vigil,
    ) -> Result<(), SqlError> {
        frontend::query(&mut self.out, sql);
        self.send(vigil)?;
        while !answer.copy_started {
            if self.next_message(sql, answer, vigil)? {
                return match answer.error.take() {
                    Some(error) => Err(error),
                    None => Err(broken("the statement is no COPY … FROM STDIN")),
                };
            }
        }
        match self.send_copy(sql, fill, answer, vigil) {
            Ok(true) => Ok(()),
            Ok(false) => self.rest(sql, answer, vigil),
            Err(error) if vigil.is_over() => Err(error),
            // What the server said before it closed is the better reason.
            Err(error) => self.rest(sql, answer, vigil).and(Err(error)),
        }
    }

    /// Sends the data; `true` when the server has given its last answer already.
    fn send_copy(
        &mut self,
        sql: &str,
        fill: &mut dyn FnMut(&mut Vec<u8>) -> Supply,
        answer: &mut Answer,
        vigil: &mut Vigil,
    ) -> Result<bool, SqlError> {
        let mut data = Vec::new();
        let supply = loop {
            data.clear();
            let supply = fill(&mut data);
            if !data.is_empty() {
                frontend::copy_data(&mut self.out, &data);
                self.send(vigil)?;
            }
            if supply != Supply::More {
                break supply;
            }
            // A server that has refused the data reads on to its end: nobody needs that.
            while self.stream.has_input() {
                if self.next_message(sql, answer, vigil)? {
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
        self.send(vigil).map(|()| false)
    }
}
