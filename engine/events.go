package main

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/pkg/v3/engine"
	"github.com/pulumi/pulumi/pkg/v3/resource/deploy"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag/colors"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// pendingOperations is part of the engine's warning about operations that an earlier process did not finish.
const pendingOperations = "pending operations"

// addEvent adds the facts in an event of the engine to the answer.
func (a *answer) addEvent(event engine.Event) {
	switch event.Type {
	case engine.ResourcePreEvent:
		step := event.Payload().(engine.ResourcePreEventPayload).Metadata
		a.addStep(string(step.Op), string(step.URN), slices.Sorted(maps.Keys(step.DetailedDiff)))
	case engine.SummaryEvent:
		a.Counts = counts(event.Payload().(engine.SummaryEventPayload).ResourceChanges)
	case engine.DiagEvent:
		payload := event.Payload().(engine.DiagEventPayload)
		a.addDiagnostic(string(payload.URN), payload.Message, payload.Severity)
	}
}

// addEventFile adds the events in the event log at the path. Operations without an event channel write such a log.
func (a *answer) addEventFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 {
			return nil
		}
		var event apitype.EngineEvent
		if json.Unmarshal(line, &event) == nil {
			a.addLoggedEvent(event)
		}
		if err != nil {
			return nil
		}
	}
}

func (a *answer) addLoggedEvent(event apitype.EngineEvent) {
	switch {
	case event.ResourcePreEvent != nil:
		step := event.ResourcePreEvent.Metadata
		a.addStep(string(step.Op), step.URN, slices.Sorted(maps.Keys(step.DetailedDiff)))
	case event.SummaryEvent != nil:
		a.Counts = counts(event.SummaryEvent.ResourceChanges)
	case event.DiagnosticEvent != nil:
		diagnostic := event.DiagnosticEvent
		a.addDiagnostic(diagnostic.URN, diagnostic.Message, diag.Severity(diagnostic.Severity))
	}
}

func (a *answer) addStep(operation, urn string, fields []string) {
	switch operation {
	case string(deploy.OpSame), string(deploy.OpRead), string(deploy.OpRefresh):
		return
	}
	a.Changes = append(a.Changes, change{Operation: operation, URN: urn, Fields: fields})
}

func (a *answer) addDiagnostic(urn, message string, severity diag.Severity) {
	message = strings.TrimSpace(colors.Never.Colorize(message))
	if strings.Contains(message, pendingOperations) {
		a.HasPendingOperations = true
	}
	// The engine reports each failed operation once more as a whole.
	if severity != diag.Error || strings.HasPrefix(message, "update failed") {
		return
	}
	if name := resource.URN(urn); name.IsValid() {
		message = name.Name() + ": " + message
	}
	a.Diagnostics = append(a.Diagnostics, message)
}

func counts[Operation ~string](changes map[Operation]int) map[string]int {
	result := make(map[string]int, len(changes))
	for operation, count := range changes {
		result[string(operation)] = count
	}
	return result
}
