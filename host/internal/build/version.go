// Package build knows which k6 this host stands in for.
package build

// Version is the version of k6 whose API and behaviour the host follows.
const Version = "2.2.0"
