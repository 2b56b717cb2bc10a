#!/bin/sh
# Build the wheel, check it as a registry does, install it without extras into an environment of its own, and run the
# example of a CSV file there. Needs the network.
set -eu
cd "$(dirname "$0")/.."

uv=$(command -v uv || true)
[ -x .venv/bin/uv ] && uv=.venv/bin/uv
output=build/wheel
rm -rf "$output"
mkdir -p "$output"
"$uv" build --quiet --out-dir "$output" --python .venv/bin/python .
.venv/bin/python -m twine check --strict "$output"/*.whl "$output"/*.tar.gz

"$uv" venv --quiet --python .venv/bin/python "$output/environment"
"$uv" pip install --quiet --python "$output/environment/bin/python" "$output"/*.whl
echo "installed, MB, without compiled Python: $(du -sm "$output/environment/lib" | cut -f1)"

cp -R include/examples/csv "$output/csv"
cd "$output/csv"
time ../environment/bin/tailrace run query.yaml --engine local --warehouse warehouse --bounded --correct
../environment/bin/tailrace results query.yaml --warehouse warehouse
