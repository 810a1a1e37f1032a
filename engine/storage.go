package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/gcerrors"

	"github.com/pulumi/pulumi/pkg/v3/backend/diy"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag/colors"
	"github.com/pulumi/pulumi/sdk/v3/go/common/encoding"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
)

// stackFileScheme is the scheme of the URLs that open a file backend as `stackFiles`.
const stackFileScheme = "tenancy-file"

func init() {
	blob.DefaultURLMux().RegisterBucket(stackFileScheme, stackFiles{})
}

// openBackend opens the state backend with this address. It also returns the objects that the backend stores, because
// the interface of the backend does not give access to the numbers of updates. The backend logs errors to the standard
// error. The only such error is that it could not delete a lock. The next operation of this process deletes the lock.
func openBackend(ctx context.Context, address string, project *workspace.Project) (diy.Backend, *blob.Bucket, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		// The original error contains the URL, and the URL may contain a password.
		return nil, nil, errors.New("the URL of the state backend is invalid")
	}
	// As in Pulumi, the path of a URL is a prefix of all keys, except in a file backend.
	prefix := strings.Trim(parsed.Path, "/")
	if parsed.Scheme == fileblob.Scheme {
		if parsed.Host != "" {
			return nil, nil, errors.New("the URL of a file backend needs an absolute path, as in file:///var/lib/tenancy")
		}
		address, prefix = stackFilesURL(*parsed), ""
	}
	messages := diag.DefaultSink(os.Stderr, os.Stderr, diag.FormatOptions{Color: colors.Never})
	backend, err := diy.New(ctx, messages, address, project)
	if err != nil {
		return nil, nil, err
	}
	bucket, err := blob.OpenBucket(ctx, address)
	if err != nil {
		return nil, nil, fmt.Errorf("unable to open bucket: %w", err)
	}
	if prefix != "" {
		bucket = blob.PrefixedBucket(bucket, prefix+"/")
	}
	return backend, bucket, nil
}

// stackFilesURL returns the URL that opens a file backend as `stackFiles`.
func stackFilesURL(files url.URL) string {
	query := files.Query()
	// As in Pulumi, temporary files are in the same folder, which may be on another file system than the system's
	// temporary folder.
	query.Set("no_tmp_dir", "true")
	files.RawQuery = query.Encode()
	return stackFileScheme + "://state?" + url.Values{"files": {files.String()}}.Encode()
}

// stackFiles is a file backend in which the state of a stack is found without listing the states of all stacks.
//
// The name of a state file ends in .json, .json.gz or .json.zst. Before each use of a state, Pulumi lists the names
// that start with STACK.json. For each such list, the original bucket reads the whole folder, so the cost of an update
// would grow with the number of stacks.
type stackFiles struct {
	driver.Bucket // not set: Pulumi calls only the methods below
	files         *blob.Bucket
}

// OpenBucketURL opens the bucket with a URL of `stackFilesURL`. It makes `stackFiles` a blob.BucketURLOpener.
func (stackFiles) OpenBucketURL(ctx context.Context, address *url.URL) (*blob.Bucket, error) {
	files, err := blob.OpenBucket(ctx, address.Query().Get("files"))
	if err != nil {
		return nil, err
	}
	return blob.NewBucket(stackFiles{files: files}), nil
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

func (s stackFiles) ErrorCode(err error) gcerrors.ErrorCode { return gcerrors.Code(err) }

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
	return s.files.Delete(ctx, key)
}

func (s stackFiles) Close() error { return s.files.Close() }

// fileReader reads one file.
type fileReader struct{ *blob.Reader }

func (r fileReader) Attributes() *driver.ReaderAttributes {
	return &driver.ReaderAttributes{ContentType: r.ContentType(), ModTime: r.ModTime(), Size: r.Size()}
}
