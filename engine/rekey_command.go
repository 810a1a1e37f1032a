package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"gocloud.dev/blob"

	"github.com/pulumi/pulumi/pkg/v3/backend/diy"
	backendsecrets "github.com/pulumi/pulumi/pkg/v3/backend/secrets"
	"github.com/pulumi/pulumi/pkg/v3/resource/stack"
	"github.com/pulumi/pulumi/pkg/v3/secrets"
	"github.com/pulumi/pulumi/pkg/v3/secrets/passphrase"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/config"
)

const (
	// newPassphraseVariable contains the passphrase after the rotation. The usual variables contain the current one.
	newPassphraseVariable = "TENANCY_NEW_PASSPHRASE"
	// saltKey is the key of the salt that all stacks of tenants share.
	saltKey = ".pulumi/tenancy-salt"
	// tenantStacks is the prefix of the stacks of tenants.
	tenantStacks = "tenancy/tenant-"
)

// rekeyed is the result for one stack. The command prints it as a line of JSON.
type rekeyed struct {
	Stack string `json:"stack"`
	// IsChanged is false if the state was already encrypted with the new passphrase.
	IsChanged bool `json:"isChanged"`
}

// rekeyCommand runs `tenancy-engine rekey`. It encrypts the states of all tenants with a new passphrase. It can be
// repeated after an interruption.
func rekeyCommand([]string) error {
	ctx := context.Background()
	current, err := readPassphrase()
	if err != nil {
		return err
	}
	next := os.Getenv(newPassphraseVariable)
	if next == "" || next == current {
		return errors.New("the new passphrase must not be empty, and must differ from the current one")
	}
	backend, bucket, err := openBackend(ctx, os.Getenv("PULUMI_BACKEND_URL"), nil)
	if err != nil {
		return err
	}
	rotation := rotation{backend, bucket, current, next, nil, map[[2]string]bool{}}
	if err := rotation.prepare(ctx); err != nil {
		return err
	}
	names, err := stackNames(ctx, bucket)
	if err != nil {
		return err
	}
	output := json.NewEncoder(os.Stdout)
	for _, name := range names {
		if !strings.HasPrefix(name, tenantStacks) {
			continue
		}
		isChanged, err := rotation.rotate(ctx, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := output.Encode(rekeyed{name, isChanged}); err != nil {
			return err
		}
	}
	return nil
}

// rotation encrypts states with another passphrase.
type rotation struct {
	backend       diy.Backend
	bucket        *blob.Bucket
	current, next string
	// manager encrypts with the new passphrase.
	manager secrets.Manager
	// checked contains the results of isKey, which takes 0.2 s for each passphrase and salt.
	checked map[[2]string]bool
}

// prepare replaces the salt that the stacks share. With the new salt, a watcher with the current passphrase does not
// start. After an interruption, the salt is used again.
func (r *rotation) prepare(ctx context.Context) error {
	salt, err := r.bucket.ReadAll(ctx, saltKey)
	if err != nil {
		return fmt.Errorf("cannot read the salt of the stacks: %w", err)
	}
	if r.isKey(ctx, r.next, string(salt)) {
		r.manager, err = passphrase.GetPassphraseSecretsManager(r.next, string(salt))
		return err
	}
	if !r.isKey(ctx, r.current, string(salt)) {
		return passphrase.ErrIncorrectPassphrase
	}
	newSalt, manager, err := passphrase.NewPassphraseSecretsManager(r.next)
	if err != nil {
		return err
	}
	r.manager = manager
	return r.bucket.WriteAll(ctx, saltKey, []byte(newSalt), nil)
}

// rotate encrypts the state of one stack again. It reports whether it has changed the state.
func (r *rotation) rotate(ctx context.Context, name string) (bool, error) {
	reference, err := r.backend.ParseStackReference("organization/" + name)
	if err != nil {
		return false, err
	}
	if err := r.backend.Lock(ctx, reference); err != nil {
		return false, err
	}
	defer r.backend.(unlocker).Unlock(ctx, reference)
	target, err := r.backend.GetStack(ctx, reference)
	if err != nil || target == nil {
		return false, err
	}
	deployment, err := r.backend.ExportDeployment(ctx, target)
	if err != nil {
		return false, err
	}
	salt, err := saltOf(deployment)
	if err != nil || salt == "" {
		return false, err
	}
	if r.isKey(ctx, r.next, salt) {
		return false, nil
	}
	if !r.isKey(ctx, r.current, salt) {
		return false, passphrase.ErrIncorrectPassphrase
	}
	// Pulumi finds the manager of this passphrase by the salt in the state.
	if _, err := passphrase.GetPassphraseSecretsManager(r.current, salt); err != nil {
		return false, err
	}
	snapshot, err := stack.DeserializeUntypedDeployment(ctx, deployment, backendsecrets.DefaultProvider)
	if err != nil {
		return false, err
	}
	snapshot.SecretsManager = r.manager
	if deployment, err = stack.SerializeUntypedDeployment(ctx, snapshot, nil); err != nil {
		return false, err
	}
	return true, r.backend.ImportDeployment(ctx, target, deployment)
}

// isKey reports whether the salt belongs to this passphrase. A salt contains a text that is encrypted with the key.
//
// Pulumi's own check caches managers by salt only, so it accepts each passphrase after the first one.
func (r *rotation) isKey(ctx context.Context, phrase, salt string) bool {
	check := [2]string{phrase, salt}
	if isKey, isKnown := r.checked[check]; isKnown {
		return isKey
	}
	parts := strings.SplitN(salt, ":", 3)
	if len(parts) != 3 {
		return false
	}
	content, err := base64.StdEncoding.DecodeString(parts[1])
	if err != nil {
		return false
	}
	text, err := config.NewSymmetricCrypterFromPassphrase(phrase, content).DecryptValue(ctx, parts[2])
	r.checked[check] = err == nil && text == "pulumi"
	return r.checked[check]
}

// readPassphrase reads the current passphrase as the CLI does.
func readPassphrase() (string, error) {
	if phrase, isSet := os.LookupEnv("PULUMI_CONFIG_PASSPHRASE"); isSet {
		return phrase, nil
	}
	content, err := os.ReadFile(os.Getenv("PULUMI_CONFIG_PASSPHRASE_FILE"))
	return strings.TrimSpace(string(content)), err
}

// saltOf returns the salt in a state, or an empty string if no passphrase encrypts the state.
func saltOf(deployment *apitype.UntypedDeployment) (string, error) {
	var content apitype.DeploymentV3
	if err := json.Unmarshal(deployment.Deployment, &content); err != nil {
		return "", err
	}
	var state struct {
		Salt string `json:"salt"`
	}
	if content.SecretsProviders == nil || content.SecretsProviders.Type != passphrase.Type {
		return "", nil
	}
	err := json.Unmarshal(content.SecretsProviders.State, &state)
	return state.Salt, err
}
