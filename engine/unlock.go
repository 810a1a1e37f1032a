package main

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"gocloud.dev/gcerrors"

	"github.com/pulumi/pulumi/pkg/v3/backend"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
)

const unlockInterval = time.Second

// lockURL matches the URL of a lock. The group is the name of the stack.
var lockURL = regexp.MustCompile("/locks/[^/]+/[^/]+/([^/]+)/")

// unlocker is the part of the backend that deletes the lock of this process on a stack.
type unlocker interface {
	ParseStackReference(string) (backend.StackReference, error)
	Unlock(context.Context, backend.StackReference)
}

// unlockRetry receives the errors that the backend only logs. The only such error is that the backend could not delete
// the lock of an operation that has ended. The lock names this process. So while this process is running, other
// processes would wait for the lock.
type unlockRetry struct {
	diag.Sink
	backend unlocker
}

// Errorf tries to delete the lock again. If this fails, the backend calls Errorf again. So the operation does not end
// before its lock is deleted.
func (r *unlockRetry) Errorf(_ *diag.Diag, arguments ...any) {
	match := lockURL.FindStringSubmatch(fmt.Sprint(arguments...))
	if match == nil || isNotFound(arguments[len(arguments)-1]) {
		return
	}
	slog.Warn("lock not deleted", "stack", match[1])
	if reference, err := r.backend.ParseStackReference(match[1]); err == nil {
		time.Sleep(unlockInterval)
		r.backend.Unlock(context.Background(), reference)
	}
}

func isNotFound(argument any) bool {
	err, isError := argument.(error)
	return isError && gcerrors.Code(err) == gcerrors.NotFound
}
