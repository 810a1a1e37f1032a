package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/pulumi/pulumi/sdk/v3/go/common/encoding"
)

// history is the history of one stack. A DIY backend of Pulumi stores two objects for each update: a record and a
// copy of the state. It stores no update numbers. The number of an update is its position in the history, counted
// from the oldest update. The method prune removes the oldest updates, so it writes the number of the oldest
// remaining update into the record of this update, as the configuration value PROJECT:number. Without this value,
// the oldest update has the number 1.
type history struct {
	bucket  *blob.Bucket
	project string
	stack   string
}

// limits says which updates are kept: at most `updates` updates, and only updates of the last `days` days.
type limits struct{ updates, days int }

// update is one update of a stack. The last of its keys is the key of the record.
type update struct {
	keys []string
	time time.Time
}

func (u update) record() string { return u.keys[len(u.keys)-1] }

// newestNumber returns the number of the newest update, or 0 if there is no update. It reads one record.
func (h history) newestNumber(ctx context.Context) (int, error) {
	updates, err := h.updates(ctx)
	if err != nil || len(updates) == 0 {
		return 0, err
	}
	oldest, err := h.oldestNumber(ctx, updates)
	if err != nil {
		return 0, err
	}
	return oldest + len(updates) - 1, nil
}

// prune removes the updates that exceed the limits, and returns how many it has removed. The caller holds the stack's
// lock.
//
// If prune ends at any moment, the numbers are still correct: an update gets its number before the older update is
// removed.
func (h history) prune(ctx context.Context, kept limits, now time.Time) (int, error) {
	updates, err := h.updates(ctx)
	count := kept.expired(updates, now)
	if err != nil || count == 0 {
		return 0, err
	}
	oldest, err := h.oldestNumber(ctx, updates)
	if err != nil {
		return 0, err
	}
	for i := range count {
		if err := h.writeNumber(ctx, updates[i+1], oldest+i+1); err != nil {
			return i, err
		}
		// The record is the last object, so that no copy of a state stays without its record.
		for _, key := range updates[i].keys {
			if err := h.bucket.Delete(ctx, key); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
				return i, fmt.Errorf("cannot remove %s: %w", key, err)
			}
		}
	}
	return count, nil
}

// expired returns how many of the oldest updates exceed the limits. The newest update is always kept.
func (l limits) expired(updates []update, now time.Time) int {
	oldestTime := now.AddDate(0, 0, -l.days)
	count := max(0, len(updates)-l.updates)
	for count < len(updates) && updates[count].time.Before(oldestTime) {
		count++
	}
	return max(0, min(count, len(updates)-1))
}

// updates lists the updates, oldest first. Its cost depends only on the history of this stack.
func (h history) updates(ctx context.Context) ([]update, error) {
	folder := path.Join(".pulumi/history", h.project, h.stack) + "/"
	// The name can also end in .gz or .zst.
	name := regexp.MustCompile("^" + regexp.QuoteMeta(folder+h.stack) + `-(\d+)\.(checkpoint|history)\.json\b`)
	list := h.bucket.List(&blob.ListOptions{Prefix: folder, Delimiter: "/"})
	var updates []update
	var keys []string
	for {
		// The order of the keys is the order of the updates. The copy of the state comes before the record.
		object, err := list.Next(ctx)
		if errors.Is(err, io.EOF) || gcerrors.Code(err) == gcerrors.NotFound {
			return updates, nil
		}
		if err != nil {
			return nil, fmt.Errorf("cannot list the history of %s: %w", h.stack, err)
		}
		match := name.FindStringSubmatch(object.Key)
		if match == nil {
			continue
		}
		keys = append(keys, object.Key)
		if nanoseconds, err := strconv.ParseInt(match[1], 10, 64); match[2] == "history" && err == nil {
			updates = append(updates, update{keys, time.Unix(0, nanoseconds)})
			keys = nil
		}
	}
}

// record is the content of an update's record.
type record struct {
	fields, config map[string]any
	// format is the encoding of the record, such as compressed JSON.
	format encoding.Marshaler
}

func (h history) read(ctx context.Context, update update) (result record, err error) {
	data, err := h.bucket.ReadAll(ctx, update.record())
	if err == nil {
		result.format = encoding.Compress(encoding.JSON, encoding.DetectCompression(data))
		err = result.format.Unmarshal(data, &result.fields)
	}
	if err == nil && result.fields == nil {
		err = errors.New("it is empty")
	}
	if err != nil {
		return record{}, fmt.Errorf("cannot read %s: %w", update.record(), err)
	}
	result.config, _ = result.fields["config"].(map[string]any)
	return result, nil
}

func (h history) numberKey() string { return h.project + ":number" }

// oldestNumber returns the number of the oldest update.
func (h history) oldestNumber(ctx context.Context, updates []update) (int, error) {
	record, err := h.read(ctx, updates[0])
	text, _ := record.config[h.numberKey()].(string)
	if number, invalid := strconv.Atoi(text); invalid == nil && number > 0 {
		return number, nil
	}
	return 1, err
}

// writeNumber stores the number of an update in its record. Everything else in the record stays as it is.
func (h history) writeNumber(ctx context.Context, update update, number int) error {
	record, err := h.read(ctx, update)
	if err != nil {
		return err
	}
	if record.config == nil {
		record.config = map[string]any{}
	}
	record.config[h.numberKey()] = strconv.Itoa(number)
	record.fields["config"] = record.config
	data, err := record.format.Marshal(record.fields)
	if err == nil {
		err = h.bucket.WriteAll(ctx, update.record(), data, nil)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", update.record(), err)
	}
	return nil
}
