"""Makes a system call in the 32-bit way, by machine code of its own (x86 only)."""
import ctypes
import mmap
import os

# mov eax, 20 (getpid of i386); int 0x80; ret
CODE = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"
PAGE = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
PAGE.write(CODE)


def flip(data):
    address = ctypes.addressof(ctypes.c_char.from_buffer(PAGE))
    if ctypes.CFUNCTYPE(ctypes.c_int)(address)() != os.getpid():
        raise OSError(1, "refused")
    return data[::-1]
