#!/bin/sh
# Ask for the known vulnerabilities of every package in uv.lock, by pip-audit in an environment of its own.
set -eu
cd "$(dirname "$0")/.."
uv=$(command -v uv || true)
[ -x .venv/bin/uv ] && uv=.venv/bin/uv
packages=$(mktemp)
trap 'rm -f "$packages"' EXIT
"$uv" export --locked --quiet --all-extras --no-emit-project --output-file "$packages" >/dev/null
status=0
report=$("$uv" tool run --quiet pip-audit@2.10.1 --requirement "$packages" --disable-pip --require-hashes 2>&1) || status=$?
echo "$report"
if echo "$report" | grep -q 'could not be audited'; then
    echo "audit: the advisories of some packages can't be had here, so this says nothing about them" >&2
    exit 1
fi
exit "$status"
