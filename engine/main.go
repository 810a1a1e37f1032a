// The engine runs updates of Pulumi stacks for the watcher.
package main

import (
	"fmt"
	"os"

	"github.com/pulumi/pulumi/sdk/v3/go/common/version"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "prune" {
		os.Exit(pruneCommand(os.Args[2:], os.Stdout, os.Stderr))
	}
	fmt.Println(version.Version)
}
