#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""System calls on a mount that no shell command makes.

    probe.py mutate DIR NAME                    every modifying call on DIR and the file NAME in it fails with EROFS
    probe.py seek DIR                           telldir() offsets lead to the entries of a directory
    probe.py types DIR                          readdir() and lstat() report the same types
    probe.py mmap|sendfile|direct|handle FILE   reads the file that way and writes it to standard output
"""
import ctypes
import errno
import mmap
import os
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, MAX_HANDLE_BYTES = -100, 128


def checked(result):
    if result is None or result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def mutate(folder, name):
    file, new = os.path.join(folder, name), os.path.join(folder, 'new')
    for what, call in {
            'open to write': lambda: os.open(file, os.O_WRONLY),
            'open to read and write': lambda: os.open(file, os.O_RDWR),
            'open to truncate': lambda: os.open(file, os.O_RDONLY | os.O_TRUNC),
            'create': lambda: os.open(new, os.O_CREAT | os.O_WRONLY),
            'mkdir': lambda: os.mkdir(new), 'mknod': lambda: os.mkfifo(new),
            'symlink': lambda: os.symlink(name, new), 'link': lambda: os.link(file, new),
            'rename': lambda: os.rename(file, new), 'unlink': lambda: os.unlink(file),
            'rmdir': lambda: os.rmdir(folder), 'truncate': lambda: os.truncate(file, 0),
            'chmod': lambda: os.chmod(file, 0o666), 'chown': lambda: os.chown(file, 1, 1),
            'utimensat': lambda: os.utime(file), 'setxattr': lambda: os.setxattr(file, 'user.x', b'x'),
            'removexattr': lambda: os.removexattr(file, 'user.x')}.items():
        try:
            call()
        except OSError as e:
            assert e.errno == errno.EROFS, f'{what}: {e} instead of EROFS'
        else:
            raise AssertionError(f'{what} succeeded')


class Dirent(ctypes.Structure):
    _fields_ = [('ino', ctypes.c_uint64), ('off', ctypes.c_int64), ('reclen', ctypes.c_ushort),
                ('type', ctypes.c_ubyte), ('name', ctypes.c_char * 256)]


LIBC.opendir.restype = ctypes.c_void_p
LIBC.readdir.restype = ctypes.POINTER(Dirent)
LIBC.telldir.restype = ctypes.c_long


def seek(path):
    folder = ctypes.c_void_p(checked(LIBC.opendir(path.encode())))
    seen = []
    while True:
        at = LIBC.telldir(folder)
        entry = LIBC.readdir(folder)
        if not entry:
            break
        seen.append((at, entry.contents.name))
    assert len(seen) > 2, seen
    for at, name in reversed(seen):
        LIBC.seekdir(folder, ctypes.c_long(at))
        entry = LIBC.readdir(folder)
        assert entry and entry.contents.name == name, f'{entry and entry.contents.name} instead of {name}'


def types(path):
    folder = ctypes.c_void_p(checked(LIBC.opendir(path.encode())))
    while entry := LIBC.readdir(folder):
        name, entry = entry.contents.name, entry.contents
        found = os.lstat(os.path.join(path.encode(), name))
        assert entry.type == found.st_mode >> 12, f'{name} is something else'
        assert entry.ino == found.st_ino or name == b'..', f'{name} has another number'


def by_mmap(path):
    with open(path, 'rb') as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as data:
        sys.stdout.buffer.write(data)


def by_sendfile(path):
    with open(path, 'rb') as f:
        at, size = 0, os.fstat(f.fileno()).st_size
        while at < size:
            at += os.sendfile(1, f.fileno(), at, size - at)


def copy(fd):
    with mmap.mmap(-1, 64 << 10) as block, open(fd, 'rb', buffering=0) as f:  # aligned, for O_DIRECT
        while n := f.readinto(block):
            sys.stdout.buffer.write(block[:n])


def by_direct(path):
    copy(os.open(path, os.O_RDONLY | os.O_DIRECT))


def by_handle(path):
    """As an NFS server does, which may use a handle long after the kernel has forgotten the name."""
    handle = (ctypes.c_uint32 * (2 + MAX_HANDLE_BYTES // 4))(MAX_HANDLE_BYTES)
    checked(LIBC.name_to_handle_at(AT_FDCWD, path.encode(), handle, ctypes.byref(ctypes.c_int()), 0))
    try:
        with open('/proc/sys/vm/drop_caches', 'w', encoding='ascii') as drop:
            drop.write('2\n')
    except PermissionError:
        pass
    mount = os.open(os.environ['MOUNT'], os.O_RDONLY)
    copy(checked(LIBC.open_by_handle_at(mount, handle, os.O_RDONLY)))


if __name__ == '__main__':
    {'mutate': mutate, 'seek': seek, 'types': types, 'mmap': by_mmap, 'sendfile': by_sendfile, 'direct': by_direct,
     'handle': by_handle}[sys.argv[1]](*sys.argv[2:])
