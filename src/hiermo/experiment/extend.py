"""Give a run a longer horizon."""

from hiermo.core.errors import UserError
from hiermo.core.files import write_text
from hiermo.experiment import recipe_file
from hiermo.experiment.run_directory import RunDirectory


def extend(directory: RunDirectory, iterations: int) -> None:
    """The run goes on to `iterations` when it is next trained; a run that has them already stays as it is."""
    with directory.locked():
        recipe = directory.recipe()
        if iterations < recipe.train.iterations:
            raise UserError(
                f"--iterations {iterations}: {directory.path} is a run of {recipe.train.iterations} iterations; "
                "it can be made longer, not shorter"
            )
        if iterations == recipe.train.iterations:
            return
        try:
            longer = recipe_file.extended(recipe, iterations, directory.path)
        except UserError as error:
            raise UserError(f"--iterations: {error}") from None
        # the result goes first: a kill in between leaves an unfinished run of the old length
        directory.result_path.unlink(missing_ok=True)
        write_text(directory.recipe_path, recipe_file.write(longer))
