package kubernetes

import "reflect"

// UntypedArgs are the inputs of a resource whose type is known only at run time.
type UntypedArgs map[string]any

func (UntypedArgs) ElementType() reflect.Type { return reflect.TypeFor[map[string]any]() }
