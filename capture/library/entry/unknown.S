/* SPDX-License-Identifier: Apache-2.0 */

/* Entries for functions without a description (System V ABI, x86-64). Each keeps all
 * registers that can hold arguments, tells unknown.c, calls the real function with a copy of the
 * stack's 32 words that may hold more of them, and keeps all registers that can hold the result.
 *
 * The frame: rbp-8 number, rbp-16 on, rbp-24 half of a result; from rbp-72 the integer registers in
 * order (the words); rbp-80 al; from rbp-208 xmm0..7; from rbp-208-CALL struct cap_call.
 */
#ifdef __x86_64__

#define CALL 256
#define FRAME (208 + CALL)
#define STACKED 32

	.text
	.hidden cap_unknown_real
	.hidden cap_unknown_enter
	.hidden cap_unknown_leave
	.hidden cap_trampolines
	.globl cap_trampolines
	.balign 16
cap_trampolines:
	.set number, 0
	.rept 512
	.balign 16
	endbr64
	movl $number, %r11d
	jmp common
	.set number, number + 1
	.endr

	.balign 16
	.type common, @function
common:
	.cfi_startproc
	pushq %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	movq %rsp, %rbp
	.cfi_def_cfa_register rbp
	subq $FRAME, %rsp
	andq $-16, %rsp
	movq %r11, -8(%rbp)
	movq %rdi, -72(%rbp)
	movq %rsi, -64(%rbp)
	movq %rdx, -56(%rbp)
	movq %rcx, -48(%rbp)
	movq %r8, -40(%rbp)
	movq %r9, -32(%rbp)
	movq %rax, -80(%rbp)
	movups %xmm0, -208(%rbp)
	movups %xmm1, -192(%rbp)
	movups %xmm2, -176(%rbp)
	movups %xmm3, -160(%rbp)
	movups %xmm4, -144(%rbp)
	movups %xmm5, -128(%rbp)
	movups %xmm6, -112(%rbp)
	movups %xmm7, -96(%rbp)

	movl %r11d, %edi
	leaq -72(%rbp), %rsi
	leaq -FRAME(%rbp), %rdx
	call cap_unknown_enter
	movzbl %al, %eax
	movq %rax, -16(%rbp)
	movl -8(%rbp), %edi
	call cap_unknown_real
	movq %rax, %r11

	subq $(8 * STACKED), %rsp
	leaq 16(%rbp), %rsi
	movq %rsp, %rdi
	movl $STACKED, %ecx
	cld
	rep movsq

	movq -72(%rbp), %rdi
	movq -64(%rbp), %rsi
	movq -56(%rbp), %rdx
	movq -48(%rbp), %rcx
	movq -40(%rbp), %r8
	movq -32(%rbp), %r9
	movq -80(%rbp), %rax
	movups -208(%rbp), %xmm0
	movups -192(%rbp), %xmm1
	movups -176(%rbp), %xmm2
	movups -160(%rbp), %xmm3
	movups -144(%rbp), %xmm4
	movups -128(%rbp), %xmm5
	movups -112(%rbp), %xmm6
	movups -96(%rbp), %xmm7
	call *%r11
	addq $(8 * STACKED), %rsp

	cmpq $0, -16(%rbp)
	je 1f
	movq %rax, -8(%rbp)
	movq %rdx, -24(%rbp)
	movups %xmm0, -208(%rbp)
	movups %xmm1, -192(%rbp)
	leaq -FRAME(%rbp), %rdi
	movq %rax, %rsi
	call cap_unknown_leave
	movq -8(%rbp), %rax
	movq -24(%rbp), %rdx
	movups -208(%rbp), %xmm0
	movups -192(%rbp), %xmm1
1:
	leave
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
	.size common, . - common

#endif
	.section .note.GNU-stack, "", @progbits
