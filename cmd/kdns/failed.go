package main

import (
	"errors"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
)

// Exit codes.
const (
	exitFine   = 0
	exitFound  = 1 // something needs attention: a fault, a difference, a name that does not exist
	exitUsage  = 2 // the command line or a question is wrong
	exitFailed = 3 // the work could not be done: a file or a server could not be read
)

// errFound ends a command with exitFound.
var errFound = errors.New("found")

// failedError ends a command with exitFailed.
type failedError struct{ err error }

func (e *failedError) Error() string { return e.err.Error() }

func (e *failedError) Unwrap() error { return e.err }

// failed wraps err so that the command ends with exitFailed, unless it is a *inspect.RequestError; nil for nil.
func failed(err error) error {
	if _, asked := inspect.IsRequest(err); asked || err == nil {
		return err
	}
	return &failedError{err}
}
