package omnigraph

import (
	"github.com/grafana/sobek"
	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

// newClass makes the constructor function of a client class.
func (mi *instance) newClass(transport string) *sobek.Object {
	rt := mi.vu.Runtime()
	class, _ := rt.ToValue(mi.newClient(transport)).(*sobek.Object)
	// The name shows in console.log and in stack traces; a function's name is not enumerable.
	_ = class.DefineDataProperty("name", rt.ToValue(className(transport)), sobek.FLAG_FALSE, sobek.FLAG_TRUE, sobek.FLAG_FALSE)
	return class
}

// prototype is the class's prototype object, for clients that connect makes.
func (mi *instance) prototype(transport string) *sobek.Object {
	proto, _ := mi.classes[transport].Get("prototype").(*sobek.Object)
	return proto
}

// installMethods lets a class's prototype inherit the methods. They are made once for a VU, when its first client is:
// a VU that makes none carries none.
func (mi *instance) installMethods(proto *sobek.Object) {
	rt := mi.vu.Runtime()
	if mi.methods == nil {
		mi.methods = rt.NewObject()
		for _, v := range verbs {
			mi.define(v.name, mi.syncMethod(v))
			mi.define(asyncName(v.name), mi.asyncMethod(v))
		}
		mi.define(mutateManyName, mi.mutateMany)
		mi.define(asyncName(mutateManyName), mi.asyncMutateMany)
	}
	if proto.Prototype() != mi.methods {
		if err := proto.SetPrototype(mi.methods); err != nil {
			mi.throw(err)
		}
	}
}

func (mi *instance) define(name string, method func(sobek.FunctionCall) sobek.Value) {
	value := mi.vu.Runtime().ToValue(method)
	if err := mi.methods.DefineDataProperty(name, value, sobek.FLAG_TRUE, sobek.FLAG_TRUE, sobek.FLAG_FALSE); err != nil {
		mi.throw(err)
	}
}

// asyncName is the name of an operation's twin that returns a promise: query → asyncQuery.
func asyncName(name string) string {
	return "async" + string(name[0]-'a'+'A') + name[1:]
}

// clientOf finds the client that a method was called on.
func (mi *instance) clientOf(this sobek.Value, method string) *client {
	if o, ok := this.(*sobek.Object); ok {
		if h, ok := o.Export().(*handle); ok && h != nil {
			return h.c
		}
	}
	panic(mi.vu.Runtime().NewTypeError("%s has to be called on a client, as in client.%s(…)", method, method))
}

func (c *client) supports(op wire.Op) bool { return op.Offered(c.transport) }
