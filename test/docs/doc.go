// Package docs tests the documentation: every command in it runs, or says why it can't here, and what repeats a table
// of the code is equal to it.
package docs
