//! The hypervisor and the machine's name.

use super::cpu::Info;
use crate::source::Source;

/// Firmware's description of the machine: `/sys/class/dmi/id`.
pub(super) struct Dmi {
    vendor: Option<String>,
    product: Option<String>,
}

impl Dmi {
    pub(super) fn read(source: &Source) -> Self {
        Self {
            vendor: source.text("/sys/class/dmi/id/sys_vendor"),
            product: source.text("/sys/class/dmi/id/product_name"),
        }
    }

    pub(super) fn hardware(&self) -> Option<String> {
        match (&self.vendor, &self.product) {
            (Some(vendor), Some(product)) => Some(format!("{vendor} {product}")),
            (one, other) => one.clone().or_else(|| other.clone()),
        }
    }

    /// Hypervisor, if the firmware is its own. Clouds that rent whole machines under the same
    /// vendor are left out, except for the one that tells them apart.
    fn hypervisor(&self) -> Option<&'static str> {
        let vendor = self.vendor.as_deref().unwrap_or_default();
        let product = self.product.as_deref().unwrap_or_default();
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
}

/// Hypervisor, from the most reliable source to the least.
pub(super) fn hypervisor(source: &Source, info: &Info, dmi: &Dmi) -> Option<String> {
    // The privileged domain of Xen sees it here too, while its CPU may hide it.
    let is_xen = source.text("/sys/hypervisor/type").as_deref() == Some("xen");
    let name = match info.hypervisor_flag() {
        _ if is_xen => "Xen",
        Some(false) => "none",
        Some(true) => paravirtual_clock(source)
            .or_else(|| dmi.hypervisor().filter(|&name| name != "none"))
            .unwrap_or("unnamed"),
        None => dmi.hypervisor()?,
    };
    Some(name.to_owned())
}

/// Hypervisor to which an available clock belongs: the kernel offers it only after talking to it.
fn paravirtual_clock(source: &Source) -> Option<&'static str> {
    let clocks =
        source.text("/sys/devices/system/clocksource/clocksource0/available_clocksource")?;
    let known = [("kvm-clock", "KVM"), ("xen", "Xen"), ("hyperv_clocksource", "Hyper-V")];
    let mut clocks = clocks.split_whitespace();
    clocks.find_map(|clock| Some(known.iter().find(|(name, _)| clock.starts_with(name))?.1))
}
