package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"gocloud.dev/blob/fileblob"

	"github.com/pulumi/pulumi/pkg/v3/backend"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
)

func index(value int) *int { return &value }

func TestProgramMayOnlyReferToEarlierResources(t *testing.T) {
	inputs := json.RawMessage(`{}`)
	for name, test := range map[string]struct {
		resources []registration
		problem   string
	}{
		"empty":           {nil, ""},
		"earlier":         {[]registration{{Inputs: inputs}, {Inputs: inputs, DependsOn: []int{0}, DeletedWith: index(0)}}, ""},
		"itself":          {[]registration{{Name: "a", Inputs: inputs, DependsOn: []int{0}}}, "resource 0 (a) refers to resource 0"},
		"later":           {[]registration{{Name: "a", Inputs: inputs, DeletedWith: index(1)}, {Inputs: inputs}}, "refers to resource 1"},
		"negative":        {[]registration{{Name: "a", Inputs: inputs, DependsOn: []int{-1}}}, "refers to resource -1"},
		"broken inputs":   {[]registration{{Name: "a", Inputs: json.RawMessage(`{`)}}, "resource 0 (a) has invalid inputs"},
		"inputs not sent": {[]registration{{Name: "a"}}, "has invalid inputs"},
	} {
		err := (&program{Resources: test.resources}).validate()
		if test.problem == "" && err != nil || test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)) {
			t.Errorf("%s: got %v, want %q", name, err, test.problem)
		}
	}
}

func TestDiagnosticsInTheEventLogAreInTheAnswer(t *testing.T) {
	urn := "urn:pulumi:tenant-a::tenancy::tenancy:index:Tenant$kubernetes:core/v1:Namespace::tenant-a"
	lines := []string{
		`{"resourcePreEvent":{"metadata":{"op":"update","urn":"` + urn + `"}}}`,
		`{"diagnosticEvent":{"severity":"error","urn":"` + urn + `","message":"<{%reset%}>refused<{%reset%}>\n"}}`,
		`{"diagnosticEvent":{"severity":"error","message":"update failed"}}`,
		`{"diagnosticEvent":{"severity":"warning","message":"there are pending operations"}}`,
		`{"summaryEvent":{"resourceCh`, // an event that was not written completely
	}
	var got answer
	update, folder := &backend.UpdateOperation{}, t.TempDir()
	err := got.withEventLog(folder, update, func() error {
		return os.WriteFile(update.Opts.Display.EventLogPath, []byte(strings.Join(lines, "\n")), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	want := answer{Diagnostics: []string{"tenant-a: refused"}, HasPendingOperations: true}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if files, _ := os.ReadDir(folder); len(files) != 0 {
		t.Errorf("the event log is still there: %v", files)
	}
}

// recorder is a sink that records messages.
type recorder struct {
	diag.Sink
	messages []string
}

func (r *recorder) Logf(_ diag.Severity, message *diag.Diag, _ ...any) {
	r.messages = append(r.messages, message.Message)
}

func TestLogMessagesReachOnlyTheOperationsOfTheirStack(t *testing.T) {
	unknown, first, second := &recorder{}, &recorder{}, &recorder{}
	logs := &logRouter{Sink: unknown, sinks: map[*operation]diag.Sink{}}
	a, b := &operation{request: request{Stack: "tenant-a"}}, &operation{request: request{Stack: "tenant-b"}}
	logs.route(a, first)
	logs.route(b, second)
	log := func(stack, message string) {
		urn := resource.URN("")
		if stack != "" {
			urn = resource.NewURN(tokens.QName(stack), "tenancy", "", "k:v1:N", "n")
		}
		logs.Logf(diag.Error, diag.StreamMessage(urn, message, 0))
	}
	log("tenant-a", "for a")
	log("tenant-b", "for b")
	log("", "for nobody")
	logs.forget(a)
	log("tenant-a", "too late")
	for name, test := range map[string]struct{ got, want []string }{
		"a":       {first.messages, []string{"for a"}},
		"b":       {second.messages, []string{"for b"}},
		"unknown": {unknown.messages, []string{"for nobody"}},
	} {
		if !reflect.DeepEqual(test.got, test.want) {
			t.Errorf("%s: got %v, want %v", name, test.got, test.want)
		}
	}
}

func TestPanicInAnOperationIsAnAnswerAndTheStackIsFreeAfterwards(t *testing.T) {
	// Without a backend, the operation panics.
	s := &server{
		logs: &logRouter{Sink: discard, sinks: map[*operation]diag.Sink{}}, pool: &pool{},
		running: map[*operation]struct{}{}, updating: map[string]*operation{},
	}
	for range 2 {
		o := newOperation(s, request{Operation: opUp, Stack: "tenant-a"})
		if kind, problem := s.begin(o); kind != "" {
			t.Fatal(problem)
		}
		result := o.run()
		s.end(o)
		if result.ErrorKind != errorEngineCrashed || !strings.HasPrefix(result.Error, "panic: ") {
			t.Fatalf("got %+v", result)
		}
		if o.scope.TerminateErr() == nil {
			t.Error("the scope of the operation is still open")
		}
	}
	<-s.stop()
}

func TestSecondUpdateOfAStackIsRejectedButAPreviewIsNot(t *testing.T) {
	s := &server{running: map[*operation]struct{}{}, updating: map[string]*operation{}}
	begin := func(name string) string {
		kind, _ := s.begin(newOperation(s, request{Operation: name, Stack: "tenant-a"}))
		return kind
	}
	kinds := []string{begin(opUp), begin(opDestroy), begin(opPreview)}
	s.stop()
	kinds = append(kinds, begin(opPreview))
	if want := []string{"", errorBusy, "", errorNotAccepted}; !reflect.DeepEqual(kinds, want) {
		t.Errorf("got %v, want %v", kinds, want)
	}
}

func TestMissingLockIsNotDeletedAgain(t *testing.T) {
	url := "s3://bucket/.pulumi/locks/organization/tenancy/tenant-a/1.json?endpoint=http://host/x"
	if match := lockURL.FindStringSubmatch(url); match == nil || match[1] != "tenant-a" {
		t.Errorf("got %v", match)
	}
	bucket, err := fileblob.OpenBucket(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	// A retry would use the missing backend, and panic.
	missing := bucket.Delete(context.Background(), "1.json")
	(&unlockRetry{Sink: discard}).Errorf(diag.Message("", "%v %v"), url, missing)
	if isNotFound(errors.New("disk full")) || isNotFound(url) {
		t.Error("only missing locks count as deleted")
	}
}
