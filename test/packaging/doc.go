// Package packaging tests what a release promises beside its code: the checks of xk6 lint that need no network, the
// licences of what is linked in, versions, and the release's own steps.
package packaging
