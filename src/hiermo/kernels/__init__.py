"""Loops that are compiled when first needed: what torch would do in many calls and passes, in one."""
