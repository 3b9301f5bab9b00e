//! Finds the instruction sets that an x86 CPU has and its operating system supports, by CPUID and
//! XGETBV (Intel SDM, volume 1, chapter 14): without `std` there is no other way. Leaves out
//! instruction sets that no kernel uses.
#![expect(unsafe_code, reason = "instructions that not every CPU has")]

use core::arch::x86_64::{__cpuid_count, _xgetbv, CpuidResult};

/// Bits of CPUID leaf 1, ECX.
const SSSE3: u32 = 1 << 9;
const OSXSAVE: u32 = 1 << 27;
/// Bits of CPUID leaf 7, EBX.
const AVX2: u32 = 1 << 5;
const AVX512F: u32 = 1 << 16;
const AVX512BW: u32 = 1 << 30;
/// Bits of CPUID leaf 7, ECX.
const GFNI: u32 = 1 << 8;
/// Bits of XCR0: SSE and AVX registers; the same with mask registers and the rest
/// of AVX-512's registers.
const YMM_STATE: u64 = 0b110;
const ZMM_STATE: u64 = 0b1110_0110;

/// The instruction sets that may be used.
pub(super) struct Features {
    pub ssse3: bool,
    pub avx2: bool,
    /// AVX-512F and AVX-512BW.
    pub avx512: bool,
    /// GFNI, at the vector widths of the other sets.
    pub gfni: bool,
}

/// Asks the CPU. Slow where a hypervisor answers: the caller keeps the result.
pub(super) fn features() -> Features {
    // Miri does not support CPUID; it checks the scalar kernel and the code around
    // it.
    if cfg!(miri) {
        return Features { ssse3: false, avx2: false, avx512: false, gfni: false };
    }
    let highest = leaf(0).eax;
    let one = leaf(1).ecx;
    let (ebx, ecx) = if highest >= 7 {
        let seven = leaf(7);
        (seven.ebx, seven.ecx)
    } else {
        (0, 0)
    };
    let saved = if one & OSXSAVE != 0 {
        // SAFETY: OSXSAVE says that the CPU has XGETBV.
        unsafe { _xgetbv(0) }
    } else {
        0
    };
    let (ymm, zmm) = (saved & YMM_STATE == YMM_STATE, saved & ZMM_STATE == ZMM_STATE);
    let avx512 = AVX512F | AVX512BW;
    Features {
        ssse3: one & SSSE3 != 0,
        avx2: ymm && ebx & AVX2 != 0,
        avx512: zmm && ebx & avx512 == avx512,
        gfni: ecx & GFNI != 0,
    }
}

/// The first sub-leaf of CPUID `leaf`.
#[allow(unused_unsafe, reason = "newer compilers know that every x86-64 has CPUID")]
fn leaf(leaf: u32) -> CpuidResult {
    // SAFETY: every x86-64 has CPUID.
    unsafe { __cpuid_count(leaf, 0) }
}
