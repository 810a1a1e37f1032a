package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/pulumi/pulumi/pkg/v3/backend"
	"github.com/pulumi/pulumi/pkg/v3/backend/diy"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag/colors"

	"tenancy.local/engine/history"
)

// pruned is the result for one stack. The command prints it as a line of JSON.
type pruned struct {
	Stack   string `json:"stack"`
	Removed int    `json:"removed"`
	Kept    int    `json:"kept"`
	Problem string `json:"problem,omitempty"`
}

// pruneCommand runs `tenancy-engine prune` and returns its exit code.
func pruneCommand(arguments []string, out, problems io.Writer) int {
	flags := flag.NewFlagSet("tenancy-engine prune [OPTIONS] STACK…", flag.ContinueOnError)
	flags.SetOutput(problems)
	url := flags.String("backend", "", "`URL` of Pulumi's state backend (default: $PULUMI_BACKEND_URL)")
	project := flags.String("project", "tenancy", "`name` of the Pulumi project")
	var limits history.Limits
	flags.IntVar(&limits.Updates, "keep-updates", 100, "`number` of updates to keep for each stack")
	flags.IntVar(&limits.Days, "keep-days", 90, "`number` of days to keep an update")
	if err := flags.Parse(arguments); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if *url == "" {
		*url = os.Getenv("PULUMI_BACKEND_URL")
	}
	if *url == "" || flags.NArg() == 0 || limits.Updates < 1 || limits.Days < 1 {
		fmt.Fprintln(problems, "tenancy-engine prune: set --backend or PULUMI_BACKEND_URL, name at least one "+
			"stack, and set --keep-updates and --keep-days to at least 1")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code, encoder := 0, json.NewEncoder(out)
	for _, result := range pruneStacks(ctx, *url, *project, flags.Args(), limits, problems) {
		if result.Problem != "" {
			code = 1
		}
		if err := encoder.Encode(result); err != nil {
			return 1
		}
	}
	return code
}

// pruneStacks prunes the stacks one after the other. The problem of one stack does not stop the others.
func pruneStacks(
	ctx context.Context, url, project string, stacks []string, limits history.Limits, problems io.Writer,
) []pruned {
	results := make([]pruned, 0, len(stacks))
	sink := diag.DefaultSink(problems, problems, diag.FormatOptions{Color: colors.Never})
	state, err := diy.New(ctx, sink, url, nil)
	var store *history.Store
	if err == nil {
		store, err = history.Open(ctx, state.URL())
	}
	if err != nil {
		fmt.Fprintf(problems, "tenancy-engine prune: %v\n", err)
		return append(results, pruned{Problem: "cannot open the state backend"})
	}
	defer store.Close()
	for _, stack := range stacks {
		total, removed, err := pruneStack(ctx, state, store, project, stack, limits)
		result := pruned{Stack: stack, Removed: removed, Kept: total - removed}
		if err != nil {
			result.Problem = err.Error()
		}
		results = append(results, result)
	}
	return results
}

// pruneStack prunes one stack. It locks the stack only if there is something to remove. It returns how many
// updates the history had, and how many were removed.
func pruneStack(
	ctx context.Context, state diy.Backend, store *history.Store, project, stack string, limits history.Limits,
) (total, removed int, err error) {
	now := time.Now()
	total, toRemove, err := store.Count(ctx, project, stack, limits, now)
	if err != nil || toRemove == 0 {
		return total, 0, err
	}
	reference, err := state.ParseStackReference("organization/" + project + "/" + stack)
	if err != nil {
		return total, 0, err
	}
	if err := state.Lock(ctx, reference); err != nil {
		return total, 0, err
	}
	// The interface of the backend has no method that removes a lock, but its implementation has one.
	unlocker := state.(interface {
		Unlock(ctx context.Context, stackRef backend.StackReference)
	})
	defer unlocker.Unlock(context.WithoutCancel(ctx), reference)
	removed, err = store.Prune(ctx, project, stack, limits, now)
	return total, removed, err
}
