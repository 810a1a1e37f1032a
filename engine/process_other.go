//go:build !linux

package main

import "syscall"

// endWithParent does nothing on this system. The next watcher kills leftover processes.
func endWithParent() *syscall.SysProcAttr { return nil }
