// Package robust tests what the module promises when things go wrong: that no write is lost without being reported,
// that nothing leaks, that every error kind is what it says over both transports, and what the field has reported.
package robust
