/*
 * Lets a User-Mode Linux 6.1 run on processors whose register state is larger than it knows (AMX).
 *
 * To switch between its processes it writes their registers with PTRACE_SETREGSET(NT_X86_XSTATE) from a buffer whose
 * size was fixed when it was built. The host's kernel takes the whole state or nothing (EFAULT), and the guest panics
 * with "ptrace set fp regs failed". Preloaded, this gives the kernel the whole: what the process has now, overlaid by
 * what User-Mode Linux wrote. State beyond its buffer stays with the process, which is where the guest wants it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#define WHOLE 65536 /* more than any processor has */

long ptrace(enum __ptrace_request request, ...)
{
	static long (*next)(enum __ptrace_request, ...);
	static char whole[WHOLE];
	va_list args;
	va_start(args, request);
	int pid = va_arg(args, int);
	void *addr = va_arg(args, void *);
	void *data = va_arg(args, void *);
	va_end(args);

	if (!next)
		next = (long (*)(enum __ptrace_request, ...))dlsym(RTLD_NEXT, "ptrace");
	if (request == PTRACE_SETREGSET && (long)addr == NT_X86_XSTATE) {
		struct iovec *given = data;
		struct iovec all = {whole, sizeof whole};
		if (!next(PTRACE_GETREGSET, pid, addr, &all) && all.iov_len > given->iov_len) {
			memcpy(whole, given->iov_base, given->iov_len);
			return next(request, pid, addr, &all);
		}
	}
	return next(request, pid, addr, data);
}
