//! Allows the system calls that a daemon makes once it is set up, and no others (seccomp(2)),
//! by a program of the classic packet filter (`struct sock_filter`).
//!
//! Any other call fails with `EPERM`, so that one missing from the list does not end the
//! daemon: no file is opened, no program run, no socket, process or executable mapping made. A
//! call by the convention of another processor, which no library makes, kills the process.
//! For x86-64 and AArch64; on others there is no filter, and [`restrict`] refuses.

use super::super::OsError;

#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))]
pub use filter::restrict;

/// Refuses: there is no list of calls for this processor.
///
/// # Errors
/// Any refusal of the kernel.
#[cfg(not(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little"))))]
pub fn restrict() -> Result<(), OsError> {
    Err(OsError::new("seccomp on this processor", nix::errno::Errno::ENOSYS))
}

#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))]
mod filter {
    use super::OsError;
    use crate::Call;
    use libc::{c_long, sock_filter, sock_fprog};
    use nix::errno::Errno;
    use nix::unistd::{getpid, gettid};

    /// The condition under which a call is allowed.
    #[derive(Clone, Copy, Debug)]
    enum Allowed {
        Always,
        /// If the low 32 bits of the argument of this index are equal to the value.
        If(u32, u32),
        /// If the low 32 bits of the argument of this index have none of these bits.
        Without(u32, u32),
    }

    /// The calls that are allowed with any arguments: for packets, questions and answers, time,
    /// memory, and the end.
    const ALWAYS: &[c_long] = &[
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_readv,
        libc::SYS_writev,
        libc::SYS_close,
        libc::SYS_fcntl,
        libc::SYS_fstat,
        libc::SYS_recvfrom,
        libc::SYS_recvmsg,
        libc::SYS_recvmmsg,
        libc::SYS_sendto,
        libc::SYS_sendmsg,
        libc::SYS_sendmmsg,
        libc::SYS_accept,
        libc::SYS_accept4,
        libc::SYS_shutdown,
        libc::SYS_getsockname,
        libc::SYS_getpeername,
        libc::SYS_getsockopt,
        libc::SYS_epoll_ctl,
        libc::SYS_epoll_pwait,
        libc::SYS_ppoll,
        libc::SYS_timerfd_settime,
        libc::SYS_timerfd_gettime,
        libc::SYS_clock_gettime,
        libc::SYS_clock_getres,
        libc::SYS_gettimeofday,
        libc::SYS_nanosleep,
        libc::SYS_clock_nanosleep,
        libc::SYS_sched_yield,
        libc::SYS_futex,
        libc::SYS_brk,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_madvise,
        libc::SYS_getrandom,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_getuid,
        libc::SYS_geteuid,
        libc::SYS_getgid,
        libc::SYS_getegid,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        libc::SYS_restart_syscall,
        // The control socket's file; landlock says where.
        libc::SYS_unlinkat,
        libc::SYS_exit,
        libc::SYS_exit_group,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_unlink,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_epoll_wait,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_time,
    ];

    /// `AUDIT_ARCH_X86_64` and `AUDIT_ARCH_AARCH64` of linux/audit.h.
    const ARCHITECTURE: u32 = if cfg!(target_arch = "x86_64") { 0xc000_003e } else { 0xc000_00b7 };
    /// Offsets in struct seccomp_data, little-endian: the number of the call, the
    /// architecture, the low half of the first argument.
    const NUMBER: u32 = 0;
    const CONVENTION: u32 = 4;
    const ARGUMENTS: u32 = 16;
    const ARGUMENT_BYTES: u32 = 8;

    const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const JUMP_IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const JUMP_IF_ANY: u32 = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;

    /// Restricts all threads of the process, which must have set `no_new_privs`.
    ///
    /// # Errors
    /// If the kernel has no filters of system calls.
    #[expect(unsafe_code, reason = "seccomp, which no wrapper offers")]
    pub fn restrict() -> Result<(), OsError> {
        let mut program = program();
        let program = sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
        let (mode, flags) = (libc::SECCOMP_SET_MODE_FILTER, libc::SECCOMP_FILTER_FLAG_TSYNC);
        // SAFETY: the kernel copies the program, which lives and has this length.
        let result = unsafe { libc::syscall(libc::SYS_seccomp, mode, flags, &raw const program) };
        // With this flag a positive number is a thread that could not be restricted.
        match Errno::result(result).call("seccomp(SECCOMP_SET_MODE_FILTER)")? {
            0 => Ok(()),
            _ => Err(OsError::new("seccomp of another thread", Errno::EBUSY)),
        }
    }

    fn rules() -> Vec<(c_long, Allowed)> {
        let (process, thread) = (getpid().as_raw() as u32, gettid().as_raw() as u32);
        let executable = libc::PROT_EXEC as u32;
        let some = [
            (libc::SYS_mmap, Allowed::Without(2, executable)),
            (libc::SYS_mprotect, Allowed::Without(2, executable)),
            // Of devices and sockets only that they do not block.
            (libc::SYS_ioctl, Allowed::If(1, libc::FIONBIO as u32)),
            // Scheduling of this thread, and abort(3) of this process.
            (libc::SYS_sched_setscheduler, Allowed::If(0, 0)),
            (libc::SYS_setpriority, Allowed::If(1, thread)),
            (libc::SYS_tgkill, Allowed::If(0, process)),
        ];
        ALWAYS.iter().map(|&call| (call, Allowed::Always)).chain(some).collect()
    }

    fn program() -> Vec<sock_filter> {
        let step = |code: u32, k: u32| sock_filter { code: code as u16, jt: 0, jf: 0, k };
        let jump = |code: u32, k: u32, jt: u8, jf: u8| sock_filter { code: code as u16, jt, jf, k };
        let mut program = vec![
            step(LOAD, CONVENTION),
            jump(JUMP_IF_EQUAL, ARCHITECTURE, 1, 0),
            step(RETURN, libc::SECCOMP_RET_KILL_PROCESS),
            step(LOAD, NUMBER),
        ];
        for (call, allowed) in rules() {
            let call = call as u32;
            let condition = match allowed {
                Allowed::Always => {
                    program.push(jump(JUMP_IF_EQUAL, call, 0, 1));
                    program.push(step(RETURN, libc::SECCOMP_RET_ALLOW));
                    continue;
                }
                // Steps from here to the refusal: over the permission, or not.
                Allowed::If(index, value) => (index, jump(JUMP_IF_EQUAL, value, 0, 1)),
                Allowed::Without(index, bits) => (index, jump(JUMP_IF_ANY, bits, 1, 0)),
            };
            let (index, condition) = condition;
            program.extend([
                jump(JUMP_IF_EQUAL, call, 0, 4),
                step(LOAD, ARGUMENTS + ARGUMENT_BYTES * index),
                condition,
                step(RETURN, libc::SECCOMP_RET_ALLOW),
                step(RETURN, REFUSE),
            ]);
        }
        program.push(step(RETURN, REFUSE));
        program
    }
}
