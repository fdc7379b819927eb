// Package e2e tests the k6 binary with the extension from outside: how runs end, what they leave behind, and what
// their records say.
package e2e
