#!/usr/bin/env bash
# Installs a Debian package of heed in a fresh minimal root, and there does what a user would: trains with heed and lets
# it write; then, with a compiler, builds and runs examples/consumer. As root. The root is removed at the end.
#   usage: fresh_root.sh HEED_SOURCE PACKAGE.deb FOLDER       [report-50]
set -euo pipefail

# Mounts are made where nobody else sees them, and go with the last process, however it ends.
if [[ "${HEED_OWN_MOUNTS:-}" != yes ]]; then
  HEED_OWN_MOUNTS=yes exec unshare --mount "$0" "$@"
fi
source=$1 package=$2 work=$3
root=$work/root

say() { printf '== %s\n' "$*"; }
die() { printf 'fresh_root: %s\n' "$*" >&2; exit 1; }
inside() {
  chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive "$@"
}
megabytes() { du --summarize --one-file-system --block-size=1M "$root" | cut -f 1; }
# shellcheck disable=SC2016
installed() { inside dpkg-query -W -f '${Package}\n' | wc -l; }
get() { inside apt-get install -y -qq -o Dpkg::Use-Pty=0 --no-install-recommends "$@" </dev/null >>"$work/apt.log"; }

remove_root() {
  if mountpoint -q "$root/proc"; then umount "$root/proc"; fi
  rm -rf --one-file-system "$root"
}
mkdir -p "$work"
exec 8>"$work/.lock"
flock 8  # another run may be removing its root still
remove_root
trap remove_root EXIT
rm -f "$work"/*.log

# The release and the servers that apt has here.
# shellcheck source=/dev/null
suite=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
# shellcheck disable=SC2016
mirrors=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' "Codename: $suite" 'Component: main')
mirror=${mirrors%%$'\n'*}
[[ -n "$mirror" ]] || die "apt knows no server of $suite"
eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
export http_proxy=${http_proxy:-}

say "a minimal root of $suite"
mkdir -p "$root"
debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$work/debootstrap.log" ||
  { tail -n 20 "$work/debootstrap.log" >&2; die "debootstrap failed"; }
rm -f "$root/etc/apt/sources.list"
cp -r /etc/apt/sources.list* "$root/etc/apt/"
apt-config dump | grep -E '^Acquire::(http|https)::' >"$root/etc/apt/apt.conf.d/90outside" || true
cp /etc/resolv.conf /etc/hosts "$root/etc/"
mount -t proc proc "$root/proc"
say "$(megabytes) MB, $(installed) packages"

say "${package##*/}: $(stat -c %s "$package") bytes"
dpkg-deb --field "$package" Depends Installed-Size
cp "$package" "$root/root/heed.deb"
inside apt-get update -qq
get /root/heed.deb
say "with it: $(megabytes) MB, $(installed) packages"

say "what heed loads is there, and MPI is among what the package depends on"
libraries=$(inside ldd /usr/bin/heed)
if grep 'not found' <<<"$libraries"; then die "heed lacks the libraries above"; fi
if grep -q libmpi <<<"$libraries"; then
  dpkg-deb --field "$package" Depends | grep -w libopenmpi3 >/dev/null || die "heed loads MPI, which Depends lacks"
fi

say "heed, as root and with no mpirun"
rm -f "$root"/usr/bin/{mpirun,mpiexec,orted,orterun,prun}*
inside heed train --steps 20 --eval-every 10 --layers 1 --heads 2 --embd 32 --out /root/run 2>"$work/train.log" | tail -n 1
inside heed generate /root/run --prompt 'the ' --tokens 40
inside useradd --create-home user
inside setpriv --reuid user --regid user --clear-groups \
  heed train --steps 2 --layers 1 --heads 2 --embd 32 --out /home/user/run 2>>"$work/train.log" | tail -n 1

say "examples/consumer, by find_package and by pkg-config"
get g++ cmake make pkgconf
cp -r "$source/examples/consumer" "$root/root/consumer"
inside cmake -S /root/consumer -B /root/build >"$work/consumer.log"
inside cmake --build /root/build >>"$work/consumer.log"
inside /root/build/consumer
# shellcheck disable=SC2016
inside sh -c 'g++ -std=c++20 /root/consumer/main.cpp $(pkg-config --cflags --libs heed) -o /root/by_pkg_config'
inside /root/by_pkg_config
say "with a compiler: $(megabytes) MB, $(installed) packages"

say "removed, it leaves nothing of itself"
inside apt-get purge -y -qq heed-dev </dev/null >>"$work/apt.log"
left=$(find "$root/usr" -iname '*heed*' -o -name heed)
[[ -z "$left" ]] || die "left over: $left"
say "$(inside cat /etc/debian_version): passed"
