"""`hiermo doctor`."""

from typing import Annotated

import typer


def doctor(
    recipe: Annotated[
        str | None, typer.Argument(metavar="[RECIPE]", help="Also tell how this recipe would be computed.")
    ] = None,
) -> None:
    """Tell what hiermo finds here: versions, threads, devices, data."""
    import os
    import platform

    import torch

    from hiermo._version import __version__
    from hiermo.core.parameter import faults
    from hiermo.core.units import human
    from hiermo.data.directory import data_directory
    from hiermo.data.sources import SOURCES
    from hiermo.experiment.memory import available_bytes
    from hiermo.experiment.provenance import LIBRARIES, cpu_name, library_version
    from hiermo.problems.choice import RULE

    directory = data_directory()
    devices = ["cpu", *(f"cuda:{i} ({torch.cuda.get_device_name(i)})" for i in range(torch.cuda.device_count()))]
    if torch.backends.mps.is_available():
        devices.append("mps")
    named = "set by HIERMO_DATA" if os.environ.get("HIERMO_DATA") else "the default; HIERMO_DATA sets another"
    facts = {
        "hiermo": __version__,
        "python": f"{platform.python_version()} on {platform.platform()}",
        **{name: library_version(name) or "missing" for name in LIBRARIES},
        "cpu": f"{cpu_name()}, {os.cpu_count()} cores",
        "threads": f"{torch.get_num_threads()} (engine.threads); their number changes no result",
        "gradients": f"auto (engine.gradients): {RULE}",
        "memory": f"{human(available_bytes())} free",
        "devices": ", ".join(devices),
        "data directory": f"{directory} ({named})",
    }
    for name in SOURCES.names():
        kind = SOURCES.get(name)
        if faults(kind, {}):
            continue  # a way to bring one's own data
        found = kind().find(directory)
        facts[f"data {name}"] = "made on the spot" if found == directory else str(found or "not found")
    if recipe is not None:
        from hiermo.experiment import recipe_file
        from hiermo.experiment.assemble import problem_of

        problem = problem_of(recipe_file.load(recipe, (), None))
        facts[f"gradients of {recipe}"] = f"{problem.gradients}: {problem.gradients_why}"
    width = max(map(len, facts))
    for name, value in facts.items():
        typer.echo(f"{name:<{width}}  {value}")
