package main

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/pulumi/pulumi/pkg/v3/backend"
	"github.com/pulumi/pulumi/pkg/v3/engine"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag/colors"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// pendingOperations is part of the engine's warning about operations that an earlier process did not finish.
const pendingOperations = "pending operations"

// withEvents runs the function with a channel for events, and adds the diagnostics in the events to the answer.
func (a *answer) withEvents(run func(chan<- engine.Event) error) error {
	events := make(chan engine.Event)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range events {
			if event.Type == engine.DiagEvent && !event.Internal() {
				payload := event.Payload().(engine.DiagEventPayload)
				a.addDiagnostic(payload.URN, payload.Message, payload.Severity)
			}
		}
	}()
	err := run(events)
	close(events)
	<-done
	return err
}

// withEventLog runs the function with an event log in a file, and adds the diagnostics in the log to the answer.
// Pulumi has no event channel for `refresh` and `destroy`.
func (a *answer) withEventLog(folder string, update *backend.UpdateOperation, run func() error) error {
	file, err := os.CreateTemp(folder, "events-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	update.Opts.Display.EventLogPath = file.Name()
	err = run()
	// The last event is not complete if the operation was ended by force.
	events := json.NewDecoder(file)
	for {
		var event apitype.EngineEvent
		if events.Decode(&event) != nil {
			return err
		}
		if logged := event.DiagnosticEvent; logged != nil {
			a.addDiagnostic(resource.URN(logged.URN), logged.Message, diag.Severity(logged.Severity))
		}
	}
}

func (a *answer) addDiagnostic(urn resource.URN, message string, severity diag.Severity) {
	message = strings.TrimSpace(colors.Never.Colorize(message))
	if strings.Contains(message, pendingOperations) {
		a.HasPendingOperations = true
	}
	// The engine reports each failed operation once more as a whole.
	if severity != diag.Error || strings.HasPrefix(message, "update failed") {
		return
	}
	if urn.IsValid() {
		message = urn.Name() + ": " + message
	}
	a.Diagnostics = append(a.Diagnostics, message)
}
