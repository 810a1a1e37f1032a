package main

import (
	"os/exec"
	"runtime"
	"syscall"
)

// endWithParent makes the kernel kill a child process when this process ends for any reason.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// startRequests are handled by one thread that never ends. The kernel sends the signal of `endWithParent` when the
// thread that started the child ends, not when the process ends.
var startRequests = make(chan func())

func init() {
	go func() {
		runtime.LockOSThread()
		for start := range startRequests {
			start()
		}
	}()
}

func startProcess(command *exec.Cmd) error {
	result := make(chan error)
	startRequests <- func() { result <- command.Start() }
	return <-result
}
