package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/pulumi/pulumi/pkg/v3/backend/diy"
)

const (
	// targetVariable contains the URL of the target backend. The URL may contain a password, so it is not on the
	// command line.
	targetVariable = "TENANCY_TARGET_URL"
	// copyMarker exists in a target backend until it is a complete copy that a watcher can use. movedMarker exists in
	// a backend whose stacks were moved. The watcher refuses both backends.
	copyMarker  = ".pulumi/tenancy-copy"
	movedMarker = ".pulumi/tenancy-moved"
	stateFolder = ".pulumi/stacks/"
	lockFolder  = ".pulumi/locks/"
)

// copied is the result for one stack, or for the other objects if the name is empty. The command prints it as a line
// of JSON.
type copied struct {
	Stack   string `json:"stack"`
	Written int    `json:"written"`
	Same    int    `json:"same"`
	Removed int    `json:"removed"`
}

// copyCommand runs `tenancy-engine copy`. It copies all objects of a backend to another backend, one stack after the
// other, and reads each written object again. It can be repeated after an interruption: objects that are equal in both
// backends are not written again.
func copyCommand(arguments []string) error {
	flags := flag.NewFlagSet("tenancy-engine copy", flag.ExitOnError)
	overwrite := flags.Bool("overwrite", false, "replace the stacks in the target backend")
	usable := flags.Bool("usable", false, "let watchers use the target backend after the copy")
	move := flags.Bool("move", false, "do not let watchers use the source backend after the copy")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	ctx := context.Background()
	backend, source, err := openBackend(ctx, discard, os.Getenv("PULUMI_BACKEND_URL"), nil)
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	target, err := openBucket(ctx, os.Getenv(targetVariable))
	if err != nil {
		return fmt.Errorf("target: %w", err)
	}
	transfer := transfer{source, target, backend, json.NewEncoder(os.Stdout)}
	if err := transfer.begin(ctx, *overwrite); err != nil {
		return err
	}
	if err := transfer.run(ctx); err != nil {
		return err
	}
	if *usable {
		if err := deleteObject(ctx, target, copyMarker); err != nil {
			return err
		}
	}
	if *move {
		return source.WriteAll(ctx, movedMarker, nil, nil)
	}
	return nil
}

// transfer copies objects from one backend to another.
type transfer struct {
	source, target *blob.Bucket
	backend        diy.Backend
	output         *json.Encoder
}

// begin marks the target as incomplete. It refuses a target that contains other stacks.
func (t transfer) begin(ctx context.Context, overwrite bool) error {
	found, err := keys(ctx, t.target, ".pulumi/")
	if err != nil {
		return err
	}
	isOther := func(key string) bool { return strings.HasPrefix(key, stateFolder) }
	if slices.ContainsFunc(found, isOther) && !slices.Contains(found, copyMarker) && !overwrite {
		return errors.New("the target contains stacks already")
	}
	return t.target.WriteAll(ctx, copyMarker, nil, nil)
}

func (t transfer) run(ctx context.Context) error {
	all, err := keys(ctx, t.source, "")
	if err != nil {
		return err
	}
	old, err := keys(ctx, t.target, "")
	if err != nil {
		return err
	}
	groups, oldGroups := byStack(all), byStack(old)
	for stack := range oldGroups {
		groups[stack] = append(groups[stack], old...)
	}
	names := make([]string, 0, len(groups))
	for stack := range groups {
		names = append(names, stack)
	}
	slices.Sort(names) // The objects of no stack come first. They include Pulumi's description of the layout.
	for _, stack := range names {
		if err := t.stack(ctx, stack, oldGroups[stack]); err != nil {
			return fmt.Errorf("%s: %w", stack, err)
		}
	}
	return nil
}

// stack copies the objects of one stack, while the stack is locked.
func (t transfer) stack(ctx context.Context, stack string, old []string) error {
	if stack != "" {
		reference, err := t.backend.ParseStackReference("organization/" + stack)
		if err != nil {
			return err
		}
		if err := t.backend.Lock(ctx, reference); err != nil {
			return err
		}
		defer t.backend.(unlocker).Unlock(ctx, reference)
	}
	// List the objects again, because they may have changed before the stack was locked.
	all, err := keys(ctx, t.source, "")
	if err != nil {
		return err
	}
	current := byStack(all)[stack]
	// The state is the last object, so that a stack in the target is complete.
	slices.SortStableFunc(current, func(a, b string) int {
		return order(a) - order(b)
	})
	result := copied{Stack: stack}
	for _, key := range current {
		isWritten, err := t.object(ctx, key)
		if err != nil {
			return err
		}
		if isWritten {
			result.Written++
		} else {
			result.Same++
		}
	}
	for _, key := range old {
		if !slices.Contains(current, key) {
			if err := deleteObject(ctx, t.target, key); err != nil {
				return err
			}
			result.Removed++
		}
	}
	return t.output.Encode(result)
}

// object copies one object, unless the target has an equal one. It reports whether it has written the object.
func (t transfer) object(ctx context.Context, key string) (bool, error) {
	content, err := t.source.ReadAll(ctx, key)
	if err != nil {
		return false, fmt.Errorf("cannot read %s: %w", key, err)
	}
	if isEqual, err := t.isEqual(ctx, key, content); isEqual || err != nil {
		return false, err
	}
	if err := t.target.WriteAll(ctx, key, content, nil); err != nil {
		return false, fmt.Errorf("cannot write %s: %w", key, err)
	}
	isEqual, err := t.isEqual(ctx, key, content)
	if err == nil && !isEqual {
		err = fmt.Errorf("%s differs after it was written", key)
	}
	return true, err
}

func (t transfer) isEqual(ctx context.Context, key string, content []byte) (bool, error) {
	written, err := t.target.ReadAll(ctx, key)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return false, nil
	}
	return bytes.Equal(written, content), err
}

// byStack groups keys by PROJECT/STACK. Keys of no stack have an empty name. Locks and markers are left out.
func byStack(all []string) map[string][]string {
	groups := map[string][]string{}
	for _, key := range all {
		if strings.HasPrefix(key, lockFolder) || key == copyMarker || key == movedMarker {
			continue
		}
		groups[stackOf(key)] = append(groups[stackOf(key)], key)
	}
	return groups
}

// stackOf returns PROJECT/STACK for a key such as .pulumi/stacks/PROJECT/STACK.json.gz or
// .pulumi/history/PROJECT/STACK/FILE, or an empty string for the key of no stack.
func stackOf(key string) string {
	parts := strings.Split(key, "/")
	if len(parts) < 4 || parts[0] != ".pulumi" {
		return ""
	}
	stack, _, _ := strings.Cut(parts[3], ".json")
	return parts[2] + "/" + stack
}

func order(key string) int {
	if strings.HasPrefix(key, stateFolder) {
		return 1
	}
	return 0
}
