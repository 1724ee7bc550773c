// The first program of an emulated PC, in place of a BIOS: it reads Linux from a disk and starts it.
//
// campaigns/boot_disk.py writes the disk: 128 sectors of parameters, then the kernel, then the
// files, each in whole parts of 128 sectors. A BIOS and a boot loader would take longer than the
// kernel takes to start. Linux describes this way of starting in its "32-bit boot protocol".

    .set PARAMETERS, 0x10000
    .set KERNEL, 0x100000
    .set FILES, 0x6000000
    .set FIRST_OF_FILES, 0x12000   // the sector at which the files begin
    .set ALL_SECTORS, 0x12004
    .set PART, 128                 // sectors that one command reads

    .code16
    .globl _start
_start:
    cli
    lgdtl %cs:table_of_segments - _start
    movl %cr0, %eax
    orl $1, %eax
    movl %eax, %cr0
    ljmpl $0x10, $protected

    .code32
protected:
    movl $0x18, %eax
    movl %eax, %ds
    movl %eax, %es
    movl %eax, %ss
    cld
    xorl %ebx, %ebx                // the next sector
    movl $PARAMETERS, %edi         // where it goes

read_part:
    movw $0x1f2, %dx               // the ports of the first disk
    movb $PART, %al
    outb %al, %dx
    movl %ebx, %eax
    incl %edx
    outb %al, %dx
    shrl $8, %eax
    incl %edx
    outb %al, %dx
    shrl $8, %eax
    incl %edx
    outb %al, %dx
    movb %ah, %al
    orb $0xe0, %al                 // sectors are counted from 0, not by cylinder and head
    incl %edx
    outb %al, %dx
    movb $0x20, %al                // the command to read
    incl %edx
    outb %al, %dx
    movl $PART, %ebp
read_sector:
    movw $0x1f7, %dx
    inb %dx, %al
    andb $0x88, %al
    cmpb $0x08, %al                // not busy, and data is there
    jne read_sector
    movw $0x1f0, %dx
    movl $256, %ecx
    rep insw
    decl %ebp
    jnz read_sector

    addl $PART, %ebx
    cmpl $PART, %ebx
    jne is_kernel_read
    movl $KERNEL, %edi
is_kernel_read:
    cmpl FIRST_OF_FILES, %ebx
    jne is_all_read
    movl $FILES, %edi
is_all_read:
    cmpl ALL_SECTORS, %ebx
    jb read_part

    movl $PARAMETERS, %esi
    xorl %ebx, %ebx
    xorl %ebp, %ebp
    xorl %edi, %edi
    movl $KERNEL, %eax
    jmp *%eax

    .balign 8
segments:                          // all memory, as code and as data
    .quad 0, 0
    .quad 0x00cf9a000000ffff
    .quad 0x00cf92000000ffff
table_of_segments:
    .word 31
    .long segments

    .org 0xfff0                    // the processor begins here
    .code16
    jmp _start
    .org 0x10000
