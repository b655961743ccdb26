#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The only list of what rlctl needs from a distribution: probes for each thing and installs what
# is missing. When nothing is missing it needs neither root nor network and changes nothing.
set -euo pipefail
export LC_ALL=C PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
ARGUMENTS=("$@")
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/root.sh"

# THING is probed by its form: *.h a header, *.so.* a shared library, *.gpg a keyring, *.a what clang
# links to, *.py a module of the distribution's Python, anything else a command. Where the package is "-" that distribution does without. A library
# whose package has another name in every release comes with the package for building.
# thing            group  Debian            Fedora
TABLE='
gcc                build  gcc               gcc
make               build  make              make
pkg-config         build  pkg-config        pkgconf-pkg-config
clang              build  clang             clang
llvm-strip         build  llvm              llvm
bpftool            build  bpftool           bpftool
gzip               build  gzip              gzip
git                build  git               git
stdlib.h           build  libc6-dev         glibc-devel
linux/bpf.h        build  linux-libc-dev    kernel-headers
bpf/libbpf.h       build  libbpf-dev        libbpf-devel
xdp/libxdp.h       build  libxdp-dev        libxdp-devel
json-c/json.h      build  libjson-c-dev     json-c-devel
pcap/pcap.h        build  libpcap-dev       libpcap-devel
microhttpd.h       build  libmicrohttpd-dev libmicrohttpd-devel
curses.h           build  libncurses-dev    ncurses-devel
hiredis/hiredis.h  build  libhiredis-dev    hiredis-devel
openssl/ssl.h      build  libssl-dev        openssl-devel
sys/capability.h   build  libcap-dev        libcap-devel
libmnl/libmnl.h    build  libmnl-dev        libmnl-devel
maxminddb.h        build  libmaxminddb-dev  libmaxminddb-devel
uthash.h           build  uthash-dev        uthash-devel
libelf.h           build  libelf-dev        elfutils-libelf-devel
zlib.h             build  zlib1g-dev        zlib-devel
libbpf.so.1        run    libbpf1           libbpf
libxdp.so.1        run    libxdp1           libxdp
libjson-c.so.5     run    libjson-c5        json-c
libpcap.so         run    libpcap0.8        libpcap
libmicrohttpd.so.12 run   libmicrohttpd12   libmicrohttpd
libncursesw.so.6   run    libncursesw6      ncurses-libs
libhiredis.so      run    libhiredis-dev    hiredis
libcap.so.2        run    libcap2           libcap
libmnl.so.0        run    libmnl0           libmnl
libmaxminddb.so.0  run    libmaxminddb0     libmaxminddb
libelf.so.1        run    libelf1           elfutils-libelf
libz.so.1          run    zlib1g            zlib
cmocka.h           test   libcmocka-dev     libcmocka-devel
libclang_rt.fuzzer.a test libclang-rt-dev   compiler-rt
mmdblookup         test   mmdb-bin          libmaxminddb
valgrind           test   valgrind          valgrind
clang-format       test   clang-format      clang-tools-extra
clang-tidy         test   clang-tidy        clang-tools-extra
cppcheck           test   cppcheck          cppcheck
shellcheck         test   shellcheck        ShellCheck
mandoc             test   mandoc            mandoc
groff              test   groff-base        groff-base
zsh                test   zsh               zsh
ip                 test   iproute2          iproute
tc                 test   iproute2          iproute-tc
ping               test   iputils-ping      iputils
hping3             test   hping3            hping3
nmap               test   nmap              nmap
iperf3             test   iperf3            iperf3
wrk                test   wrk               wrk
ethtool            test   ethtool           ethtool
curl               test   curl              curl
unbound            test   unbound           unbound
dnsperf            test   dnsperf           dnsperf
dig                test   bind9-dnsutils    bind-utils
ansible-playbook   test   ansible-core      ansible-core
yaml/__init__.py   test   python3-yaml      python3-pyyaml
dns/message.py     test   python3-dnspython python3-dns
chronyd            test   chrony            chrony
wireguard-go       test   wireguard-go      wireguard-go
wg                 test   wireguard-tools   wireguard-tools
gtlsserver         test   ngtcp2-server     -
gtlsclient         test   ngtcp2-client     -
prometheus         test   prometheus        golang-github-prometheus
promtool           test   prometheus        golang-github-prometheus
tcpdump            test   tcpdump           tcpdump
jq                 test   jq                jq
objdump            test   binutils          binutils
ps                 test   procps            procps-ng
services           test   netbase           setup
nsenter            test   util-linux        util-linux
chrt               test   util-linux        util-linux
capsh              test   libcap2-bin       libcap
setpriv            test   util-linux        util-linux
python3            test   python3           python3
strace             test   strace            strace
tmux               test   tmux              tmux
xdp-loader         test   xdp-tools         xdp-tools
xdp-filter         test   xdp-tools         xdp-tools
nft                test   nftables          nftables
iptables           test   iptables          iptables-nft
ipset              test   ipset             ipset
podman             test   podman            podman
debootstrap        test   debootstrap       debootstrap
redis-server       test   redis-server      redis
redis-cli          test   redis-tools       redis
openssl            test   openssl           openssl
sshd               test   openssh-server    openssh-server
ssh                test   openssh-client    openssh-clients
ssh-keygen         test   openssh-client    openssh
fail2ban-server    test   fail2ban          fail2ban-server
crowdsec           test   crowdsec          -
exabgp             test   exabgp            -
fastnetmon         test   fastnetmon        -
gobgpd             test   gobgpd            -
vtysh              test   frr               -
bird               test   bird2             bird
msmtp              test   msmtp             msmtp
aiosmtpd/__init__.py test python3-aiosmtpd  python3-aiosmtpd
chromium-headless-shell test chromium-headless-shell -
gnuplot            test   gnuplot-nox       gnuplot-minimal
systemd-analyze    test   systemd           systemd
udevadm            test   udev              systemd-udev
/usr/lib/systemd/systemd-networkd test systemd systemd-networkd
dpkg-buildpackage  test   dpkg-dev          -
dh                 test   debhelper         -
lintian            test   lintian           -
rpmbuild           test   rpm               rpm-build
rpmlint            test   rpmlint           rpmlint
cpio               test   cpio              cpio
qemu-system-x86_64 test   qemu-system-x86   qemu-system-x86-core
busybox            test   busybox-static    busybox
depmod             test   kmod              kmod
xz                 test   xz-utils          xz
apt-get            test   apt               apt
dpkg-deb           test   dpkg              dpkg
debian-archive-keyring.gpg test debian-archive-keyring debian-keyring
knotd              play   knot              knot
nginx              play   nginx-light       nginx
kamailio           play   kamailio          kamailio
sipp               play   sip-tester        sipp
tor                play   tor               tor
tor-gencert        play   tor               tor
murmurd            play   mumble-server     murmur
cryptography/__init__.py play python3-cryptography python3-cryptography
quakestat          play   qstat             qstat
/usr/games/openarena-server play openarena-server -
/usr/games/openarena play openarena         -
/usr/games/teeworlds-server play teeworlds-server -
/usr/games/teeworlds play teeworlds         -
/usr/games/minetestserver play minetest-server -
/usr/games/minetest play  minetest          -
Xvfb               play   xvfb              xorg-x11-server-Xvfb
xdotool            play   xdotool           xdotool
libGLX_mesa.so.0   play   libglx-mesa0      mesa-libGL
'

usage() {
	cat <<-'END'
	Usage: deps.sh [--build|--run|--test]    install what is missing (of one group, else of these), by
	                                          sudo where this is not root
	       deps.sh --play                     the servers and games of tests/play, half a gigabyte
	       deps.sh --missing [GROUP|THING…]  say what is missing; exit 1 if anything is
	       deps.sh --which THING              the package that has THING
	       deps.sh --list                     the whole table
	END
}

die() {
	echo "deps.sh: $*" >&2
	exit 1
}

# debian, ubuntu, fedora, or what the system calls itself when it is none of these.
distribution() {
	local ID='' ID_LIKE=''
	# shellcheck disable=SC1091 # the system's own file
	[[ -r /etc/os-release ]] && . /etc/os-release
	case " $ID $ID_LIKE " in
	*" ubuntu "*) echo ubuntu ;;
	*" debian "*) echo debian ;;
	*" fedora "*) echo fedora ;;
	*) echo "${ID:-unknown}" ;;
	esac
}

# rows [GROUP|THING…]: the table's rows, the named ones or all but those of play, which only tests/play needs.
rows() {
	local thing group debian fedora wanted=" $* "
	while read -r thing group debian fedora; do
		[[ -z $thing ]] && continue
		[[ ($# -eq 0 && $group != play) || $wanted == *" $group "* || $wanted == *" $thing "* ]] || continue
		echo "$thing $group $debian $fedora"
	done <<<"$TABLE"
}

package_of() { # DEBIAN FEDORA
	case "$DISTRIBUTION" in
	fedora) echo "$2" ;;
	ubuntu) [[ $1 == bpftool ]] && echo linux-tools-common linux-tools-generic || echo "$1" ;;
	*) echo "$1" ;;
	esac
}

has_header() {
	compgen -G "/usr/include/$1" >/dev/null || compgen -G "/usr/include/*-linux-gnu*/$1" >/dev/null ||
		compgen -G "/usr/local/include/$1" >/dev/null
}

# Ubuntu's bpftool may be a wrapper that finds nothing for the running kernel.
has_bpftool() {
	bpftool version >/dev/null 2>&1 || compgen -G '/usr/lib/linux-tools/*/bpftool' >/dev/null
}

# libclang_rt.NAME.a, or with the processor's name in it, below clang's own directory.
has_runtime() {
	compgen -G "$(clang -print-resource-dir 2>/dev/null)/lib/*/${1%.a}*.a" >/dev/null
}

has_module() {
	compgen -G "/usr/lib/python3/dist-packages/$1" >/dev/null || compgen -G "/usr/lib/python3.*/site-packages/$1" >/dev/null
}

has() {
	case "$1" in
	*.a) has_runtime "$1" ;;
	*.h) has_header "$1" ;;
	*.so*) [[ $LIBRARIES == *"$1"* ]] ;;
	*.gpg) [[ -r /usr/share/keyrings/$1 ]] ;;
	*.py) has_module "$1" ;;
	services) [[ -r /etc/services ]] ;;
	bpftool) has_bpftool ;;
	*) command -v "$1" >/dev/null ;;
	esac
}

# missing [GROUP|THING…]: "THING PACKAGE…" for each thing that is not there.
missing() {
	local thing debian fedora package
	rows "$@" | while read -r thing _ debian fedora; do
		package=$(package_of "$debian" "$fedora")
		[[ $package == - ]] || has "$thing" || echo "$thing $package"
	done
}

report_missing() {
	local thing package found=0
	while read -r thing package; do
		echo "$thing is missing: ./scripts/deps.sh installs it (${DISTRIBUTION^} package $package)"
		found=1
	done < <(missing "$@")
	return "$found"
}

which_package() {
	local row
	row=$(rows "$1")
	[[ -n $row ]] || die "no row for $1; --list shows all"
	read -r _ _ debian fedora <<<"$row"
	package_of "$debian" "$fedora"
}

# Debian starts a package's service when it installs it, and at every boot. Only the commands are needed: a
# policy-rc.d refuses starts meanwhile (an existing one is the administrator's and stays), and newly installed
# services are disabled. Neither needs an init system, so it works in a chroot as well. crowdsec registers with
# an online service as it is installed, unless it has credentials already.
install_debian() {
	local policy=/usr/sbin/policy-rc.d online=/etc/crowdsec/online_api_credentials.yaml service
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq || return
	if [[ ! -e $policy && ! -L $policy ]]; then
		trap 'rm -f /usr/sbin/policy-rc.d' EXIT # of the subshell that this runs in
		printf '#!/bin/sh\nexit 101\n' >$policy && chmod 755 $policy || return
	fi
	if [[ " $* " == *" crowdsec "* && ! -e $online ]]; then
		mkdir -p "${online%/*}" && echo '# none: not registered' >"$online" || return
	fi
	apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 "$@" || return
	for service in chrony fail2ban prometheus redis-server unbound ssh knot nginx kamailio tor mumble-server minetest-server openarena-server bird exabgp frr; do
		[[ " $* " != *" $(sed 's/^ssh$/openssh-server/; s/^nginx$/nginx-light/; s/^bird$/bird2/' <<<"$service") "* ]] || update-rc.d "$service" disable || return
	done
	# They have a unit alone.
	for service in crowdsec fastnetmon gobgpd; do
		[[ " $* " != *" $service "* ]] || systemctl disable --quiet "$service.service" || return
	done
}

install_packages() {
	case "$DISTRIBUTION" in
	debian | ubuntu) install_debian "$@" ;;
	fedora) dnf install -y -q --setopt=install_weak_deps=False "$@" ;;
	esac
}

install_missing() {
	local packages log
	mapfile -t packages < <(missing "$@" | cut -d' ' -f2- | tr ' ' '\n' | sort -u)
	[[ ${#packages[@]} -gt 0 ]] || return 0
	case "$DISTRIBUTION" in
	debian | ubuntu | fedora) ;;
	*) die "no package names for '$DISTRIBUTION'; on Debian they are: ${packages[*]}" ;;
	esac
	as_root "$0" ${ARGUMENTS[@]+"${ARGUMENTS[@]}"} || die "not installed: ${packages[*]}"
	echo "deps.sh: installing ${packages[*]}"
	log=$(install_packages "${packages[@]}" 2>&1 </dev/null) ||
		die "installing failed: ${packages[*]}"$'\n'"$log"
	hash -r
	LIBRARIES=$(ldconfig -p)
	report_missing "$@" >&2 || die "still missing after installing"
}

DISTRIBUTION=$(distribution)
LIBRARIES=$(ldconfig -p 2>/dev/null || true)

case "${1:-}" in
'') install_missing ;;
--build | --run | --test | --play) install_missing "${1#--}" ;;
--missing) shift && report_missing "${@#--}" ;;
--which) which_package "${2:?--which needs a name}" ;;
--list) rows | column -t 2>/dev/null || rows ;;
-h | --help) usage ;;
*) usage >&2 && exit 2 ;;
esac
