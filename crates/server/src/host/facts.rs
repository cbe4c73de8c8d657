//! CPU, memory, system and virtualisation, by name.

use std::collections::BTreeMap;
use std::fs::read_to_string;
use std::path::Path;

use sha2::{Digest, Sha256};

pub(super) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// A stable name of the machine: a hash, which does not reveal the machine id.
pub(super) fn identity(host_name: &str) -> String {
    let id = ["/etc/machine-id", "/var/lib/dbus/machine-id"]
        .iter()
        .find_map(|path| line(path))
        .unwrap_or_else(|| host_name.to_owned());
    let hash = Sha256::new().chain_update("pgdyno host ").chain_update(id).finalize();
    spec::hex(&hash[..16])
}

pub(super) fn cpu_model() -> String {
    read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| cpu_model_in(&text))
        .or_else(|| line("/proc/device-tree/model"))
        .unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// procfs drops lines without a processor, as on ARM boards, and ends a value at a colon.
fn cpu_model_in(cpuinfo: &str) -> Option<String> {
    // x86 has "model name", ARM boards "Model" or "Hardware", POWER "cpu", s390 "processor 0".
    ["model name", "Model", "Hardware", "cpu"].into_iter().find_map(|wanted| {
        cpuinfo.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == wanted && !value.trim().is_empty()).then(|| value.trim().to_owned())
        })
    })
}

/// Memory of the machine, bytes; 0 when unknown.
pub(super) fn machine_memory_bytes() -> u64 {
    // SAFETY: `sysconf` only reads its argument.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    u64::try_from(pages).unwrap_or(0) * u64::try_from(size).unwrap_or(0)
}

/// Other facts that could explain a figure.
pub(super) fn facts() -> BTreeMap<String, String> {
    let uname = rustix::system::uname();
    let mut facts = BTreeMap::new();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            facts.insert(name.to_owned(), value);
        }
    };
    add(
        "kernel",
        Some(format!("{} {}", uname.sysname().to_string_lossy(), uname.release().to_string_lossy())),
    );
    add("architecture", Some(uname.machine().to_string_lossy().into_owned()));
    add("os", read_to_string("/etc/os-release").ok().and_then(|text| os_name(&text)));
    add("virtualisation", virtualisation());
    add("container", container());
    add("cpu_governor", line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
    add("huge_pages", line("/sys/kernel/mm/transparent_hugepage/enabled").and_then(|text| chosen(&text)));
    add("clock", line("/sys/devices/system/clocksource/clocksource0/current_clocksource"));
    add("hardware_counters", Some(super::counters::availability()));
    add("load_average", line("/proc/loadavg").map(|text| first_words(&text, 3)));
    add("cpu_pressure", line("/proc/pressure/cpu"));
    facts
}

fn os_name(os_release: &str) -> Option<String> {
    let value = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim_matches('"').to_owned())
}

/// The virtualisation, from the firmware and the CPU.
fn virtualisation() -> Option<String> {
    let firmware = [line("/sys/class/dmi/id/sys_vendor"), line("/sys/class/dmi/id/product_name")];
    let firmware: Vec<String> = firmware.into_iter().flatten().collect();
    let hypervisor = read_to_string("/proc/cpuinfo").is_ok_and(|text| {
        text.lines().any(|line| line.starts_with("flags") && line.split(' ').any(|flag| flag == "hypervisor"))
    });
    match (hypervisor, firmware.is_empty()) {
        (true, true) => Some("virtual machine".to_owned()),
        (true, false) => Some(format!("virtual machine ({})", firmware.join(" "))),
        (false, false) => Some(firmware.join(" ")),
        (false, true) => None,
    }
}

fn container() -> Option<String> {
    let kind = line("/run/systemd/container");
    let marks = [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")];
    kind.or_else(|| {
        marks.iter().find(|(file, _)| Path::new(file).exists()).map(|(_, kind)| (*kind).to_owned())
    })
}

/// The first line of a file, trimmed.
fn line(path: &str) -> Option<String> {
    let text = read_to_string(path).ok()?;
    let line = text.lines().next()?.trim_matches(['\0', ' ', '\t']);
    (!line.is_empty()).then(|| line.to_owned())
}

/// The choice in brackets: `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    Some(text.split_once('[')?.1.split_once(']')?.0.to_owned())
}

fn first_words(text: &str, count: usize) -> String {
    text.split(' ').take(count).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_models() {
        let cases = [
            ("processor\t: 0\nmodel name\t: Intel(R) Xeon(R)\n", Some("Intel(R) Xeon(R)")),
            (
                "processor : 0\nBogoMIPS : 108.00\nHardware\t: BCM2835\nModel\t\t: Raspberry Pi 4\n",
                Some("Raspberry Pi 4"),
            ),
            ("processor : 0\n", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(cpu_model_in(text).as_deref(), wanted);
        }
    }

    #[test]
    fn small_readers() {
        assert_eq!(os_name("ID=debian\nPRETTY_NAME=\"Debian 12\"\n").as_deref(), Some("Debian 12"));
        assert_eq!(chosen("always [madvise] never").as_deref(), Some("madvise"));
        assert_eq!(first_words("0.1 0.2 0.3 1/200 99", 3), "0.1 0.2 0.3");
    }

    #[test]
    fn identity_is_stable_and_no_machine_id() {
        let identity = identity("x");
        assert_eq!(identity, super::identity("x"));
        assert_eq!(identity.len(), 32);
        assert_ne!(line("/etc/machine-id").as_deref(), Some(identity.as_str()));
    }
}
