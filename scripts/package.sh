#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Builds a package from a copy of the tree, all below build/, where the package ends up too. Needs no
# root and no network. A second run builds only what changed.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."

usage() {
	cat <<-'END'
	Usage: package.sh deb|rpm VERSION    (make deb, make rpm)
	END
}

# quiet LOG CMD…: the output is shown only if it fails.
quiet() {
	local log=$1
	shift
	"$@" >"$log" 2>&1 </dev/null || { cat "$log" >&2 && return 1; }
}

# export_tree DIR: copies the tree without .git and build; keeps file times and an earlier DIR/build. The objects that
# have been built here come along: make builds those again whose flags are others in the package.
export_tree() {
	mkdir -p "$1/build"
	find "$1" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
	tar -cf - --exclude=./.git --exclude=./build --exclude=./debian/rlctl . | tar -xf - -C "$1"
	[[ ! -e build/rlctl || -e $1/build/.flags ]] ||
		cp -rp build/*.bpf.[do] build/.flags* build/.deps build/user build/*.h build/lazy build/lazy.needs "$1/build/"
}

# dpkg-buildpackage writes its results beside the tree. check.sh runs the tests, and make reports missing
# dependencies.
build_deb() { # VERSION
	local dir=build/deb tree=build/deb/rlctl-$1
	export_tree "$tree"
	rm -f "$dir"/*.deb "$dir"/*.changes "$dir"/*.buildinfo build/rlctl_*.deb
	(cd "$tree" && DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS:-nocheck}" \
		quiet ../build.log dpkg-buildpackage --unsigned-source --unsigned-changes --build=binary \
		--no-pre-clean --no-check-builddeps)
	cp "$dir"/rlctl_*.deb build/
	ls build/rlctl_*.deb
}

# --nodeps: outside Fedora, rpm's database lists no installed packages.
build_rpm() { # VERSION
	local dir=$PWD/build/rpm tree=rlctl-$1
	export_tree "$dir/$tree"
	mkdir -p "$dir/SOURCES"
	tar -cf "$dir/SOURCES/$tree.tar.gz" -I "gzip -1" -C "$dir" "$tree"
	sed "s/@VERSION@/$1/" packaging/rlctl.spec >"$dir/rlctl.spec"
	rm -rf "$dir/RPMS" build/rlctl-*.rpm
	quiet "$dir/build.log" rpmbuild -bb --nodeps --define "_topdir $dir" "$dir/rlctl.spec"
	cp "$dir"/RPMS/*/rlctl-"$1"-*.rpm build/
	ls build/rlctl-*.rpm
}

[[ $# -eq 2 ]] || { usage >&2 && exit 2; }
case "$1" in
deb) build_deb "$2" ;;
rpm) build_rpm "$2" ;;
*) usage >&2 && exit 2 ;;
esac
