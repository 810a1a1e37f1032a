// Package child sets the attributes of child processes.
package child

import "syscall"

// EndWithParent makes the kernel kill a child process when the thread that started it ends, for example because this
// process is killed.
func EndWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
