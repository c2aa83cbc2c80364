// Package template holds the type of a render's root data.
package template

// Variables is the root of every render. It is a named type, as in the existing operator: functions that ask for exactly
// map[string]interface{} take it, functions that look at a value's type (dig, deepEqual, %T) see the difference.
type Variables map[string]any
