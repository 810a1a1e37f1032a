package main

import (
	"context"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/pkg/v3/backend"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
)

func index(value int) *int { return &value }

func TestRequestMayOnlyReferToEarlierResources(t *testing.T) {
	for name, test := range map[string]struct {
		resources []object
		problem   string
	}{
		"empty":    {nil, ""},
		"earlier":  {[]object{{}, {DependsOn: []int{0}, DeletedWith: index(0)}}, ""},
		"itself":   {[]object{{Name: "a", DependsOn: []int{0}}}, "resource 0 (a) refers to resource 0"},
		"later":    {[]object{{Name: "a", DeletedWith: index(1)}, {}}, "refers to resource 1"},
		"negative": {[]object{{Name: "a", DependsOn: []int{-1}}}, "refers to resource -1"},
	} {
		err := (&request{Operation: opUp, Program: program{Resources: test.resources}}).validate()
		if test.problem == "" && err != nil || test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)) {
			t.Errorf("%s: got %v, want %q", name, err, test.problem)
		}
	}
}

func TestInvalidRequestIsRejected(t *testing.T) {
	for line, problem := range map[string]string{
		`{`:                     "unexpected EOF",
		`{"operation":"watch"}`: `unknown operation "watch"`,
		`{"operation":"up","program":{"resources":[{"inputs":[]}]}}`: "proto",
		`{"operation":"up","config":{"no-key":"1"}}`:                 "no-key",
	} {
		got := (&server{}).answer(strings.NewReader(line))
		if got.ErrorKind != errorInvalid || !strings.Contains(got.Error, problem) {
			t.Errorf("%s: got %+v, want %q", line, got, problem)
		}
	}
}

func TestDiagnosticsInTheEventLogAreInTheAnswer(t *testing.T) {
	urn := "urn:pulumi:tenant-a::tenancy::tenancy:index:Tenant$kubernetes:core/v1:Namespace::tenant-a"
	lines := []string{
		`{"resourcePreEvent":{"metadata":{"op":"update","urn":"` + urn + `"}}}`,
		`{"resourcePreEvent":{"metadata":{"new":{"inputs":{"\"diagnosticEvent\"":"","diagnosticEvent":{}}}}}}`,
		`{"diagnosticEvent":{"severity":"error","urn":"` + urn + `","message":"<{%reset%}>refused<{%reset%}>\n"}}`,
		`{"diagnosticEvent":{"severity":"error","message":"update failed"}}`,
		`{"diagnosticEvent":{"severity":"warning","message":"there are pending operations"}}`,
		`{"summaryEvent":{"resourceCh`, // an event that was not written completely
	}
	var got answer
	update, folder := &backend.UpdateOperation{}, t.TempDir()
	err := got.withEvents(folder, update, func() error {
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

func TestPanicInAnOperationIsAnAnswerAndTheStackIsFreeAfterwards(t *testing.T) {
	// Without a backend, the operation panics.
	s := &server{pool: &pool{}, running: map[*operation]struct{}{}}
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
	s := &server{running: map[*operation]struct{}{}}
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

func TestOperationIsCanceledWhenItsClientLeaves(t *testing.T) {
	s := &server{pool: &pool{}}
	o := newOperation(s, request{GraceSeconds: 0.01})
	o.follow(strings.NewReader(""))
	if o.scope.CancelErr() == nil {
		t.Error("the operation is not canceled")
	}
	<-o.scope.Terminated() // after the time of grace
	ended := newOperation(s, request{})
	ended.cancel.Terminate()
	ended.follow(strings.NewReader(""))
}

func TestProvidersAreSharedRetiredAndRemoved(t *testing.T) {
	p, err := newPool(context.Background(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	descriptor := workspace.PluginDescriptor{Name: "none", Kind: apitype.ResourcePlugin}
	inputs := func(value string) resource.PropertyMap {
		return resource.PropertyMap{"kubeconfig": resource.NewProperty(value)}
	}
	use := func(o *operation, inputs resource.PropertyMap) *providerProcess {
		process, err := p.use(o, descriptor, inputs)
		if err == nil || !strings.Contains(err.Error(), "start the provider none") {
			t.Fatalf("got %v", err)
		}
		process.isRetired = false // as if it had started
		return process
	}
	a, b := &operation{}, &operation{}
	first := use(a, nil)
	if use(a, inputs("x")) != first || use(b, inputs("x")) != first {
		t.Error("operations with equal configurations do not share a process")
	}
	second := use(b, inputs("y"))
	if second == first {
		t.Error("operations with different configurations share a process")
	}
	p.retire(a.uses)
	if third := use(b, inputs("x")); third == first {
		t.Error("a retired process is used")
	}
	p.release(a)
	if len(p.processes) != 3 {
		t.Error("a process was removed before its operations had ended")
	}
	p.release(b)
	if len(p.processes) != 2 {
		t.Errorf("%d processes are left, want 2", len(p.processes))
	}
	p.retire(allProcesses)
	if len(p.processes) != 0 {
		t.Errorf("%d retired processes are left", len(p.processes))
	}
}
