package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/encoding"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/fileblob"
)

var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

// openStore opens a store in a new folder, and returns the folder of the stack's history.
func openStore(t *testing.T, stack string) (*Store, string) {
	t.Helper()
	root := t.TempDir()
	store, err := Open(context.Background(), "file://"+root+"?metadata=skip&no_tmp_dir=true")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	files := filepath.Join(root, ".pulumi", "history", "tenancy", stack)
	if err := os.MkdirAll(files, 0o700); err != nil {
		t.Fatal(err)
	}
	return store, files
}

// addUpdate writes the files of one update, in the format of Pulumi's DIY backend.
func addUpdate(t *testing.T, files, message string, started time.Time, compression encoding.Compression) {
	t.Helper()
	name := fmt.Sprintf("%s-%d", filepath.Base(files), started.UnixNano())
	record := map[string]any{
		"kind": "update", "startTime": started.Unix(), "message": message, "version": 0, "result": "succeeded",
		"config": map[string]string{"tenancy:update": `{"spec":{"a":"<&>"}}`},
	}
	for kind, content := range map[string]any{"history": record, "checkpoint": map[string]int{"version": 3}} {
		data, err := encoding.Compress(encoding.JSON, compression).Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(files, name+"."+kind+".json"+compression.Ext())
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// addUpdates writes updates with the messages 1, 2 and so on, one per hour. The newest is one hour old.
func addUpdates(t *testing.T, files string, count int) {
	t.Helper()
	for i := range count {
		started := now.Add(time.Duration(i-count) * time.Hour)
		addUpdate(t, files, fmt.Sprint(i+1), started, encoding.CompressionNone)
	}
}

// messages returns the messages of the remaining updates, oldest first. It fails if a copy of a state has no
// record, or the reverse.
func messages(t *testing.T, files string) []string {
	t.Helper()
	records, _ := filepath.Glob(filepath.Join(files, "*.history.json*"))
	copies, _ := filepath.Glob(filepath.Join(files, "*.checkpoint.json*"))
	if len(records) != len(copies) {
		t.Fatalf("%d records, but %d copies of the state", len(records), len(copies))
	}
	var result []string
	for _, file := range records {
		result = append(result, fmt.Sprint(read(t, file)["message"]))
	}
	return result
}

func read(t *testing.T, file string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var record map[string]any
	format := encoding.Compress(encoding.JSON, encoding.DetectCompression(data))
	if err := format.Unmarshal(data, &record); err != nil {
		t.Fatal(err)
	}
	return record
}

func prune(t *testing.T, store *Store, stack string, limits Limits) int {
	t.Helper()
	removed, err := store.Prune(context.Background(), "tenancy", stack, limits, now)
	if err != nil {
		t.Fatal(err)
	}
	return removed
}

func number(t *testing.T, store *Store, stack string) int {
	t.Helper()
	result, err := store.Number(context.Background(), "tenancy", stack)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func expect[T any](t *testing.T, what string, actual, expected T) {
	t.Helper()
	if fmt.Sprint(actual) != fmt.Sprint(expected) {
		t.Errorf("%s: %v instead of %v", what, actual, expected)
	}
}

func TestNewestUpdatesStayAndKeepTheirNumbers(t *testing.T) {
	store, files := openStore(t, "tenant-a")
	addUpdates(t, files, 12)
	expect(t, "number before", number(t, store, "tenant-a"), 12)
	expect(t, "removed", prune(t, store, "tenant-a", Limits{5, 90}), 7)
	expect(t, "updates", messages(t, files), []string{"8", "9", "10", "11", "12"})
	expect(t, "number after", number(t, store, "tenant-a"), 12)
	addUpdate(t, files, "13", now, encoding.CompressionNone)
	expect(t, "number of a new update", number(t, store, "tenant-a"), 13)
	expect(t, "removed again", prune(t, store, "tenant-a", Limits{5, 90}), 1)
	expect(t, "number after the second time", number(t, store, "tenant-a"), 13)
}

func TestOldUpdatesAreRemovedExceptTheNewest(t *testing.T) {
	store, files := openStore(t, "tenant-a")
	for i, age := range []time.Duration{95 * day, 91 * day, 89 * day} {
		addUpdate(t, files, fmt.Sprint(i+1), now.Add(-age), encoding.CompressionNone)
	}
	expect(t, "removed", prune(t, store, "tenant-a", Limits{100, 90}), 2)
	expect(t, "updates", messages(t, files), []string{"3"})
	expect(t, "removed from one old update", prune(t, store, "tenant-a", Limits{0, 1}), 0)
	expect(t, "number", number(t, store, "tenant-a"), 3)
}

func TestRecordKeepsItsContentAndItsCompression(t *testing.T) {
	for _, compression := range []encoding.Compression{
		encoding.CompressionNone, encoding.CompressionGzip, encoding.CompressionZstd,
	} {
		store, files := openStore(t, "tenant-a")
		addUpdate(t, files, "1", now.Add(-time.Hour), compression)
		addUpdate(t, files, "2", now, compression)
		prune(t, store, "tenant-a", Limits{1, 90})
		found, _ := filepath.Glob(filepath.Join(files, "*.history.json"+compression.Ext()))
		expect(t, "records", len(found), 1)
		data, _ := os.ReadFile(found[0])
		expect(t, "compression", encoding.DetectCompression(data), compression)
		config, _ := json.Marshal(read(t, found[0])["config"])
		expected, _ := json.Marshal(map[string]string{
			"tenancy:update": `{"spec":{"a":"<&>"}}`, "tenancy:number": "2",
		})
		expect(t, "config", string(config), string(expected))
		expect(t, "start", read(t, found[0])["startTime"], any(float64(now.Unix())))
	}
}

func TestOtherStacksAreNotTouched(t *testing.T) {
	store, files := openStore(t, "tenant-a")
	other := filepath.Join(filepath.Dir(files), "tenant-a-b")
	if err := os.MkdirAll(other, 0o700); err != nil {
		t.Fatal(err)
	}
	addUpdates(t, files, 3)
	addUpdates(t, other, 3)
	prune(t, store, "tenant-a", Limits{1, 90})
	expect(t, "updates", messages(t, files), []string{"3"})
	expect(t, "updates of the other stack", messages(t, other), []string{"1", "2", "3"})
}

func TestNothingToPruneReadsAndWritesNoFile(t *testing.T) {
	store, files := openStore(t, "tenant-a")
	addUpdates(t, files, 3)
	records, _ := filepath.Glob(filepath.Join(files, "*"))
	for _, file := range records {
		if err := os.WriteFile(file, []byte("cannot be parsed"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, "removed", prune(t, store, "tenant-a", Limits{3, 90}), 0)
	expect(t, "removed without a history", prune(t, store, "tenant-none", Limits{3, 90}), 0)
	expect(t, "number without a history", number(t, store, "tenant-none"), 0)
	total, toRemove, err := store.Count(context.Background(), "tenancy", "tenant-a", Limits{1, 90}, now)
	expect(t, "total", total, 3)
	expect(t, "to remove", toRemove, 2)
	expect(t, "error", err, nil)
}

func TestWrongNumberInALaterRecordIsIgnored(t *testing.T) {
	store, files := openStore(t, "tenant-a")
	addUpdates(t, files, 3)
	records, _ := filepath.Glob(filepath.Join(files, "*.history.json"))
	data, _ := os.ReadFile(records[1])
	changed := bytes.Replace(data, []byte(`"tenancy:update"`), []byte(`"tenancy:number":"77","tenancy:update"`), 1)
	if err := os.WriteFile(records[1], changed, 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, "number", number(t, store, "tenant-a"), 3)
	prune(t, store, "tenant-a", Limits{2, 90})
	expect(t, "number after pruning", number(t, store, "tenant-a"), 3)
}

// stopping is a bucket that fails after some writes and deletions, as after a crash.
type stopping struct {
	bucket
	left int
}

func (s *stopping) WriteAll(ctx context.Context, key string, data []byte, options *blob.WriterOptions) error {
	if s.left--; s.left < 0 {
		return errors.New("stopped")
	}
	return s.bucket.WriteAll(ctx, key, data, options)
}

func (s *stopping) Delete(ctx context.Context, key string) error {
	if s.left--; s.left < 0 {
		return errors.New("stopped")
	}
	return s.bucket.Delete(ctx, key)
}

func TestNumbersAreCorrectWhereverPruningStops(t *testing.T) {
	// Three updates are removed: for each of them, one write and two deletions.
	for changes := range 9 {
		store, files := openStore(t, "tenant-a")
		addUpdates(t, files, 5)
		stopped := &Store{&stopping{store.bucket, changes}}
		removed, err := stopped.Prune(context.Background(), "tenancy", "tenant-a", Limits{2, 90}, now)
		if err == nil {
			t.Fatalf("pruning did not stop after %d changes", changes)
		}
		remaining, _ := filepath.Glob(filepath.Join(files, "*.history.json"))
		expect(t, "removed", removed, 5-len(remaining))
		expect(t, "number", number(t, store, "tenant-a"), 5)
		expect(t, "removed later", prune(t, store, "tenant-a", Limits{2, 90}), 3-removed)
		expect(t, "updates", messages(t, files), []string{"4", "5"})
		expect(t, "number at the end", number(t, store, "tenant-a"), 5)
	}
}
