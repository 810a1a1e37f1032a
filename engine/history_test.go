package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/encoding"
	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/blob/fileblob"
)

var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

// openHistory returns a history in a new folder, and the folder of its files.
func openHistory(t *testing.T) (history, string) {
	t.Helper()
	root := t.TempDir()
	bucket, err := fileblob.OpenBucket(root, &fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bucket.Close() })
	files := filepath.Join(root, ".pulumi", "history", "tenancy", "tenant-a")
	if err := os.MkdirAll(files, 0o700); err != nil {
		t.Fatal(err)
	}
	return history{bucket, "tenancy", "tenant-a"}, files
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

func prune(t *testing.T, stored history, kept limits) int {
	t.Helper()
	removed, err := stored.prune(context.Background(), kept, now)
	if err != nil {
		t.Fatal(err)
	}
	return removed
}

func number(t *testing.T, stored history) int {
	t.Helper()
	result, err := stored.newestNumber(context.Background())
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
	stored, files := openHistory(t)
	addUpdates(t, files, 12)
	expect(t, "number before", number(t, stored), 12)
	expect(t, "removed", prune(t, stored, limits{5, 90}), 7)
	expect(t, "updates", messages(t, files), []string{"8", "9", "10", "11", "12"})
	expect(t, "number after", number(t, stored), 12)
	addUpdate(t, files, "13", now, encoding.CompressionNone)
	expect(t, "number of a new update", number(t, stored), 13)
	expect(t, "removed again", prune(t, stored, limits{5, 90}), 1)
	expect(t, "number after the second time", number(t, stored), 13)
}

func TestOldUpdatesAreRemovedExceptTheNewest(t *testing.T) {
	stored, files := openHistory(t)
	for i, age := range []time.Duration{95 * day, 91 * day, 89 * day} {
		addUpdate(t, files, fmt.Sprint(i+1), now.Add(-age), encoding.CompressionNone)
	}
	expect(t, "removed", prune(t, stored, limits{100, 90}), 2)
	expect(t, "updates", messages(t, files), []string{"3"})
	expect(t, "removed from one old update", prune(t, stored, limits{0, 1}), 0)
	expect(t, "number", number(t, stored), 3)
}

func TestRecordKeepsItsContentAndItsCompression(t *testing.T) {
	for _, compression := range []encoding.Compression{
		encoding.CompressionNone, encoding.CompressionGzip, encoding.CompressionZstd,
	} {
		stored, files := openHistory(t)
		addUpdate(t, files, "1", now.Add(-time.Hour), compression)
		addUpdate(t, files, "2", now, compression)
		prune(t, stored, limits{1, 90})
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
	stored, files := openHistory(t)
	other := filepath.Join(filepath.Dir(files), "tenant-a-b")
	if err := os.MkdirAll(other, 0o700); err != nil {
		t.Fatal(err)
	}
	addUpdates(t, files, 3)
	addUpdates(t, other, 3)
	prune(t, stored, limits{1, 90})
	expect(t, "updates", messages(t, files), []string{"3"})
	expect(t, "updates of the other stack", messages(t, other), []string{"1", "2", "3"})
}

func TestNothingToPruneReadsAndWritesNoFile(t *testing.T) {
	stored, files := openHistory(t)
	addUpdates(t, files, 3)
	records, _ := filepath.Glob(filepath.Join(files, "*"))
	for _, file := range records {
		if err := os.WriteFile(file, []byte("cannot be parsed"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, "removed", prune(t, stored, limits{3, 90}), 0)
	stored.stack = "tenant-none"
	expect(t, "removed without a history", prune(t, stored, limits{3, 90}), 0)
	expect(t, "number without a history", number(t, stored), 0)
}

func TestDamagedRecordIsReported(t *testing.T) {
	for _, content := range []string{"", "null", "[]", "{"} {
		stored, files := openHistory(t)
		addUpdates(t, files, 2)
		records, _ := filepath.Glob(filepath.Join(files, "*.history.json"))
		if err := os.WriteFile(records[0], []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, numberErr := stored.newestNumber(context.Background())
		_, pruneErr := stored.prune(context.Background(), limits{1, 90}, now)
		if numberErr == nil || pruneErr == nil {
			t.Errorf("%q: got %v and %v", content, numberErr, pruneErr)
		}
	}
}

func TestWrongNumberInALaterRecordIsIgnored(t *testing.T) {
	stored, files := openHistory(t)
	addUpdates(t, files, 3)
	records, _ := filepath.Glob(filepath.Join(files, "*.history.json"))
	data, _ := os.ReadFile(records[1])
	changed := bytes.Replace(data, []byte(`"tenancy:update"`), []byte(`"tenancy:number":"77","tenancy:update"`), 1)
	if err := os.WriteFile(records[1], changed, 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, "number", number(t, stored), 3)
	prune(t, stored, limits{2, 90})
	expect(t, "number after pruning", number(t, stored), 3)
}

// stopping is a bucket that fails after some writes and deletions, as after a crash.
type stopping struct {
	stackFiles
	left *int
}

func (s stopping) change() error {
	if *s.left--; *s.left < 0 {
		return errors.New("stopped")
	}
	return nil
}

func (s stopping) NewTypedWriter(
	ctx context.Context, key, contentType string, options *driver.WriterOptions,
) (driver.Writer, error) {
	if err := s.change(); err != nil {
		return nil, err
	}
	return s.stackFiles.NewTypedWriter(ctx, key, contentType, options)
}

func (s stopping) Delete(ctx context.Context, key string, options *driver.DeleteOptions) error {
	if err := s.change(); err != nil {
		return err
	}
	return s.stackFiles.Delete(ctx, key, options)
}

func TestNumbersAreCorrectWhereverPruningStops(t *testing.T) {
	// Three updates are removed: for each of them, one write and two deletions.
	for changes := range 9 {
		stored, files := openHistory(t)
		addUpdates(t, files, 5)
		bucket := stackFiles{files: stored.bucket, listing: &sync.Mutex{}}
		stopped := history{blob.NewBucket(stopping{bucket, &changes}), "tenancy", "tenant-a"}
		removed, err := stopped.prune(context.Background(), limits{2, 90}, now)
		if err == nil {
			t.Fatalf("pruning did not stop after %d changes", changes)
		}
		remaining, _ := filepath.Glob(filepath.Join(files, "*.history.json"))
		expect(t, "removed", removed, 5-len(remaining))
		expect(t, "number", number(t, stored), 5)
		expect(t, "removed later", prune(t, stored, limits{2, 90}), 3-removed)
		expect(t, "updates", messages(t, files), []string{"4", "5"})
		expect(t, "number at the end", number(t, stored), 5)
	}
}
