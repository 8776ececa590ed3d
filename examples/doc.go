// Package examples holds the suites of people who use boombox, in a module of their own. docs/testing.md walks through
// them.
//
//	gitinfo    a git wrapper, tested by cassette and by stubs: package testing alone
//	agent      a runner of tools that a language model asks for, held as untrusted: package testing alone
//	server     a server that is started, waited for and stopped: Ginkgo
//	failing    the failing twin, behind the build tag failing: what the messages look like
package examples
