"""`python -m hiermo`."""

from hiermo.cli.app import main

main()
