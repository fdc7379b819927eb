package packaging

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var spaces = regexp.MustCompile(`\s+`)

// licenceOf names the licence of a text, or nothing. It goes by the sentences that make each licence what it is.
func licenceOf(text string) string {
	text = strings.ToLower(spaces.ReplaceAllString(strings.NewReplacer("*", " ", "//", " ", `"`, "", "“", "", "”", "").Replace(text), " "))
	has := func(sentences ...string) bool {
		for _, s := range sentences {
			if !strings.Contains(text, s) {
				return false
			}
		}
		return true
	}
	switch {
	case has("mozilla public license", "version 2.0"):
		return "MPL-2.0" // before the GPL, which it names as a secondary licence
	case has("gnu affero general public license"), has("gnu general public license"), has("gnu lesser general public license"), has("gnu library general public license"):
		return ""
	case has("apache license", "version 2.0, january 2004", "grant of patent license"):
		return "Apache-2.0"
	case has("permission is hereby granted, free of charge, to any person obtaining a copy", "the software is provided as is"):
		return "MIT"
	case has("redistribution and use in source and binary forms", "this software is provided by", "neither the name"):
		return "BSD-3-Clause"
	case has("redistribution and use in source and binary forms", "this software is provided by"):
		return "BSD-2-Clause"
	case has("permission to use, copy, modify, and", "distribute this software for any purpose with or without fee is hereby granted"):
		return "ISC"
	}
	return ""
}

type module struct {
	Path, Version, Dir string
	Main               bool
}

// linked are the modules of others that end up in the program.
func linked(t *testing.T, program string) []module {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=Module", program)
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	var all []module
	seen := map[string]bool{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ Module *module }
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		// The embedded host is this repository's own.
		if p.Module == nil || p.Module.Main || p.Module.Path == "go.k6.io/k6/v2" || seen[p.Module.Path] {
			continue
		}
		seen[p.Module.Path] = true
		all = append(all, *p.Module)
	}
}

func licenceTexts(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	texts := map[string]string{}
	for _, e := range entries {
		if !e.IsDir() && regexp.MustCompile(`(?i)^(licen[cs]e|copying)([.-].*)?$`).MatchString(e.Name()) {
			data, err := os.ReadFile(filepath.Join(dir, e.Name()))
			require.NoError(t, err)
			texts[e.Name()] = string(data)
		}
	}
	return texts
}

func TestEverythingThatIsLinkedInIsPermissivelyLicensed(t *testing.T) {
	t.Parallel()
	for program, atLeast := range map[string]int{"./cmd/k6": 10, "./cmd/omnigraph-emulator": 1} {
		modules := linked(t, program)
		require.GreaterOrEqual(t, len(modules), atLeast, "%s: the check looks at too little", program)
		for _, m := range modules {
			texts := licenceTexts(t, m.Dir)
			if !assert.NotEmpty(t, texts, "%s %s, linked into %s, has no licence", m.Path, m.Version, program) {
				continue
			}
			for name, text := range texts {
				assert.NotEmpty(t, licenceOf(text), "%s %s, linked into %s: the licence in %s is not known to be permissive", m.Path, m.Version, program, name)
			}
		}
	}
}

func TestLicencesAreToldApart(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		"MIT": `Permission is hereby granted, free of charge, to any person obtaining
			a copy of this software … THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY`,
		"BSD-3-Clause": `Redistribution and use in source and binary forms, with or without … * Neither the name of Google Inc.
			… THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS`,
		"BSD-2-Clause": `Redistribution and use in source and binary forms … THIS SOFTWARE IS PROVIDED BY THE AUTHOR`,
		"ISC":          `Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted`,
		"MPL-2.0":      `Mozilla Public License Version 2.0 … "Secondary License" means either the GNU General Public License, Version 2.0`,
	} {
		assert.Equal(t, want, licenceOf(text))
	}
	for _, text := range []string{
		"GNU AFFERO GENERAL PUBLIC LICENSE Version 3, 19 November 2007",
		"GNU LESSER GENERAL PUBLIC LICENSE Version 2.1",
		"Permission is hereby granted, free of charge, to any person obtaining a copy … as is … under the GNU General Public License",
		"Business Source License 1.1", "All rights reserved.", "",
	} {
		assert.Empty(t, licenceOf(text), text)
	}
}
