package main

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/pulumi/pulumi/pkg/v3/display"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/config"
)

// A client opens one connection per operation. It sends a request as one line of JSON, and receives an answer as one
// line of JSON. To cancel the operation, the client ends its side of the connection.

// Names of the operations.
const (
	opUp      = "up"
	opPreview = "preview"
	opRefresh = "refresh"
	opDestroy = "destroy"
	opStatus  = "status"
	// opEvict replaces the providers. New operations get new ones.
	opEvict = "evict"
)

// request describes one operation on one stack.
type request struct {
	Operation string `json:"operation"`
	Stack     string `json:"stack"`
	// Message is stored in the history of the stack.
	Message string `json:"message"`
	// Config contains the configuration values of the project and the stack, by full key.
	Config config.Map `json:"config"`
	// Refresh updates the state from the live objects before `up` or `preview`.
	Refresh bool `json:"refresh"`
	// GraceSeconds is the time in which a canceled operation can save its state before it is ended by force.
	GraceSeconds float64 `json:"graceSeconds"`
	// Program is the content of the stack. Only `up` and `preview` use it.
	Program program `json:"program"`
}

// validate checks the operation and the program. Objects can refer only to earlier objects, so that no registration
// waits forever.
func (r *request) validate() error {
	operations := []string{opUp, opPreview, opRefresh, opDestroy, opStatus, opEvict}
	if !slices.Contains(operations, r.Operation) {
		return fmt.Errorf("unknown operation %q", r.Operation)
	}
	for index, object := range r.Program.Resources {
		references := slices.Clone(object.DependsOn)
		if object.DeletedWith != nil {
			references = append(references, *object.DeletedWith)
		}
		for _, other := range references {
			if other < 0 || other >= index {
				return fmt.Errorf("resource %d (%s) refers to resource %d", index, object.Name, other)
			}
		}
	}
	return nil
}

// program lists the resources of a stack: one component, and the Kubernetes objects in this component.
type program struct {
	Type            string           `json:"type"`
	Name            string           `json:"name"`
	Outputs         *structpb.Struct `json:"outputs"`
	ProviderVersion string           `json:"providerVersion"`
	Resources       []object         `json:"resources"`
}

// object describes one Kubernetes object. Other objects are named by their index in the program. They come earlier in
// the list.
type object struct {
	Type           string           `json:"type"`
	Name           string           `json:"name"`
	Inputs         *structpb.Struct `json:"inputs"`
	DependsOn      []int            `json:"dependsOn"`
	DeletedWith    *int             `json:"deletedWith"`
	RetainOnDelete *bool            `json:"retainOnDelete"`
}

// Kinds of errors in an answer.
const (
	errorFailed        = "failed"
	errorNoStack       = "no-stack"
	errorCanceled      = "canceled"
	errorBusy          = "busy"
	errorNotAccepted   = "not-accepted"
	errorInvalid       = "invalid-request"
	errorEngineCrashed = "panic"
	errorProviderEnded = "provider-ended"
)

// answer is the result of one operation.
type answer struct {
	// ErrorKind is empty if the operation succeeded.
	ErrorKind string `json:"errorKind,omitempty"`
	Error     string `json:"error,omitempty"`
	// Diagnostics contains the errors that the engine and the provider reported.
	Diagnostics []string `json:"diagnostics,omitempty"`
	// HasPendingOperations is true if the state contains operations that an earlier process did not finish.
	HasPendingOperations bool `json:"hasPendingOperations,omitempty"`
	// Counts contains the number of resources for each kind of change.
	Counts display.ResourceChanges `json:"counts,omitempty"`
	// Version is the number of the update in the history of the stack. Only `up` and `refresh` have one.
	Version int     `json:"version,omitempty"`
	Status  *status `json:"status,omitempty"`
}

// status describes the engine process itself.
type status struct {
	// Running lists the stacks that running operations change.
	Running    []string `json:"running"`
	Goroutines int      `json:"goroutines"`
}
