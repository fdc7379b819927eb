// Command bench compares ways to make the same point read, interleaved, and prints the medians and their ratios:
// the module (a), k6/http with JSON.parse (b), and a raw Go loop (c), all against one stub in a process of its own; and,
// where a real omnigraph is found, the CLI through the module against raw os/exec of the same arguments (d).
package main
