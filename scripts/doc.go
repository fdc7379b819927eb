// Package scripts holds the shipped scenarios, each a question answered, and the tests that run every one of them.
package scripts
