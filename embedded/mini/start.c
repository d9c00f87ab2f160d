/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/* The first instructions of the program: they give the arguments on the stack to Swift. */
#include "system.h"

int mini_main(int count, char **arguments);

#if defined __x86_64__
__asm__(".globl _start\n_start: xor %ebp, %ebp\n mov %rsp, %rdi\n and $-16, %rsp\n call mini_start\n");
#elif defined __aarch64__
__asm__(".globl _start\n_start: mov x29, #0\n mov x30, #0\n mov x0, sp\n and sp, x0, #-16\n bl mini_start\n");
#elif defined __arm__
__asm__(".arm\n.globl _start\n.type _start, %function\n_start: mov fp, #0\n mov lr, #0\n mov r0, sp\n bic r1, sp, #7\n mov sp, r1\n blx mini_start\n");
#elif defined __riscv
__asm__(".globl _start\n_start: .option push\n .option norelax\n la gp, __global_pointer$\n .option pop\n mv a0, sp\n andi sp, sp, -16\n"
        " call mini_start\n");
#else
#error "This architecture has no start: add it here and in system.c."
#endif

__attribute__((used, noreturn)) void mini_start(long *stack) { mini_exit(mini_main((int)stack[0], (char **)(stack + 1))); }

#ifdef __arm__
/* The division of libgcc calls this for a divisor of 0. Swift checks divisors before. */
int raise(int signal) {
  (void)signal;
  mini_exit(70);
}
/* Tables of libgcc for unwinding, which nothing does, refer to this. */
void __aeabi_unwind_cpp_pr0(void) {}
#endif
