// Package history prunes and numbers the updates in the history of a stack.
//
// A DIY backend of Pulumi stores two files for each update: a record and a copy of the state. It stores no
// update numbers. The number of an update is its position in the history, counted from the oldest update. Prune
// removes the oldest updates, so it writes the number of the oldest remaining update into the record of this
// update, as the configuration value PROJECT:number. Without this value, the oldest update has the number 1.
package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/encoding"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

const folder = ".pulumi/history"

// Limits says which updates Prune keeps: at most Updates updates, and only updates of the last Days days.
type Limits struct {
	Updates int
	Days    int
}

// Store is the history of all stacks in one backend.
type Store struct {
	bucket bucket
}

// bucket is the part of blob.Bucket that Store uses.
type bucket interface {
	List(options *blob.ListOptions) *blob.ListIterator
	ReadAll(ctx context.Context, key string) ([]byte, error)
	WriteAll(ctx context.Context, key string, data []byte, options *blob.WriterOptions) error
	Delete(ctx context.Context, key string) error
	Close() error
}

// Open opens the history in a DIY backend. The URL is the one that the method URL of the backend returns,
// because the backend adds options to the URL of the user. The caller imports the drivers of the schemes.
func Open(ctx context.Context, backendURL string) (*Store, error) {
	parsed, err := url.Parse(backendURL)
	if err != nil {
		return nil, errors.New("the URL of the state backend is invalid")
	}
	bucket, err := blob.OpenBucket(ctx, backendURL)
	if err != nil {
		return nil, fmt.Errorf("cannot open the state backend: %w", err)
	}
	// As in Pulumi's DIY backend, the path of a URL is a prefix of all keys, except for files.
	if prefix := strings.Trim(parsed.Path, "/"); prefix != "" && parsed.Scheme != "file" {
		bucket = blob.PrefixedBucket(bucket, prefix+"/")
	}
	return &Store{bucket}, nil
}

// Close releases the connections of the store.
func (s *Store) Close() error {
	return s.bucket.Close()
}

// update is one update of a stack. The last file is the record.
type update struct {
	files []string
	time  time.Time
}

func (u update) record() string {
	return u.files[len(u.files)-1]
}

// Number returns the number of the stack's newest update, or 0 if there is no update. It reads one file.
func (s *Store) Number(ctx context.Context, project, stack string) (int, error) {
	updates, err := s.updates(ctx, project, stack)
	if err != nil || len(updates) == 0 {
		return 0, err
	}
	oldest, err := s.number(ctx, project, updates[0])
	return oldest + len(updates) - 1, err
}

// Count returns the number of updates in the stack's history, and how many of them Prune would remove. It lists
// the stack's files and reads none.
func (s *Store) Count(
	ctx context.Context, project, stack string, limits Limits, now time.Time,
) (total, toRemove int, err error) {
	updates, err := s.updates(ctx, project, stack)
	return len(updates), expired(updates, limits, now), err
}

// Prune removes the updates of one stack that exceed the limits, but never the newest update. It returns how
// many updates it has removed. The caller holds the stack's lock.
//
// If Prune ends at any moment, the numbers are still correct: an update gets its number before the older update
// is removed.
func (s *Store) Prune(
	ctx context.Context, project, stack string, limits Limits, now time.Time,
) (int, error) {
	updates, err := s.updates(ctx, project, stack)
	if err != nil {
		return 0, err
	}
	count := expired(updates, limits, now)
	if count == 0 {
		return 0, nil
	}
	number, err := s.number(ctx, project, updates[0])
	if err != nil {
		return 0, err
	}
	for i := range count {
		if err := s.writeNumber(ctx, project, updates[i+1], number+i+1); err != nil {
			return i, err
		}
		// The record is the last file, so that no copy of a state stays without its record.
		for _, file := range updates[i].files {
			if err := s.bucket.Delete(ctx, file); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
				return i, fmt.Errorf("cannot remove %s: %w", file, err)
			}
		}
	}
	return count, nil
}

// expired returns how many of the oldest updates exceed the limits.
func expired(updates []update, limits Limits, now time.Time) int {
	oldestTime := now.AddDate(0, 0, -limits.Days)
	count := max(0, len(updates)-limits.Updates)
	for count < len(updates) && updates[count].time.Before(oldestTime) {
		count++
	}
	return max(0, min(count, len(updates)-1))
}

// updates lists the updates of a stack, oldest first. Its cost depends only on the history of this stack.
func (s *Store) updates(ctx context.Context, project, stack string) ([]update, error) {
	list := s.bucket.List(&blob.ListOptions{Prefix: path.Join(folder, project, stack) + "/", Delimiter: "/"})
	var updates []update
	var files []string
	for {
		// The order of the keys is the order of the updates. The copy of the state comes before the record.
		object, err := list.Next(ctx)
		if errors.Is(err, io.EOF) || gcerrors.Code(err) == gcerrors.NotFound {
			return updates, nil
		}
		if err != nil {
			return nil, fmt.Errorf("cannot list the history of %s: %w", stack, err)
		}
		started, kind, isUpdate := parsed(path.Base(object.Key), stack)
		if object.IsDir || !isUpdate {
			continue
		}
		files = append(files, object.Key)
		if kind == "history" {
			updates = append(updates, update{files, started})
			files = nil
		}
	}
}

// parsed splits the name of a file, STACK-NANOSECONDS.KIND.json, which can also end in .gz or .zst.
func parsed(name, stack string) (time.Time, string, bool) {
	rest, isOfStack := strings.CutPrefix(name, stack+"-")
	parts := strings.Split(rest, ".")
	if !isOfStack || len(parts) < 3 || parts[2] != "json" || (parts[1] != "history" && parts[1] != "checkpoint") {
		return time.Time{}, "", false
	}
	nanoseconds, err := strconv.ParseInt(parts[0], 10, 64)
	return time.Unix(0, nanoseconds), parts[1], err == nil
}

// number returns the number in the record of the stack's oldest update.
func (s *Store) number(ctx context.Context, project string, oldest update) (int, error) {
	_, _, config, err := s.read(ctx, oldest)
	if err != nil {
		return 0, err
	}
	var text string
	if json.Unmarshal(config[numberKey(project)], &text) == nil {
		if number, err := strconv.Atoi(text); err == nil && number > 0 {
			return number, nil
		}
	}
	return 1, nil
}

// writeNumber stores the number of an update in its record. Everything else in the record stays as it is.
func (s *Store) writeNumber(ctx context.Context, project string, update update, number int) error {
	format, record, config, err := s.read(ctx, update)
	if err != nil {
		return err
	}
	value, err := json.Marshal(strconv.Itoa(number))
	if err != nil {
		return err
	}
	if string(config[numberKey(project)]) == string(value) {
		return nil
	}
	if config == nil {
		config = map[string]json.RawMessage{}
	}
	config[numberKey(project)] = value
	if record["config"], err = json.Marshal(config); err != nil {
		return err
	}
	data, err := format.Marshal(record)
	if err != nil {
		return err
	}
	if err := s.bucket.WriteAll(ctx, update.record(), data, nil); err != nil {
		return fmt.Errorf("cannot write %s: %w", update.record(), err)
	}
	return nil
}

// read returns the format of an update's record, its fields, and its configuration.
func (s *Store) read(
	ctx context.Context, update update,
) (encoding.Marshaler, map[string]json.RawMessage, map[string]json.RawMessage, error) {
	data, err := s.bucket.ReadAll(ctx, update.record())
	if err != nil {
		return nil, nil, nil, fmt.Errorf("cannot read %s: %w", update.record(), err)
	}
	format := encoding.Compress(encoding.JSON, encoding.DetectCompression(data))
	var record, config map[string]json.RawMessage
	if err := format.Unmarshal(data, &record); err != nil {
		return nil, nil, nil, fmt.Errorf("cannot read %s: %w", update.record(), err)
	}
	if record["config"] != nil {
		if err := json.Unmarshal(record["config"], &config); err != nil {
			return nil, nil, nil, fmt.Errorf("cannot read the configuration in %s: %w", update.record(), err)
		}
	}
	return format, record, config, nil
}

func numberKey(project string) string {
	return project + ":number"
}
