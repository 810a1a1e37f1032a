package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/s3blob"
	"gocloud.dev/gcerrors"

	"github.com/pulumi/pulumi/pkg/v3/backend/diy"
	"github.com/pulumi/pulumi/pkg/v3/backend/diy/postgres"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag/colors"
	"github.com/pulumi/pulumi/sdk/v3/go/common/encoding"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
)

// errMissing means that there is no object with this key.
var errMissing = errors.New("no such object")

// opened counts the backends that this process has opened.
var opened atomic.Int64

// openBackend opens the state backend with this address. It also returns the objects that the backend stores, because
// the interface of the backend does not give access to the numbers of updates. The backend logs errors to the standard
// error. The only such error is that it could not delete a lock. The next operation of this process deletes the lock.
func openBackend(ctx context.Context, address string, project *workspace.Project) (diy.Backend, *blob.Bucket, error) {
	bucket, err := openBucket(ctx, address)
	if err != nil {
		return nil, nil, err
	}
	// Pulumi changes the copy requests of its S3 buckets for the servers of some vendors, so it opens them itself.
	if !strings.HasPrefix(address, s3blob.Scheme+"://") {
		address = openedURL(bucket)
	}
	messages := diag.DefaultSink(os.Stderr, os.Stderr, diag.FormatOptions{Color: colors.Never})
	backend, err := diy.New(ctx, messages, address, project)
	if err != nil {
		return nil, nil, err
	}
	return backend, bucket, nil
}

// openBucket opens the objects that the backend with this address stores.
func openBucket(ctx context.Context, address string) (*blob.Bucket, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		// The original error contains the URL, and the URL may contain a password.
		return nil, errors.New("the URL of the state backend is invalid")
	}
	// As in Pulumi, the path of a URL is a prefix of all keys, except in a file backend.
	prefix := strings.Trim(parsed.Path, "/")
	switch parsed.Scheme {
	case fileblob.Scheme:
		if parsed.Host != "" {
			return nil, errors.New("the URL of a file backend needs an absolute path, as in file:///var/lib/tenancy")
		}
		// As in Pulumi, temporary files are in the same folder, which may be on another file system than the system's
		// temporary folder.
		query := parsed.Query()
		query.Set("no_tmp_dir", "true")
		parsed.RawQuery, prefix = query.Encode(), ""
	case s3blob.Scheme, postgres.PostgresScheme:
	default:
		return nil, fmt.Errorf("backends with the scheme %q are not supported: use file, s3 or postgres", parsed.Scheme)
	}
	bucket, err := blob.OpenBucket(ctx, parsed.String())
	if err != nil {
		return nil, fmt.Errorf("unable to open bucket: %w", err)
	}
	if prefix != "" {
		bucket = blob.PrefixedBucket(bucket, prefix+"/")
	}
	if parsed.Scheme == s3blob.Scheme {
		return bucket, nil
	}
	return blob.NewBucket(stackFiles{files: bucket, listing: &sync.Mutex{}}), nil
}

// openedURL returns a URL with which Pulumi opens this bucket. It is valid in this process only, and contains no
// password.
func openedURL(bucket *blob.Bucket) string {
	scheme := fmt.Sprintf("tenancy-%d", opened.Add(1))
	blob.DefaultURLMux().RegisterBucket(scheme, openedBucket{bucket})
	return scheme + "://state"
}

// openedBucket is a blob.BucketURLOpener that always returns the same bucket.
type openedBucket struct{ bucket *blob.Bucket }

func (o openedBucket) OpenBucketURL(context.Context, *url.URL) (*blob.Bucket, error) {
	return o.bucket, nil
}

// stackFiles is a backend in which the state of a stack is found without listing the states of all stacks.
//
// The name of a state file ends in .json, .json.gz or .json.zst. Before each use of a state, Pulumi lists the names
// that start with STACK.json. For each such list, a file backend reads the whole folder, so the cost of an update
// would grow with the number of stacks.
type stackFiles struct {
	driver.Bucket // not set: Pulumi calls only the methods below
	files         *blob.Bucket
	// listing ensures that there is only one list at a time. A list in a PostgreSQL backend needs two connections of
	// a small pool. Several lists would take one connection each, and wait for the second one forever.
	listing *sync.Mutex
}

// ListPaged lists objects. If the prefix is the name of a state, it looks for the possible files of this state only.
func (s stackFiles) ListPaged(ctx context.Context, options *driver.ListOptions) (*driver.ListPage, error) {
	page := &driver.ListPage{}
	if strings.HasSuffix(options.Prefix, encoding.JSONExt) {
		for _, ending := range []string{"", encoding.GZIPExt, encoding.ZSTDExt} {
			key := options.Prefix + ending
			attributes, err := s.files.Attributes(ctx, key)
			if gcerrors.Code(err) == gcerrors.NotFound {
				continue
			}
			if err != nil {
				return nil, err
			}
			page.Objects = append(page.Objects, &driver.ListObject{
				Key: key, ModTime: attributes.ModTime, Size: attributes.Size,
			})
		}
		return page, nil
	}
	s.listing.Lock()
	defer s.listing.Unlock()
	objects := s.files.List(&blob.ListOptions{Prefix: options.Prefix, Delimiter: options.Delimiter})
	for {
		object, err := objects.Next(ctx)
		if errors.Is(err, io.EOF) {
			return page, nil
		}
		if err != nil {
			return nil, err
		}
		page.Objects = append(page.Objects, &driver.ListObject{
			Key: object.Key, ModTime: object.ModTime, Size: object.Size, IsDir: object.IsDir,
		})
	}
}

// The other methods only call the original bucket.

func (s stackFiles) ErrorCode(err error) gcerrors.ErrorCode {
	if errors.Is(err, errMissing) {
		return gcerrors.NotFound
	}
	return gcerrors.Code(err)
}

func (s stackFiles) Attributes(ctx context.Context, key string) (*driver.Attributes, error) {
	attributes, err := s.files.Attributes(ctx, key)
	if err != nil {
		return nil, err
	}
	return &driver.Attributes{ModTime: attributes.ModTime, Size: attributes.Size}, nil
}

func (s stackFiles) NewRangeReader(
	ctx context.Context, key string, offset, length int64, _ *driver.ReaderOptions,
) (driver.Reader, error) {
	reader, err := s.files.NewRangeReader(ctx, key, offset, length, nil)
	return fileReader{reader}, err
}

func (s stackFiles) NewTypedWriter(
	ctx context.Context, key, contentType string, _ *driver.WriterOptions,
) (driver.Writer, error) {
	return s.files.NewWriter(ctx, key, &blob.WriterOptions{ContentType: contentType})
}

func (s stackFiles) Copy(ctx context.Context, target, source string, _ *driver.CopyOptions) error {
	return s.files.Copy(ctx, target, source, nil)
}

func (s stackFiles) Delete(ctx context.Context, key string, _ *driver.DeleteOptions) error {
	err := s.files.Delete(ctx, key)
	// In a PostgreSQL backend, the error does not tell that there is no such object.
	if err != nil {
		if exists, problem := s.files.Exists(ctx, key); problem == nil && !exists {
			return errMissing
		}
	}
	return err
}

func (s stackFiles) Close() error { return s.files.Close() }

// fileReader reads one file.
type fileReader struct{ *blob.Reader }

func (r fileReader) Attributes() *driver.ReaderAttributes {
	return &driver.ReaderAttributes{ContentType: r.ContentType(), ModTime: r.ModTime(), Size: r.Size()}
}
