//go:build !linux

package child

import "syscall"

// EndWithParent does nothing on this system. The next watcher kills leftover processes.
func EndWithParent() *syscall.SysProcAttr { return nil }
