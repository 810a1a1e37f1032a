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
	backend, source, err := openBackend(ctx, os.Getenv("PULUMI_BACKEND_URL"), nil)
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
	names, err := stackNames(ctx, t.target)
	if err != nil {
		return err
	}
	isCopy, err := t.target.Exists(ctx, copyMarker)
	if err != nil {
		return err
	}
	if len(names) > 0 && !isCopy && !overwrite {
		return errors.New("the target contains stacks already")
	}
	return t.target.WriteAll(ctx, copyMarker, nil, nil)
}

func (t transfer) run(ctx context.Context) error {
	names, err := stackNames(ctx, t.source)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return errors.New("the source contains no stacks")
	}
	old, err := stackNames(ctx, t.target)
	if err != nil {
		return err
	}
	// The objects of no stack come first. They include Pulumi's description of the layout.
	if err := t.objects(ctx, ""); err != nil {
		return err
	}
	for _, stack := range slices.Compact(slices.Sorted(slices.Values(append(names, old...)))) {
		if err := t.stack(ctx, stack); err != nil {
			return fmt.Errorf("%s: %w", stack, err)
		}
	}
	return nil
}

// stack copies the objects of one stack, while the stack is locked.
func (t transfer) stack(ctx context.Context, stack string) error {
	reference, err := t.backend.ParseStackReference("organization/" + stack)
	if err != nil {
		return err
	}
	if err := t.backend.Lock(ctx, reference); err != nil {
		return err
	}
	defer t.backend.(unlocker).Unlock(ctx, reference)
	return t.objects(ctx, stack)
}

// objects makes the objects of a stack equal in both backends. Without a stack, it does this for the other objects.
func (t transfer) objects(ctx context.Context, stack string) error {
	current, err := stackKeys(ctx, t.source, stack)
	if err != nil {
		return err
	}
	old, err := stackKeys(ctx, t.target, stack)
	if err != nil {
		return err
	}
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

// stackNames returns the names of all stacks, as PROJECT/STACK.
func stackNames(ctx context.Context, bucket *blob.Bucket) ([]string, error) {
	found, err := keys(ctx, bucket, stateFolder)
	var names []string
	for _, key := range found {
		name, ending, isState := strings.Cut(strings.TrimPrefix(key, stateFolder), ".json")
		if isState && !strings.HasSuffix(ending, ".bak") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// stackKeys returns the keys of a stack. The state is the last one, so that a stack in the target is complete. Without
// a stack, it returns the keys of the other objects, except for locks and markers.
func stackKeys(ctx context.Context, bucket *blob.Bucket, stack string) ([]string, error) {
	prefixes := []string{".pulumi/history/" + stack + "/", ".pulumi/backups/" + stack + "/", stateFolder + stack + ".json"}
	if stack == "" {
		prefixes = []string{".pulumi/meta.yaml", ".pulumi/tenancy-", "deleted-tenants/"}
	}
	var result []string
	for _, prefix := range prefixes {
		found, err := keys(ctx, bucket, prefix)
		if err != nil {
			return nil, err
		}
		result = append(result, found...)
	}
	return slices.DeleteFunc(result, func(key string) bool {
		return key == copyMarker || key == movedMarker || strings.HasSuffix(key, ".bak")
	}), nil
}
