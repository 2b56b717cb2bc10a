#!/bin/sh
# Bring what a fresh machine is missing: uv and the locked environment in .venv, and a Java that runs Spark.
set -eu
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
    echo "tailrace needs Python 3.11 or newer, and '$python' is not; name one: make PYTHON=python3.11 …" >&2
    exit 1
}

java_fits() {
    [ -x "$1" ] && "$1" -version 2>&1 | grep -Eq 'version "(1[7-9]|2[0-9])'
}
if [ -n "${JAVA_HOME:-}" ] && ! java_fits "$JAVA_HOME/bin/java"; then
    echo "JAVA_HOME is $JAVA_HOME, where there is no Java 17 or newer: set it to one, or unset it" >&2
    exit 1
fi
java=${JAVA_HOME:+$JAVA_HOME/bin/java}
java=${java:-$(command -v java || true)}
if ! java_fits "$java"; then
    install='apt-get update && apt-get install --yes openjdk-17-jre-headless'
    if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
        echo "no Java 17 or 21 found: installing openjdk-17-jre-headless" >&2
        sh -c "$install" >&2
        java=$(command -v java)
    elif command -v apt-get >/dev/null; then
        echo "Spark needs Java 17 or 21. Type: sudo sh -c '$install'" >&2
        exit 1
    else
        echo "Spark needs Java 17 or 21. Install one, and set JAVA_HOME to it." >&2
        exit 1
    fi
fi

worked=
say() {
    worked=yes
    echo "setup: $*" >&2
}

# The lock decides what is installed; the stamp spares the look at it when nothing has changed.
stamp=.venv/.tailrace-setup
if [ ! -e "$stamp" ] || [ uv.lock -nt "$stamp" ] || [ pyproject.toml -nt "$stamp" ]; then
    uv=$(command -v uv || true)
    [ -x .venv/bin/uv ] && uv=.venv/bin/uv
    if [ -z "$uv" ]; then
        say "no uv found: making the environment .venv, and installing uv there"
        "$python" -m venv .venv || {
            echo "'$python' can't make an environment in .venv. Remove what is there; on Debian: sudo apt-get install python3-venv" >&2
            exit 1
        }
        .venv/bin/python -m pip install --quiet --disable-pip-version-check 'uv==0.13.9'
        uv=.venv/bin/uv
    fi
    say "installing the packages that uv.lock names into .venv; the first time they are fetched, 1.3 GB, for minutes"
    # uv makes the environment again, without uv itself, where the interpreter has another path, as a pyenv shim has.
    version='import sys; print(sys.version)'
    if [ "$(.venv/bin/python -c "$version" 2>/dev/null)" = "$("$python" -c "$version")" ]; then
        python=.venv/bin/python
    fi
    "$uv" sync --locked --quiet --inexact --all-extras --compile-bytecode --python "$(command -v "$python")"
    : >"$stamp"
fi

# A JVM uses only an archive of its own version, which the stamp holds.
version=$("$java" -version 2>&1)
if [ "$(cat "$stamp")" != "$version" ]; then
    say "archiving the classes of Spark, by which it starts faster; half a minute"
    .venv/bin/python -m tailrace.spark.make_class_archive 2>.venv/class-archive.log || {
        say "none was made, so Spark starts more slowly. Why: .venv/class-archive.log"
        say "to try it again: .venv/bin/python -m tailrace.spark.make_class_archive"
    }
    echo "$version" >"$stamp"
fi

# Machine code is of its source and of what compiles it.
kernels=.venv/.tailrace-kernels
changed() {
    find include/tailrace/kernels -name '*.py' -newer "$kernels" 2>/dev/null
}
if [ ! -e "$kernels" ] || [ "$stamp" -nt "$kernels" ] || [ -n "$(changed)" ]; then
    say "compiling the loops over columns; some seconds"
    .venv/bin/python -m tailrace.kernels.compile 2>.venv/kernels.log || {
        say "they were not, so numpy computes columns, more slowly. Why: .venv/kernels.log"
        say "to try it again: .venv/bin/python -m tailrace.kernels.compile"
    }
    : >"$kernels"
fi

[ -z "$worked" ] || say "done; '. .venv/bin/activate' puts tailrace and airflow on the path of this shell"
