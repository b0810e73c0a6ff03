"""A Job's tree as `forerun show` tells it, so that no YAML is read here."""
# SPDX-License-Identifier: Apache-2.0
import json
import subprocess


def shown(forerun, name):
    done = subprocess.run([forerun, "show", name, "--json", "-"], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)["values"]


def value_of(text):
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def read(forerun, name, settings):
    """Its model, a map, and what it says of training, with PATH=VALUE laid over them as --set does."""
    tree = shown(forerun, name)
    ordered = sorted((s.split("=", 1) for s in settings), key=lambda s: s[0].count("."))
    for path, value in ordered:
        if path == "model":
            tree["model"] = value
    if isinstance(tree["model"], str):
        tree["model"] = shown(forerun, "models/" + tree["model"])
    for path, value in ordered:
        first, *rest = path.split(".")
        if first not in ("model", "training") or not rest:
            continue
        at = tree[first]
        for key in rest[:-1]:
            at = at.setdefault(key, {})
        at[rest[-1]] = value_of(value)
    return tree
