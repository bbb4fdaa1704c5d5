#!/usr/bin/env bash
# Builds the Go programs of this folder: bash peers/go/build.sh FOLDER [PROGRAM...]
#
# Each program becomes FOLDER/PROGRAM and a line "built PROGRAM", or, where a module that it needs cannot be had, a line
# "skipped PROGRAM: the reason". Exit 0: nothing was wrong with what could be built; 3: there is no Go; else the compiler's own.
#
# ZAP_REFERENCE names a folder with checkouts of the reference, http/ (v0.3.9) and go/ (v1.1.0), for hosts whose module proxy does not
# have them. Nothing of it is written to the module's own files. With CHECK set, go vet and go test look at our packages of each
# program first.
set -euo pipefail
out=$(realpath -m "${1:?usage: build.sh FOLDER [PROGRAM...]}")
shift
cd "$(dirname "${BASH_SOURCE[0]}")"

if ! command -v go >/dev/null; then
    echo "skipped all: Go is not installed (apt-get install golang-go, 1.26 or newer)"
    exit 3
fi
programs=("$@")
[ ${#programs[@]} -gt 0 ] || mapfile -t programs < <(cd cmd && ls)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
flags=(-trimpath)
if [ -n "${ZAP_REFERENCE:-}" ]; then
    for part in http go; do
        [ -f "$ZAP_REFERENCE/$part/go.mod" ] || {
            echo "ZAP_REFERENCE: $ZAP_REFERENCE/$part is no checkout of github.com/zap-proto/$part" >&2
            exit 2
        }
    done
    cp go.mod go.sum "$scratch"
    reference=$(realpath "$ZAP_REFERENCE")
    go mod edit -replace "github.com/zap-proto/http=$reference/http" -replace "github.com/zap-proto/go=$reference/go" "$scratch/go.mod"
    flags+=("-modfile=$scratch/go.mod")
fi

mkdir -p "$out"
for program in "${programs[@]}"; do
    # Listed first: what cannot be fetched is no fault of the program.
    if go list "${flags[@]}" -deps "./cmd/$program" >/dev/null 2>"$scratch/why"; then
        if [ -n "${CHECK:-}" ]; then
            own='{{if and .Module .Module.Main}}{{.ImportPath}}{{end}}'
            mapfile -t packages < <(go list "${flags[@]}" -deps -f "$own" "./cmd/$program")
            go vet "${flags[@]}" "${packages[@]}"
            go test "${flags[@]}" "${packages[@]}" | grep -v 'no test files' || [ "${PIPESTATUS[0]}" -eq 0 ]
        fi
        go build "${flags[@]}" -o "$out/$program" "./cmd/$program"
        echo "built $program"
    else
        # Module and version only: where they were looked for is the host's own affair.
        missing=$(grep -oE '[a-z0-9.]+/[^ :@]+@v[0-9][^ :]*' "$scratch/why" | sort -u | paste -sd, | sed 's/,/, /g' || true)
        [ -n "$missing" ] || { cat "$scratch/why" >&2; exit 1; }
        echo "skipped $program: cannot have $missing"
    fi
done
