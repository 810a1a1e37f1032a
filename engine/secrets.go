package main

import (
	"os"
	"strings"

	"github.com/pulumi/pulumi/pkg/v3/secrets"
	"github.com/pulumi/pulumi/pkg/v3/secrets/passphrase"
)

// saltVariable contains the salt of the key that encrypts secrets. With the salt, others could guess the passphrase, so
// it is not on the command line.
const saltVariable = "TENANCY_ENGINE_SALT"

// secretsManager returns the manager that encrypts secrets in the state. The key is derived from the passphrase and
// the salt. This takes 0.2 s, and Pulumi caches the result by salt.
func secretsManager(salt string) (secrets.Manager, error) {
	phrase, err := readPassphrase()
	if err != nil {
		return nil, err
	}
	return passphrase.GetPassphraseSecretsManager(phrase, salt)
}

// readPassphrase reads the passphrase as the CLI does.
func readPassphrase() (string, error) {
	if phrase, ok := os.LookupEnv("PULUMI_CONFIG_PASSPHRASE"); ok {
		return phrase, nil
	}
	content, err := os.ReadFile(os.Getenv("PULUMI_CONFIG_PASSPHRASE_FILE"))
	return strings.TrimSpace(string(content)), err
}
