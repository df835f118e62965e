# SPDX-License-Identifier: Apache-2.0
# Code images and contents of buffers are in modules/ and contents/ of a trace, byte for byte.
. "$(dirname "$0")/lib.sh"
need_capture
contents=$SOURCE/tests/capture/contents.py
corpus=$SOURCE/tests/fuzz/corpus
cd "$work"

# column FILE NAME...: prints these columns of a table without its header.
column() {
	file=$1
	shift
	awk -F '\t' -v names="$*" 'NR == 1 { n = split(names, name, " "); for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ for (i = 1; i <= n; i++) printf "%s%s", $at[name[i]], i < n ? "\t" : "\n" }' "$file"
}

gpucapture --digest=comm --embed-images --payloads=0-9 -o run -- gpuemu -o report -- \
	"$contents" load "$corpus/elf/kernels" "$corpus/ptx/kernels" "$corpus/fatbin/plain" >want
gputrace verify run >/dev/null
gputrace export --format=tsv -o tables run

# Each image once, whether it was loaded from memory or from a file.
for kind in cubin:elf/kernels ptx:ptx/kernels fatbin:fatbin/plain; do
	equal "$(ls tables/modules | grep -c "\.${kind%%:*}\$")" 1
	cmp tables/modules/*."${kind%%:*}" "$corpus/${kind#*:}" || die "the stored ${kind%%:*} differs from the loaded one"
done
equal "$(column tables/modules/index module | sort)" "$(ls tables/modules | grep -v index | sort)"
column tables/modules/index module bytes | while IFS='	' read -r module bytes; do
	equal "$(stat -c %s "tables/modules/$module")" "$bytes"
done
! command -v cuobjdump >/dev/null || cuobjdump -lelf tables/modules/*.cubin >/dev/null || die "cuobjdump refuses a cubin"

# Each buffer that the program copied first, and the digest recorded for it.
find tables -path '*/gpu0/digests' -not -path '*/gpus/*' -exec cat {} + >digests
column digests number | grep -v number >numbers || skip "missing nvcc: the digest kernel was not built"
column tables/contents/index number access allocation offset_bytes length_bytes content |
	while IFS='	' read -r number access allocation offset bytes content; do
		equal "$(stat -c %s "tables/contents/$content")" "$bytes"
		grep -q "^$number	$access	$allocation	$offset	$bytes	" digests ||
			die "no digest for $content: $number $access $allocation+$offset $bytes"
	done
equal "$(column tables/contents/index content | sort -u)" "$(ls tables/contents | grep -v index | sort)"
equal "$(column tables/contents/index number | wc -l)" "$(grep -c '^want' want)"
python3 - tables/contents <<'PY'
import pathlib, sys
whole = bytes(((i * 2654435761 & (1 << 64) - 1) >> 13) & 255 for i in range(200000))
held = [p.read_bytes() for p in pathlib.Path(sys.argv[1]).iterdir()]
for wanted in whole, whole[1000:101000], whole[:5000], whole[:77], whole[2000:2100]:
	assert wanted in held, f'{len(wanted)} bytes are missing'
PY
gputrace info run >info
grep -q "contents  3 of 3 code images, $(ls tables/contents | grep -vc index) buffers, in " info || die "$(cat info)"
gputrace info --json run | python3 -c 'import json, sys; c = json.load(sys.stdin)["contents"]; assert c["images"] == c["images_kept"] == 3, c'

# The packed file shows the same; an image found by its build id is listed but not stored.
gputrace pack -o run.gputrace run
gputrace export --format=tsv -o packed run.gputrace
diff -r tables/contents packed/contents
diff -r tables/modules packed/modules
gpucapture -o plain -- gpuemu -o report -- "$contents" load "$corpus/ptx/kernels" >want
gputrace export --format=tsv -o listed plain
equal "$(ls listed/contents)" index
equal "$(column listed/modules/index kind)" ptx

# --payloads implies digests, and is refused with --digest=none.
gpucapture --payloads=0-9 -o implied -- gpuemu -o report -- \
	"$contents" load "$corpus/elf/kernels" "$corpus/ptx/kernels" "$corpus/fatbin/plain" >want
gputrace export --format=tsv -o implied.tables implied
diff -r tables/contents implied.tables/contents
fails -2 gpucapture --digest=none --payloads=0-9 -o refused -- true
says '--payloads: nothing is digested with --digest=none; expected comm, step or launch'

# Mounted, it is the same tree; damaged contents are not shown, and `errors` lists them.
can_mount || skip "the mount: $why_not"
mkdir mnt
gputracefs run mnt
diff -r tables/modules mnt/modules
diff -r tables/contents mnt/contents
prints_nothing cat mnt/errors
umount mnt 2>/dev/null || fusermount3 -u mnt
printf '\377\0\377' | dd of=run/blobs.chunks bs=1 seek=3000 conv=notrunc 2>/dev/null
gputracefs run mnt
fails cat mnt/modules/* mnt/contents/*
grep -q 'Input/output error' stderr || die "$(cat stderr)"
grep -qE '^(modules|contents)/.*blobs.chunks' mnt/errors || die "errors: $(cat mnt/errors)"
umount mnt 2>/dev/null || fusermount3 -u mnt
