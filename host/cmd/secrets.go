package cmd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/ext"
	"go.k6.io/k6/v2/internal/secrets"
	"go.k6.io/k6/v2/secretsource"
)

// setUpSecrets makes the sources that --secret-source asks for, and has the logs redacted.
func setUpSecrets(gs *state.GlobalState) error {
	constructors := builtinSecretSources()
	for name, extension := range ext.Get(ext.SecretSourceExtension) {
		if constructor, ok := extension.Module.(secretsource.Constructor); ok {
			constructors[name] = constructor
		}
	}
	sources := make(map[string]secretsource.Source)
	for _, text := range gs.Flags.SecretSource {
		typ, argument, _ := strings.Cut(text, "=")
		constructor, ok := constructors[typ]
		if !ok {
			return fmt.Errorf("no secret source of type %q, available types are: %s", typ,
				strings.Join(slices.Sorted(maps.Keys(constructors)), ", "))
		}
		name, isDefault, rest := secretSourceSettings(typ, argument)
		source, err := constructor(secretsource.Params{
			ConfigArgument: rest,
			Logger:         gs.Logger,
			Environment:    gs.Env,
			FS:             gs.FS,
			Usage:          gs.Usage,
		})
		if err != nil {
			return fmt.Errorf("could not create the secret source %q: %w", text, err)
		}
		if _, taken := sources[name]; taken {
			return fmt.Errorf("there are two secret sources called %q, give one another name with name=…", name)
		}
		sources[name] = source
		if isDefault || len(gs.Flags.SecretSource) == 1 {
			if _, taken := sources[secretsource.DefaultSourceName]; taken {
				return fmt.Errorf("there are two default secret sources")
			}
			sources[secretsource.DefaultSourceName] = source
		}
	}
	manager, hook, err := secretsource.NewManager(sources)
	if err != nil {
		return fmt.Errorf("secret sources: %w", err)
	}
	gs.SecretsManager = manager
	if len(sources) > 0 {
		gs.Logger.AddHook(hook)
	}
	return nil
}

// secretSourceSettings takes the settings that all sources have out of the argument: name=… and default.
func secretSourceSettings(typ, argument string) (name string, isDefault bool, rest string) {
	name = typ
	var others []string
	for part := range strings.SplitSeq(argument, ",") {
		key, value, hasValue := strings.Cut(part, "=")
		switch {
		case key == "name" && hasValue:
			name = value
		case part == "default":
			isDefault = true
		default:
			others = append(others, part)
		}
	}
	return name, isDefault, strings.Join(others, ",")
}

func builtinSecretSources() map[string]secretsource.Constructor {
	return map[string]secretsource.Constructor{
		"file": secrets.NewFile,
		"mock": secrets.NewMock,
		"url": func(secretsource.Params) (secretsource.Source, error) {
			return nil, refuse("a secret source of type url")
		},
	}
}
