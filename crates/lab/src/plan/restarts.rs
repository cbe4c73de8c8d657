//! Which settings need a restart.

use server::settings::needs_restart;
use spec::plan::Arm;

pub(super) fn arms_need_restart(arms: &[Arm]) -> bool {
    let values = |name: &String| arms.iter().map(|arm| arm.settings.get(name)).collect::<Vec<_>>();
    let names = arms.iter().flat_map(|arm| arm.settings.keys()).filter(|name| needs_restart(name));
    names.into_iter().any(|name| values(name).windows(2).any(|pair| pair[0] != pair[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arm(settings: &[(&str, &str)]) -> Arm {
        let settings =
            settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Arm { name: Some("a".into()), settings, weakens: Vec::new() }
    }

    #[test]
    fn restarts_are_foreseen() {
        let cases = [
            (vec![arm(&[]), arm(&[("work_mem", "1MB")])], false),
            (vec![arm(&[]), arm(&[("shared_buffers", "1GB")])], true),
            (vec![arm(&[("wal_level", "minimal")]), arm(&[("wal_level", "minimal"), ("jit", "off")])], false),
            (vec![arm(&[("port", "1")]), arm(&[("port", "2")])], true),
        ];
        for (arms, wanted) in cases {
            assert_eq!(arms_need_restart(&arms), wanted, "{arms:?}");
        }
    }
}
