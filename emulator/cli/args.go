package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// option is one flag of a command.
type option struct {
	name   string // with its dashes
	short  string
	value  string // the name of its value in messages; empty for a switch
	values []string
}

func (o option) String() string {
	if o.value == "" {
		return o.name
	}
	return o.name + " <" + o.value + ">"
}

// command is one command with what it takes.
type command struct {
	path       string // as typed, "branch create"
	options    []option
	required   []string
	conflicts  [][2]string
	positional []string // names in messages; one in brackets is optional
}

var globals = []option{
	{name: "--as", value: "ACTOR"}, {name: "--server", value: "NAME|URL"}, {name: "--graph", value: "GRAPH_ID"},
	{name: "--profile", value: "NAME"}, {name: "--store", value: "URI"}, {name: "--cluster", value: "DIR|URI"},
	{name: "--yes"}, {name: "--quiet"},
}

var queryOptions = []option{
	{name: "--query", value: "QUERY"}, {name: "--query-string", short: "-e", value: "GQ"}, {name: "--params", value: "PARAMS"},
	{name: "--params-file", value: "PARAMS_FILE"}, {name: "--branch", value: "BRANCH"}, {name: "--json"},
}

var queryConflicts = [][2]string{{"--params-file", "--params"}, {"--query-string", "--query"}}

var (
	jsonOption   = option{name: "--json"}
	branchOption = option{name: "--branch", value: "BRANCH"}
	uriOption    = option{name: "--uri", value: "URI"}
	configOption = option{name: "--config", value: "CONFIG"}
)

// commands is the surface that the stand-in has.
var commands = []command{
	{path: "version"},
	{path: "query", positional: []string{"[NAME]"}, conflicts: append(slices.Clip(queryConflicts), [2]string{"--snapshot", "--branch"}, [2]string{"--json", "--format"}),
		options: append(slices.Clip(queryOptions), option{name: "--snapshot", value: "SNAPSHOT"}, option{name: "--format", value: "FORMAT", values: []string{"table", "kv", "csv", "jsonl", "json"}})},
	{path: "mutate", positional: []string{"[NAME]"}, conflicts: queryConflicts, options: append(slices.Clip(queryOptions), option{name: "--if-commit", value: "COMMIT"})},
	{path: "load", positional: []string{"[URI]"}, required: []string{"--data", "--mode"}, options: []option{
		{name: "--data", value: "DATA"}, branchOption, {name: "--from", value: "FROM"},
		{name: "--mode", value: "MODE", values: []string{"overwrite", "append", "merge"}}, jsonOption}},
	{path: "snapshot", positional: []string{"[URI]"}, options: []option{branchOption, jsonOption}},
	{path: "export", positional: []string{"[URI]"}, options: []option{branchOption, {name: "--type", value: "TYPE_NAMES"}, {name: "--table", value: "TABLE_KEYS"}}},
	{path: "branch list", options: []option{uriOption, jsonOption}},
	{path: "branch create", positional: []string{"NAME"}, options: []option{uriOption, {name: "--from", value: "FROM"}, jsonOption}},
	{path: "branch delete", positional: []string{"NAME"}, options: []option{uriOption, jsonOption}},
	{path: "branch merge", positional: []string{"SOURCE"}, options: []option{uriOption, {name: "--into", value: "INTO"}, jsonOption}},
	{path: "commit list", positional: []string{"[URI]"}, options: []option{branchOption, jsonOption}},
	{path: "commit show", positional: []string{"COMMIT_ID"}, options: []option{uriOption, jsonOption}},
	{path: "schema show", positional: []string{"[URI]"}, options: []option{jsonOption}},
	{path: "graphs list", options: []option{uriOption, jsonOption}},
	{path: "queries list", options: []option{jsonOption}},
	{path: "init", positional: []string{"URI"}, required: []string{"--schema"}, options: []option{{name: "--schema", value: "SCHEMA"}, {name: "--force"}}},
	{path: "optimize", positional: []string{"[URI]"}, options: []option{jsonOption}},
	{path: "cleanup", positional: []string{"[URI]"}, options: []option{{name: "--keep", value: "KEEP"}, {name: "--older-than", value: "OLDER_THAN"}, {name: "--confirm"}, jsonOption}},
	{path: "repair", positional: []string{"[URI]"}, options: []option{{name: "--confirm"}, {name: "--force"}, jsonOption}},
	{path: "cluster validate", options: []option{configOption, jsonOption}},
	{path: "cluster import", options: []option{configOption, jsonOption}},
	{path: "cluster apply", options: []option{configOption, jsonOption}},
}

// groups are the words that need a second one.
var groups = []string{"branch", "commit", "schema", "graphs", "queries", "cluster"}

// aliases are the deprecated names.
var aliases = map[string]string{"read": "query", "change": "mutate"}

// usageError ends a call with exit code 2.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usage(cmd *command, format string, args ...any) error {
	line := "omnigraph [OPTIONS] <COMMAND>"
	if cmd != nil {
		line = "omnigraph " + cmd.path
		if len(cmd.options) > 0 {
			line += " [OPTIONS]"
		}
		for _, r := range cmd.required {
			line += " " + cmd.option(r).String()
		}
		for _, p := range cmd.positional {
			if p[0] != '[' {
				p = "<" + p + ">"
			}
			line += " " + p
		}
	}
	return &usageError{"error: " + fmt.Sprintf(format, args...) + "\n\nUsage: " + line + "\n\nFor more information, try '--help'.\n"}
}

func (c *command) option(name string) *option {
	for _, list := range [][]option{c.options, globals} {
		for i := range list {
			if list[i].name == name || (list[i].short != "" && list[i].short == name) {
				return &list[i]
			}
		}
	}
	return nil
}

// call is a parsed command line.
type call struct {
	command *command
	alias   string
	flags   map[string][]string
	// order is the flags as they came.
	order []string
	args  []string
	help  bool
	// short says that the version was asked for by its flag, which prints less than the command.
	short bool
}

func (c *call) has(name string) bool { _, ok := c.flags[name]; return ok }

func (c *call) get(name string) string {
	if v := c.flags[name]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// optional is a flag's value, nil where it is not given.
func (c *call) optional(name string) *string {
	if !c.has(name) {
		return nil
	}
	v := c.get(name)
	return &v
}

// parse reads a command line.
func parse(args []string) (*call, error) {
	c := &call{flags: map[string][]string{}}
	// Global flags may stand before the command.
	rest, err := c.globals(args)
	if err != nil {
		return nil, err
	}
	if len(rest) == 0 {
		return nil, &usageError{helpText}
	}
	word := rest[0]
	rest = rest[1:]
	if to, ok := aliases[word]; ok {
		c.alias, word = word, to
	}
	if slices.Contains(groups, word) {
		switch {
		case len(rest) == 0:
			return nil, &usageError{helpText}
		case strings.HasPrefix(rest[0], "-"):
			return nil, usage(nil, "'omnigraph %s' requires a subcommand but one was not provided", word)
		}
		word += " " + rest[0]
		rest = rest[1:]
	}
	for i := range commands {
		if commands[i].path == word {
			c.command = &commands[i]
		}
	}
	if c.command == nil {
		last := word[strings.LastIndexByte(word, ' ')+1:]
		return nil, usage(nil, "unrecognized subcommand '%s'", last)
	}
	if err := c.parse(rest); err != nil {
		return nil, err
	}
	if c.help {
		return c, nil
	}
	return c, c.validate()
}

func (c *call) globals(args []string) ([]string, error) {
	none := &command{path: ""}
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		name, value, inline := strings.Cut(args[0], "=")
		switch name {
		case "-v", "--version":
			c.short = true
			return []string{"version"}, nil
		case "-h", "--help":
			c.help = true
			return nil, &usageError{helpText}
		}
		o := none.option(name)
		if o == nil {
			return nil, usage(nil, "unexpected argument '%s' found", args[0])
		}
		args = args[1:]
		if o.value == "" {
			c.flags[o.name] = nil
			continue
		}
		if !inline {
			if len(args) == 0 {
				return nil, usage(nil, "a value is required for '%s' but none was supplied", o)
			}
			value, args = args[0], args[1:]
		}
		c.flags[o.name] = append(c.flags[o.name], value)
	}
	return args, nil
}

func (c *call) parse(args []string) error {
	for len(args) > 0 {
		a := args[0]
		args = args[1:]
		if a == "--" {
			c.args = append(c.args, args...)
			break
		}
		if len(a) < 2 || a[0] != '-' {
			if len(c.args) >= len(c.command.positional) {
				return usage(c.command, "unexpected argument '%s' found", a)
			}
			c.args = append(c.args, a)
			continue
		}
		if a == "-h" || a == "--help" {
			c.help = true
			return nil
		}
		name, value, inline := strings.Cut(a, "=")
		o := c.command.option(name)
		if o == nil {
			return usage(c.command, "unexpected argument '%s' found\n\n  tip: to pass '%s' as a value, use '-- %s'", name, name, name)
		}
		if err := c.once(o); err != nil {
			return err
		}
		c.order = append(c.order, o.name)
		if o.value == "" {
			if inline {
				return usage(c.command, "unexpected value '%s' for '%s' found; no more were expected", value, o)
			}
			c.flags[o.name] = nil
			continue
		}
		if !inline {
			if len(args) > 0 && isFlag(args[0]) && c.command.option(args[0]) == nil {
				name := args[0][:2]
				return usage(c.command, "unexpected argument '%s' found\n\n  tip: to pass '%s' as a value, use '-- %s'", name, name, name)
			}
			if len(args) == 0 {
				return usage(c.command, "a value is required for '%s' but none was supplied", o)
			}
			value, args = args[0], args[1:]
		}
		if len(o.values) > 0 && !slices.Contains(o.values, value) {
			return &usageError{fmt.Sprintf("error: invalid value '%s' for '%s'\n  [possible values: %s]\n\nFor more information, try '--help'.\n", value, o, strings.Join(o.values, ", "))}
		}
		c.flags[o.name] = append(c.flags[o.name], value)
	}
	return nil
}

// isFlag reports whether an argument is a flag in short form, which no option takes for its value.
func isFlag(arg string) bool { return len(arg) > 1 && arg[0] == '-' && arg[1] != '-' }

// once refuses an option that is given a second time, unless it lists things.
func (c *call) once(o *option) error {
	if !c.has(o.name) || o.name == "--type" || o.name == "--table" {
		return nil
	}
	return usage(c.command, "the argument '%s' cannot be used multiple times", o)
}

func (c *call) validate() error {
	if keep := c.get("--keep"); c.has("--keep") {
		if _, err := strconv.ParseUint(keep, 10, 32); err != nil {
			return &usageError{fmt.Sprintf("error: invalid value '%s' for '%s': invalid digit found in string\n\nFor more information, try '--help'.\n", keep, c.command.option("--keep"))}
		}
	}
	for _, pair := range c.command.conflicts {
		if c.has(pair[0]) && c.has(pair[1]) {
			first, second := pair[0], pair[1]
			if slices.Index(c.order, first) > slices.Index(c.order, second) {
				first, second = second, first
			}
			return usage(c.command, "the argument '%s' cannot be used with '%s'", c.command.option(first), c.command.option(second))
		}
	}
	var missing []string
	for _, name := range c.command.required {
		if !c.has(name) {
			missing = append(missing, "  "+c.command.option(name).String())
		}
	}
	for i, p := range c.command.positional {
		if p[0] != '[' && i >= len(c.args) {
			missing = append(missing, "  <"+p+">")
		}
	}
	if len(missing) > 0 {
		return usage(c.command, "the following required arguments were not provided:\n%s", strings.Join(missing, "\n"))
	}
	return nil
}

const helpText = `The emulator's stand-in for the omnigraph CLI

Usage: omnigraph [OPTIONS] <COMMAND>

Commands:
  query     Execute a read query against a branch or snapshot [aliases: read]
  mutate    Execute a mutation against a branch [aliases: change]
  load      Load NDJSON into a graph
  branch    list, create, delete, merge
  snapshot  Show a branch's tables
  export    Export a branch as NDJSON
  commit    list, show
  schema    show
  graphs    list
  init      Make a graph store from a schema
  optimize  Fold the fragments of every table of a store
  cleanup   Forget old versions of a store
  repair    Look for drift between a store's manifest and its tables
  cluster   validate, import, apply
  version   Print the version

Options:
  --as, --server, --graph, --profile, --store, --cluster, --yes, --quiet, -v/--version, -h/--help
`
