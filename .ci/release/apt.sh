# For the scripts beside this one: `apt_of RELEASE ARCH WORK COMMAND…` runs apt-get for another release and architecture of
# Debian, with this machine's mirror and keys, and with its state in the folder WORK. It needs no root.
apt_of() (
  release=$1 arch=$2 work=$3
  shift 3
  mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
    grep -Eo '^(URIs: |deb (\[[^]]*\] )?)[a-z+]+://[^ ]+/debian/?( |$)' | grep -Eo '[a-z+]+://[^ ]+' | head -1)
  if [ -z "$mirror" ]; then echo "release: the sources of apt name no mirror of Debian" >&2; exit 1; fi
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
  work=$(cd "$work" && pwd)  # apt resolves a relative path against its own folder
  printf 'deb %s %s main\ndeb-src %s %s main\n' "$mirror" "$release" "$mirror" "$release" >"$work/sources.list"
  set -- -qq -o APT::Architectures= -o APT::Architectures::="$arch" -o APT::Architecture="$arch" \
    -o APT::Sandbox::User=root -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::State::Lists="$work/lists" -o Dir::State::Status=/dev/null -o Dir::Cache="$work/cache" "$@"
  apt-get "$@"
)
