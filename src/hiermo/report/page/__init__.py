"""The report page and the live page: one self-contained file, or the same served on this machine while runs go on."""
