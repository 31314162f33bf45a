//! A CPU's model, and the hypervisor that it runs under.

use std::collections::BTreeSet;

use host::source::Source;

/// Cores of AArch64, by implementer and part of the main ID register.
const ARM_CORES: [(&str, &str, &str); 11] = [
    ("0x41", "0xd03", "Arm Cortex-A53"),
    ("0x41", "0xd08", "Arm Cortex-A72"),
    ("0x41", "0xd0b", "Arm Cortex-A76"),
    ("0x41", "0xd0c", "Arm Neoverse-N1"),
    ("0x41", "0xd40", "Arm Neoverse-V1"),
    ("0x41", "0xd49", "Arm Neoverse-N2"),
    ("0x41", "0xd4f", "Arm Neoverse-V2"),
    ("0x41", "0xd84", "Arm Neoverse-V3"),
    ("0x41", "0xd8e", "Arm Neoverse-N3"),
    ("0xc0", "0xac3", "Ampere-1"),
    ("0xc0", "0xac4", "Ampere-1A"),
];

/// Values of a key in the text of `/proc/cpuinfo`.
fn values<'a>(info: &'a str, key: &str) -> impl Iterator<Item = &'a str> {
    info.lines().filter_map(move |line| {
        let (name, value) = line.split_once(':')?;
        let value = value.trim();
        (name.trim().eq_ignore_ascii_case(key) && !value.is_empty()).then_some(value)
    })
}

/// Model by the text of `/proc/cpuinfo`.
pub(super) fn model(info: &str) -> Option<String> {
    // x86, s390 and LoongArch; MIPS; POWER; RISC-V.
    let mut keys = ["model name", "cpu model", "cpu", "uarch"].into_iter();
    if let Some(model) = keys.find_map(|key| values(info, key).next()) {
        return Some(model.to_owned());
    }
    // Every kind of core: a chip of Arm's may mix them.
    let cores = values(info, "CPU implementer").zip(values(info, "CPU part"));
    let models = cores.map(|(implementer, part)| {
        let known = ARM_CORES.iter().find(|(i, p, _)| (*i, *p) == (implementer, part));
        match known {
            Some((.., name)) => format!("{name} ({implementer}/{part})"),
            None => format!("implementer {implementer} part {part}"),
        }
    });
    joined(models.collect(), " + ")
}

/// All of them in a line; `None` if there are none.
pub(super) fn joined(texts: BTreeSet<String>, separator: &str) -> Option<String> {
    let texts: Vec<String> = texts.into_iter().collect();
    (!texts.is_empty()).then(|| texts.join(separator))
}

/// Hypervisor, from the most reliable source to the least.
pub(super) fn hypervisor(
    source: &Source,
    info: &str,
    vendor: &str,
    product: &str,
) -> Option<&'static str> {
    // The privileged domain of Xen sees it here too, while its CPU may hide it.
    if source.text("/sys/hypervisor/type").as_deref() == Some("xen") {
        return Some("Xen");
    }
    let by_firmware = of_firmware(vendor, product);
    // Only x86 has flags that show it.
    let Some(flags) = values(info, "flags").next() else { return by_firmware };
    if !flags.split_whitespace().any(|flag| flag == "hypervisor") {
        return Some("none");
    }
    let by_firmware = by_firmware.filter(|&name| name != "none");
    paravirtual_clock(source).or(by_firmware).or(Some("unnamed"))
}

/// Hypervisor, if the firmware is its own. Clouds that rent whole machines under the same vendor are left out,
/// except for the one that tells them apart.
fn of_firmware(vendor: &str, product: &str) -> Option<&'static str> {
    Some(match (vendor, product) {
        ("Amazon EC2", product) if product.contains(".metal") => "none",
        ("Amazon EC2", product) if !product.is_empty() => "Amazon EC2",
        ("Microsoft Corporation", "Virtual Machine") => "Hyper-V",
        ("Xen", _) => "Xen",
        ("BHYVE", _) => "bhyve",
        ("innotek GmbH", _) | (_, "VirtualBox") => "VirtualBox",
        ("Apple Inc.", product) if product.contains("Virtualization") => "Apple",
        (vendor, _) if vendor.starts_with("VMware") => "VMware",
        (vendor, _) if vendor.starts_with("Parallels") => "Parallels",
        (_, product) if product.contains("KVM") => "KVM",
        ("QEMU", _) => "QEMU",
        _ => return None,
    })
}

/// Hypervisor to which an available clock belongs: the kernel offers it only after talking to it.
fn paravirtual_clock(source: &Source) -> Option<&'static str> {
    let folder = "/sys/devices/system/clocksource/clocksource0";
    let clocks = source.text(&format!("{folder}/available_clocksource"))?;
    let known = [("kvm-clock", "KVM"), ("xen", "Xen"), ("hyperv_clocksource", "Hyper-V")];
    let mut clocks = clocks.split_whitespace();
    clocks.find_map(|clock| Some(known.iter().find(|(name, _)| clock.starts_with(name))?.1))
}
