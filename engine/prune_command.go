package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/pulumi/pulumi/pkg/v3/backend"
	"github.com/pulumi/pulumi/pkg/v3/backend/diy"
)

// pruned is the result for one stack. The command prints it as a line of JSON.
type pruned struct {
	Stack   string `json:"stack"`
	Removed int    `json:"removed"`
	Kept    int    `json:"kept"`
	Problem string `json:"problem,omitempty"`
}

// pruneCommand runs `tenancy-engine prune`. It prunes the stacks one after the other. The problem of one stack does
// not stop the others.
func pruneCommand(arguments []string) error {
	flags := flag.NewFlagSet("tenancy-engine prune [OPTIONS] STACK…", flag.ExitOnError)
	url := flags.String("backend", os.Getenv("PULUMI_BACKEND_URL"),
		"`URL` of Pulumi's state backend (default: $PULUMI_BACKEND_URL)")
	project := flags.String("project", "tenancy", "`name` of the Pulumi project")
	var kept limits
	flags.IntVar(&kept.updates, "keep-updates", 100, "`number` of updates to keep for each stack")
	flags.IntVar(&kept.days, "keep-days", 90, "`number` of days to keep an update")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *url == "" || flags.NArg() == 0 || kept.updates < 1 || kept.days < 1 {
		return errors.New("set --backend or PULUMI_BACKEND_URL, name at least one stack, " +
			"and set --keep-updates and --keep-days to at least 1")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	stacks, bucket, err := openBackend(ctx, *url, nil)
	if err != nil {
		return err
	}
	defer bucket.Close()
	output := json.NewEncoder(os.Stdout)
	for _, stack := range flags.Args() {
		result := pruned{Stack: stack}
		problem := result.prune(ctx, stacks, history{bucket, *project, stack}, kept)
		if problem != nil {
			result.Problem, err = problem.Error(), errors.New("some stacks were not pruned")
		}
		if err := output.Encode(result); err != nil {
			return err
		}
	}
	return err
}

// unlocker is the part of the backend that the interface diy.Backend lacks.
type unlocker interface {
	Unlock(context.Context, backend.StackReference)
}

// prune prunes one stack. It locks the stack only if there is something to remove.
func (p *pruned) prune(ctx context.Context, stacks diy.Backend, stored history, kept limits) error {
	updates, err := stored.updates(ctx)
	p.Kept = len(updates)
	now := time.Now()
	if err != nil || kept.expired(updates, now) == 0 {
		return err
	}
	reference, err := stacks.ParseStackReference("organization/" + stored.project + "/" + stored.stack)
	if err != nil {
		return err
	}
	if err := stacks.Lock(ctx, reference); err != nil {
		return err
	}
	defer stacks.(unlocker).Unlock(context.WithoutCancel(ctx), reference)
	p.Removed, err = stored.prune(ctx, kept, now)
	p.Kept -= p.Removed
	return err
}
