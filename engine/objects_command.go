package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// storedObject is an object in the bucket of a backend.
type storedObject struct {
	Key     string `json:"key"`
	Content []byte `json:"content"`
}

// objectsCommand runs `tenancy-engine objects`. The watcher stores its own data with it, beside the objects of Pulumi:
//
//	objects read PREFIX    prints the objects whose keys start with PREFIX, as lines of JSON
//	objects write KEY      writes the standard input, which is encoded with base64, to an object
//	objects delete KEY     deletes an object, if it exists
func objectsCommand(arguments []string) error {
	flags := flag.NewFlagSet("tenancy-engine objects read|write|delete KEY", flag.ExitOnError)
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() != 2 {
		return errors.New("name an operation and a key")
	}
	ctx := context.Background()
	bucket, err := openBucket(ctx, os.Getenv("PULUMI_BACKEND_URL"))
	if err != nil {
		return err
	}
	defer bucket.Close()
	key := flags.Arg(1)
	switch flags.Arg(0) {
	case "read":
		output := json.NewEncoder(os.Stdout)
		return eachObject(ctx, bucket, key, func(found storedObject) error { return output.Encode(found) })
	case "write":
		content, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, os.Stdin))
		if err != nil {
			return err
		}
		return bucket.WriteAll(ctx, key, content, nil)
	case "delete":
		return deleteObject(ctx, bucket, key)
	}
	return fmt.Errorf("unknown operation %q", flags.Arg(0))
}

// keys lists the keys that start with the prefix.
func keys(ctx context.Context, bucket *blob.Bucket, prefix string) ([]string, error) {
	list := bucket.List(&blob.ListOptions{Prefix: prefix})
	var result []string
	for {
		found, err := list.Next(ctx)
		if errors.Is(err, io.EOF) {
			return result, nil
		}
		if err != nil {
			return nil, fmt.Errorf("could not list bucket: %w", err)
		}
		result = append(result, found.Key)
	}
}

// eachObject calls the function with each object whose key starts with the prefix.
func eachObject(ctx context.Context, bucket *blob.Bucket, prefix string, use func(storedObject) error) error {
	found, err := keys(ctx, bucket, prefix)
	if err != nil {
		return err
	}
	for _, key := range found {
		content, err := bucket.ReadAll(ctx, key)
		if gcerrors.Code(err) == gcerrors.NotFound {
			continue // Another process has deleted it.
		}
		if err != nil {
			return err
		}
		if err := use(storedObject{key, content}); err != nil {
			return err
		}
	}
	return nil
}

func deleteObject(ctx context.Context, bucket *blob.Bucket, key string) error {
	if err := bucket.Delete(ctx, key); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
		return fmt.Errorf("cannot remove %s: %w", key, err)
	}
	return nil
}
