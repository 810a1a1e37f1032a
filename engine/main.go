// The engine runs updates of Pulumi stacks for the watcher.
package main

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/version"
)

func main() {
	fmt.Println(version.Version)
}
