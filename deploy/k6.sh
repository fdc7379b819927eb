#!/bin/sh
# k6 behind an init: it starts a CLI process for each call, and what such a process leaves behind has to be reaped.
# The operator names the command itself and passes over an image's entry point, so the init stands in the program's place.
exec /usr/bin/tini -s -- /usr/local/libexec/k6 "$@"
