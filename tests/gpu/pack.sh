#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pack.sh: copies build dependencies for a bare GPU machine from this machine's Debian packages into
# build-deps: headers, static archives, and pkg-config. all.py finds them there.
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
# Without shared libraries the linker uses the archives, and programs start without libraries to
# find. The package of isal has no archive.
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
