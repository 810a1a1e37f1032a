package main

import "syscall"

// endWithParent makes the kernel kill a child process when the thread that started it ends, for example because this
// process is killed.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
