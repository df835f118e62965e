#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pack.sh: what a bare GPU machine lacks to build this, of this machine's Debian packages, into build-deps: headers,
# archives to be linked in whole, and pkg-config. all.py finds it there.
set -eu
cd "$(dirname "$0")/../.."
deps=$PWD/build-deps
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cd "$work"
apt-get download libzstd-dev libxxhash-dev nettle-dev zlib1g-dev libisal-dev libisal2 pkgconf-bin libpkgconf3
for package in *.deb; do
	dpkg-deb -x "$package" files
done
lib=files/usr/lib/x86_64-linux-gnu
# Without shared libraries the linker takes the archives, and nothing has to be found when a program starts. Of isal
# there is none.
find files -name '*.so' -delete
ln -s libisal.so.2 "$lib/libisal.so"
rm -rf files/usr/share/doc files/usr/share/man "$lib/cmake"
cat >files/usr/bin/pkg-config-here <<'END'
#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
LD_LIBRARY_PATH=$here/../lib/x86_64-linux-gnu exec "$here/pkgconf" "$@"
END
chmod +x files/usr/bin/pkg-config-here
rm -rf "$deps"
mv files "$deps"
du -sh "$deps"
