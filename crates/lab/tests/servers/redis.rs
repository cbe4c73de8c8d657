//! The private Redis server.

use lab::target::redis::Redis;

use crate::support::{Place, is_alive, watchdog};

#[test]
fn redis_lives_as_long_as_its_owner() {
    let place = Place::new();
    let mut redis = Redis::start(&place.home, &watchdog(), &engine::Stop::new()).unwrap();
    redis.check().unwrap();
    assert!(redis.version().starts_with(|first: char| first.is_ascii_digit()), "{}", redis.version());
    let engine::Address::Unix(socket) = redis.place().endpoint.address else { panic!("no socket") };
    assert!(socket.exists());
    let pid = redis.pid();
    drop(redis);
    assert!(!is_alive(pid) && !socket.exists());
}
