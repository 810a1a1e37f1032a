package main

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"

	"github.com/pulumi/pulumi/pkg/v3/backend/diy"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
)

// listRecorder is a bucket that records the prefixes of all lists.
type listRecorder struct {
	stackFiles
	prefixes *[]string
}

func (r listRecorder) ListPaged(ctx context.Context, options *driver.ListOptions) (*driver.ListPage, error) {
	*r.prefixes = append(*r.prefixes, options.Prefix)
	return r.stackFiles.ListPaged(ctx, options)
}

func TestStateIsReadAndSavedWithoutAListOfAllStacks(t *testing.T) {
	ctx, folder := context.Background(), t.TempDir()
	var prefixes []string
	files, err := openBucket(ctx, "file://"+folder)
	if err != nil {
		t.Fatal(err)
	}
	inner := blob.NewBucket(listRecorder{stackFiles{files: files, listing: &sync.Mutex{}}, &prefixes})
	bucket := blob.NewBucket(stackFiles{files: inner, listing: &sync.Mutex{}})
	address := openedURL(bucket)
	backend, err := diy.New(ctx, discard, address, &workspace.Project{Name: "tenancy"})
	if err != nil {
		t.Fatal(err)
	}
	prefixes = nil // To open a new backend, Pulumi lists all stacks once.
	reference, err := backend.ParseStackReference("tenant-a")
	if err != nil {
		t.Fatal(err)
	}
	stack, err := backend.CreateStack(ctx, reference, folder, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	deployment := &apitype.UntypedDeployment{Version: 3, Deployment: []byte(`{"manifest":{}}`)}
	if err := backend.ImportDeployment(ctx, stack, deployment); err != nil {
		t.Fatal(err)
	}
	if stack, err := backend.GetStack(ctx, reference); err != nil || stack == nil {
		t.Fatalf("the stack is missing: %v", err)
	}
	locks := ".pulumi/locks/organization/tenancy/tenant-a/"
	for _, prefix := range prefixes {
		if prefix != locks {
			t.Errorf("the prefix %q was listed", prefix)
		}
	}
	if len(prefixes) == 0 {
		t.Error("the locks were not listed")
	}
}

func TestUnsupportedBackendIsRejected(t *testing.T) {
	for _, address := range []string{"gs://bucket", "azblob://bucket", "https://api.example", "mem://"} {
		if _, _, err := openBackend(context.Background(), address, nil); err == nil {
			t.Errorf("%s was opened", address)
		}
	}
}

func TestRelativeFolderIsRejected(t *testing.T) {
	for _, address := range []string{"file://state", "file://~/state", "file://./state"} {
		if _, _, err := openBackend(context.Background(), address, nil); err == nil {
			t.Errorf("%s was opened", address)
		}
	}
}

func TestOnlyTheFilesOfAStateAreListed(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"a.json.gz", "a.json", "a.json.bak", "a.json.gz.bak", "ab.json", "b.json.zst"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	bucket, err := openBucket(ctx, "file://"+folder)
	if err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string][]string{
		"a.json": {"a.json", "a.json.gz"}, "b.json": {"b.json.zst"}, "c.json": nil, "a.json.": {"a.json.bak", "a.json.gz", "a.json.gz.bak"},
	} {
		var keys []string
		list := bucket.List(&blob.ListOptions{Prefix: prefix})
		for object, err := list.Next(ctx); err == nil; object, err = list.Next(ctx) {
			keys = append(keys, object.Key)
		}
		if !reflect.DeepEqual(keys, want) {
			t.Errorf("%s: got %v, want %v", prefix, keys, want)
		}
	}
	if _, err := openBucket(ctx, "file://"+folder+"/none"); err == nil {
		t.Error("a missing folder is not created, because it may be a volume that is not mounted")
	}
}
