package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strings"

	"github.com/pulumi/pulumi/pkg/v3/backend"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag/colors"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// withEvents runs the function with an event log in a file, and adds the diagnostics in the log to the answer. Pulumi
// has no event channel for `refresh` and `destroy`.
func (a *answer) withEvents(folder string, update *backend.UpdateOperation, run func() error) error {
	file, err := os.CreateTemp(folder, "events-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	update.Opts.Display.EventLogPath = file.Name()
	err = run()
	for lines := bufio.NewReader(file); ; {
		// The last line is not complete if the operation was ended by force.
		line, problem := lines.ReadBytes('\n')
		if problem != nil {
			return err
		}
		var event apitype.EngineEvent
		if bytes.Contains(line, []byte(`"diagnosticEvent"`)) && json.Unmarshal(line, &event) == nil {
			a.addDiagnostic(event.DiagnosticEvent)
		}
	}
}

func (a *answer) addDiagnostic(event *apitype.DiagnosticEvent) {
	if event == nil {
		return // another event, whose values contain the word
	}
	message := strings.TrimSpace(colors.Never.Colorize(event.Message))
	// The engine warns about operations that an earlier process did not finish.
	if strings.Contains(message, "pending operations") {
		a.HasPendingOperations = true
	}
	// The engine reports each failed operation once more as a whole.
	if event.Severity != string(diag.Error) || strings.HasPrefix(message, "update failed") {
		return
	}
	if urn := resource.URN(event.URN); urn.IsValid() {
		message = urn.Name() + ": " + message
	}
	a.Diagnostics = append(a.Diagnostics, message)
}
