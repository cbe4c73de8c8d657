//! Handles events during a run: messages at once, log lines to files, progress each interval.

use std::time::{SystemTime, UNIX_EPOCH};

use engine::{Abort, ClientMessage, Observer, Second, StopFlag, Time, TransactionEntry};

use super::log::Log;
use super::progress::Ticker;
use super::talk::{LogLevel, Talk};

pub(super) struct PgbenchWatch<'a> {
    pub(super) talk: &'a Talk,
    pub(super) log: Option<Log>,
    pub(super) ticker: Option<Ticker>,
    pub(super) exit_on_abort: bool,
    pub(super) stop: &'a StopFlag,
    pub(super) aborted: Option<usize>,
}

impl Observer for PgbenchWatch<'_> {
    fn began(&mut self, epoch: SystemTime) {
        if let Some(log) = &mut self.log {
            log.began(since_1970_us(epoch));
        }
    }

    fn loading(&mut self, _connecting: Time) {
        if let Some(log) = &mut self.log {
            log.loading(since_1970_us(SystemTime::now()));
        }
    }

    fn message(&mut self, message: &ClientMessage) {
        self.talk.say(message.level.into(), &message.text);
    }

    fn aborted(&mut self, abort: &Abort) {
        for line in abort.causes.iter().chain([&abort.message]) {
            self.talk.say(LogLevel::Error, line);
        }
        self.aborted.get_or_insert(abort.client);
        if self.exit_on_abort {
            self.stop.set();
        }
    }

    fn waiting(&mut self, clients: usize) {
        let clients = if clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") };
        let text = format!("waiting for {clients} with an open transaction; Ctrl-C ends the run");
        self.talk.say(LogLevel::Info, &text);
    }

    fn transactions(&mut self, thread: usize, entries: &[TransactionEntry]) {
        if let Some(log) = &mut self.log {
            log.transactions(thread, entries);
        }
    }

    fn second(&mut self, second: &Second) {
        if let Some(log) = &mut self.log {
            log.flush();
        }
        if let Some(line) = self.ticker.as_mut().and_then(|ticker| ticker.second(second)) {
            self.talk.say(LogLevel::Plain, &line);
        }
    }
}

fn since_1970_us(time: SystemTime) -> i64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as i64
}
