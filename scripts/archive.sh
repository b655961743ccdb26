# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Sourced by what takes packages of another suite than the system's: apt in a root of its own, which downloads from the
# system's own mirror and verifies the signature, and installs nothing.
KEYRING=${KEYRING:-/usr/share/keyrings/debian-archive-keyring.gpg}
ARCHITECTURE=${ARCHITECTURE:-amd64}

# archive NAME: the first of the system's sources that is an archive of that name (debian, or
# debian-security), which may be a snapshot of it.
archive() {
	# shellcheck disable=SC2016 # apt expands these
	apt-get indextargets --format '$(REPO_URI) $(COMPONENT)' 'Identifier: Packages' 2>/dev/null |
		awk -v name="$1" '$2 == "main" && $1 ~ "/" name "(/[0-9TZ]+)?/?$" && !found { print $1; found = 1 }'
}

sources() { # SUITE
	local main security signed="arch=$ARCHITECTURE signed-by=$KEYRING"
	case $1 in
	jammy | noble) echo "deb [$signed] ${UBUNTU:-http://archive.ubuntu.com/ubuntu} $1 main" && return ;;
	esac
	main=$(archive debian)
	security=$(archive debian-security)
	if [[ -z $main ]]; then
		main=http://deb.debian.org/debian
		echo "apt here names no archive of Debian: taking $main" >&2
	fi
	echo "deb [$signed] $main $1 main"
	[[ $1 == sid || -z $security ]] || echo "deb [$signed] $security $1-security main"
}

# The system's ways to reach its mirror, and none of its sources, packages and hooks.
configuration() { # ROOT
	cat <<-END
	Dir "$1";
	Dir::State::status "$1/status";
	Dir::Etc::netrc "/etc/apt/auth.conf";
	Dir::Etc::netrcparts "/etc/apt/auth.conf.d";
	APT::Architecture "$ARCHITECTURE";
	END
	apt-config dump Acquire | grep -v '^Acquire::IndexTargets'
	echo 'Acquire::http::Timeout "20"; Acquire::https::Timeout "20";'
}

# apt_new ROOT SUITE: the apt of this process has this root, and that suite.
apt_new() {
	mkdir -p "$1"/etc/apt/{apt.conf.d,preferences.d,sources.list.d,trusted.gpg.d} \
		"$1"/var/lib/apt/lists/partial "$1"/var/cache/apt/archives/partial
	touch "$1/status"
	configuration "$1" >"$1/apt.conf"
	sources "$2" >"$1/etc/apt/sources.list"
	export APT_CONFIG=$1/apt.conf
}

# complain LOG: why apt failed, in its own words.
complain() { grep -E '^(E|W|Err)' "$1" | head -n 5 | sed "s/^/apt: /" >&2; }

# package_unpack ROOT SUITE PACKAGE FOLDER: the files of the suite's package.
package_unpack() (
	apt_new "$1" "$2" && cd "$1" || return
	{ apt-get update --error-on=any && apt-get download -q "$3"; } >log 2>&1 || { complain log && return 1; }
	dpkg-deb -x "$3"_*.deb "$4"
)
