package main

import (
	"encoding/json"

	"github.com/pulumi/pulumi/pkg/v3/display"
)

// A client opens one connection per operation. It sends a request as one line of JSON, and receives an answer as
// one line of JSON. Until the answer arrives, the client can send "cancel" or "terminate" as a line of its own.

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

// Lines that a client sends while its operation runs.
const (
	lineCancel    = "cancel"
	lineTerminate = "terminate"
)

// request describes one operation on one stack.
type request struct {
	Operation string `json:"operation"`
	Stack     string `json:"stack"`
	// Message is stored in the history of the stack.
	Message string `json:"message"`
	// Config contains the configuration values of the project and the stack, by full key.
	Config map[string]string `json:"config"`
	// Refresh updates the state from the live objects before `up` or `preview`.
	Refresh bool `json:"refresh"`
	// Program is the content of the stack. Only `up` and `preview` use it.
	Program program `json:"program"`
}

// program lists the resources of a stack: one component, and the Kubernetes objects in this component.
type program struct {
	Type            string                     `json:"type"`
	Name            string                     `json:"name"`
	Outputs         map[string]json.RawMessage `json:"outputs"`
	ProviderVersion string                     `json:"providerVersion"`
	Resources       []registration             `json:"resources"`
}

// registration describes one Kubernetes object. Other registrations are named by their index in the program. They
// come earlier in the list.
type registration struct {
	Type           string          `json:"type"`
	Name           string          `json:"name"`
	Inputs         json.RawMessage `json:"inputs"`
	DependsOn      []int           `json:"dependsOn"`
	DeletedWith    *int            `json:"deletedWith"`
	RetainOnDelete *bool           `json:"retainOnDelete"`
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
	// Operations is the number of operations since the start.
	Operations int `json:"operations"`
	// Running lists the stacks of the running operations.
	Running    []string `json:"running"`
	Providers  int      `json:"providers"`
	Goroutines int      `json:"goroutines"`
}
