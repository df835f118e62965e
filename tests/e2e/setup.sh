# SPDX-License-Identifier: Apache-2.0
# tools/setup needs neither sudo nor packages where the commands and libraries of the build are there; without those of
# an optional part it says so and succeeds; without one that the build needs, it fails and says what to install.
. "$(dirname "$0")/lib.sh"
mkdir "$work/bin"
cd "$work/bin"
for tool in bash cat grep; do
	ln -s "$(command -v $tool)" $tool
done
# command_is NAME LINE...: a command of this machine.
command_is() {
	printf '#!/bin/bash\n' >"$1"
	printf '%s\n' "${@:2}" >>"$1"
	chmod +x "$1"
}
for tool in gcc meson ninja fusermount3; do
	command_is $tool
done
command_is id 'echo 1000'
command_is apt-cache
command_is apt-get 'echo apt-get was called'
command_is dpkg-query 'case $4 in python3-pip | libblis-serial-dev | liblapack3) echo install ok installed ;; esac'
command_is pkg-config '! grep -qx -- "$2" "$0.missing"'
: >pkg-config.missing
setup() {
	env -i PATH="$work/bin" /bin/bash "$SOURCE/tools/setup" "$@" 2>&1
}

prints_nothing setup
echo fuse3 >pkg-config.missing
rm fusermount3
setup >"$work/told"
has_line 'packages are missing, and there is no sudo; as root: apt-get install libfuse3-dev fuse3$' <"$work/told"
has_line 'setup: continuing without: libfuse3-dev fuse3$' <"$work/told"

echo libzstd >pkg-config.missing
fails -4 setup
has_line 'as root: apt-get install libzstd-dev fuse3$' <"$work/stdout"
rm apt-get
fails -4 setup
has_line 'not Debian or Ubuntu: install these by hand' <"$work/stdout"
