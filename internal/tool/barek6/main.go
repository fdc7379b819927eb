// Command barek6 is a k6 without the extension, to tell what the extension adds to a binary.
package main

import "go.k6.io/k6/v2/cmd"

func main() { cmd.Execute() }
