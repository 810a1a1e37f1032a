package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
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
	objects objects
	project string
	stack   string
}

// objects is the part of blob.Bucket that a history uses.
type objects interface {
	List(options *blob.ListOptions) *blob.ListIterator
	ReadAll(ctx context.Context, key string) ([]byte, error)
	WriteAll(ctx context.Context, key string, data []byte, options *blob.WriterOptions) error
	Delete(ctx context.Context, key string) error
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
	record, err := h.read(ctx, updates[0])
	return record.number() + len(updates) - 1, err
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
	oldest, err := h.read(ctx, updates[0])
	if err != nil {
		return 0, err
	}
	for i := range count {
		if err := h.writeNumber(ctx, updates[i+1], oldest.number()+i+1); err != nil {
			return i, err
		}
		// The record is the last object, so that no copy of a state stays without its record.
		for _, key := range updates[i].keys {
			if err := h.objects.Delete(ctx, key); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
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
	list := h.objects.List(&blob.ListOptions{Prefix: folder, Delimiter: "/"})
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
		// A name is STACK-NANOSECONDS.KIND.json, and can also end in .gz or .zst.
		name, isOfStack := strings.CutPrefix(object.Key, folder+h.stack+"-")
		parts := strings.Split(name, ".")
		nanoseconds, err := strconv.ParseInt(parts[0], 10, 64)
		if !isOfStack || err != nil || len(parts) < 3 || parts[2] != "json" {
			continue
		}
		switch parts[1] {
		case "checkpoint":
			keys = append(keys, object.Key)
		case "history":
			updates = append(updates, update{append(keys, object.Key), time.Unix(0, nanoseconds)})
			keys = nil
		}
	}
}

// record is the record of an update. It keeps the fields that this program does not know.
type record struct {
	format    encoding.Marshaler
	fields    map[string]json.RawMessage
	config    map[string]json.RawMessage
	numberKey string
}

func (h history) read(ctx context.Context, update update) (record, error) {
	data, err := h.objects.ReadAll(ctx, update.record())
	if err != nil {
		return record{}, fmt.Errorf("cannot read %s: %w", update.record(), err)
	}
	result := record{
		format:    encoding.Compress(encoding.JSON, encoding.DetectCompression(data)),
		config:    map[string]json.RawMessage{},
		numberKey: h.project + ":number",
	}
	err = result.format.Unmarshal(data, &result.fields)
	if err == nil && result.fields["config"] != nil {
		err = json.Unmarshal(result.fields["config"], &result.config)
	}
	if err != nil {
		return record{}, fmt.Errorf("cannot read %s: %w", update.record(), err)
	}
	return result, nil
}

// number returns the number in the record of the stack's oldest update.
func (r record) number() int {
	var text string
	if json.Unmarshal(r.config[r.numberKey], &text) == nil {
		if number, err := strconv.Atoi(text); err == nil && number > 0 {
			return number
		}
	}
	return 1
}

// writeNumber stores the number of an update in its record. Everything else in the record stays as it is.
func (h history) writeNumber(ctx context.Context, update update, number int) error {
	record, err := h.read(ctx, update)
	if err != nil {
		return err
	}
	value := strconv.Quote(strconv.Itoa(number))
	if string(record.config[record.numberKey]) == value {
		return nil
	}
	record.config[record.numberKey] = json.RawMessage(value)
	if record.fields["config"], err = json.Marshal(record.config); err != nil {
		return err
	}
	data, err := record.format.Marshal(record.fields)
	if err != nil {
		return err
	}
	if err := h.objects.WriteAll(ctx, update.record(), data, nil); err != nil {
		return fmt.Errorf("cannot write %s: %w", update.record(), err)
	}
	return nil
}
