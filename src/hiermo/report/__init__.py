"""Tables and pictures out of run directories; never touches an engine."""
