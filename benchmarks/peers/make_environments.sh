#!/bin/sh
# Makes a virtual environment .venvs/<peer> for each peer named, or for all of them, from the pinned versions in
# requirements/. Finished ones are left alone; those whose pins have changed are made anew.
#
#     benchmarks/peers/make_environments.sh [fluke] [flgo] [pfl] [flower] [fedml]
#
# PYTHON chooses the interpreter (Python 3.11 or 3.12). No peer needs a GPU: where pip would bring CUDA along with
# torch, point PIP_INDEX_URL or PIP_FIND_LINKS to a place with the CPU build.
set -eu
cd "$(dirname "$0")"

[ $# -gt 0 ] || set -- fluke flgo pfl flower fedml
for peer; do
    home=.venvs/$peer
    pins="requirements/constraints.txt requirements/$peer.txt"
    if [ ! -f "requirements/$peer.txt" ] || [ "$peer" = constraints ]; then
        echo "there is no peer '$peer': choose from fluke, flgo, pfl, flower, fedml" >&2
        exit 2
    fi
    # shellcheck disable=SC2086
    stamp=$(cat $pins | cksum)
    if [ "$(cat "$home/finished" 2>/dev/null || true)" = "$stamp" ]; then
        echo "$peer: finished"
        continue
    fi
    echo "$peer: making $home"
    rm -rf "$home"
    "${PYTHON:-python3}" -m venv "$home"
    echo "$peer: installing torch"
    # torch comes first and alone, so that nothing else's wishes decide which one it is
    "$home/bin/pip" install --quiet --disable-pip-version-check -r requirements/constraints.txt
    echo "$peer: installing the rest"
    # the list is complete, and some peers ask for other versions of torch or for what they never import
    "$home/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "requirements/$peer.txt" \
        -c requirements/constraints.txt
    echo "$stamp" >"$home/finished"
    echo "$peer: finished"
done
