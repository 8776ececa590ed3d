package cassette_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// The canaries are made up, and put together here so that no scanner of this repository takes them for real.
const canary = "cAn4ry/+\"'&" + "-value 7"

// shapes are secrets that are known by their form or by what stands before them, and what of each is secret.
var shapes = map[string]struct{ text, secret string }{
	"github-token":  {"pushing with ghp_" + strings.Repeat("a1B2", 9) + " now", "ghp_" + strings.Repeat("a1B2", 9)},
	"github pat":    {"github_pat_" + strings.Repeat("a1B2_", 10), strings.Repeat("a1B2_", 10)},
	"gitlab-token":  {"glpat-" + strings.Repeat("x9-Y", 5), strings.Repeat("x9-Y", 5)},
	"slack-token":   {"token xoxb-123456789012-abcdefABCDEF", "123456789012-abcdefABCDEF"},
	"stripe":        {"sk_live_" + strings.Repeat("4eC3", 6), strings.Repeat("4eC3", 6)},
	"model key":     {"key=sk-ant-api03-" + strings.Repeat("Zz9_", 8), strings.Repeat("Zz9_", 8)},
	"aws key id":    {"AKIA" + "IOSFODNN7EXAMPLE", "IOSFODNN7EXAMPLE"},
	"google":        {"AIza" + strings.Repeat("Sy5_a", 7), strings.Repeat("Sy5_a", 7)},
	"npm":           {"//registry/:_authToken=npm_" + strings.Repeat("q7Wx", 9), "npm_" + strings.Repeat("q7Wx", 9)},
	"jwt":           {"got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P ok", "eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"},
	"pem":           {"-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nq83vEjRWeJA=\n-----END RSA PRIVATE KEY-----\n", "MIIEowIBAAKCAQEA"},
	"pem, cut":      {"-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n", "MIIEowIBAAKCAQEA"},
	"url":           {"remote: https://me:s3cr3t@host.example/x.git", "s3cr3t"},
	"url token":     {"https://x0ken1234567890@host.example/x.git", "x0ken1234567890"},
	"authorization": {"> Authorization: Bearer abc.def-123\r\n", "abc.def-123"},
	"basic":         {"authorization: basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA"},
	"quoted header": {`curl -H "Authorization: token 0123abcd" https://host`, "0123abcd"},
	"cookie":        {"Set-Cookie: sid=31337; Path=/\n", "31337"},
	"flag":          {"run --password hunter2 --verbose", "hunter2"},
	"flag =":        {"run --api-key=k3yk3yk3y", "k3yk3yk3y"},
	"json":          {`{"user":"me","client_secret":"s3cretvalue"}`, "s3cretvalue"},
	"escaped json":  {`"{\"access_token\":\"s3cretvalue\"}"`, "s3cretvalue"},
	"assignment":    {"export DB_PASSWORD=pa55word", "pa55word"},
	"netrc":         {"machine host login me password 0pen\n", "0pen"},
	"docker":        {`{"auths":{"host":{"auth":"bWU6cGFzc3dvcmQ="}}}`, "bWU6cGFzc3dvcmQ"},
	"azure":         {"DefaultEndpointsProtocol=https;AccountKey=" + strings.Repeat("abC1", 10) + "==;", strings.Repeat("abC1", 10)},
	"in base64":     {"blob: " + base64.StdEncoding.EncodeToString([]byte("AKIA"+"IOSFODNN7EXAMPLE and more")), base64.StdEncoding.EncodeToString([]byte("AKIA" + "IOSFODNN7EXAMPLE"))[:20]},
}

// harmless are texts that look a little like secrets and must stay as they are.
var harmless = []string{
	"Usage: tool --password PASSWORD --token <token>",
	"--token string   the token to use",
	"password: required", "author: GIT_AUTHOR_NAME", "git@host.example:me/x.git", "ssh://git@host.example/x",
	"3f2c41d9e8b7a6958473625140fedcba98765432", "token = parser.next()", "task-sk-risk-desk", "see https://host.example/a@b:c",
	"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----\n",
	"authorization: required", "cookie: none", "********", "password=********", "tokenizer=v2.1.4-beta",
}

// outputsOf is what one run that writes text leaves in a file.
func outputsOf(ctx context.Context, text string, opts ...cassette.Option) (path, live string) {
	GinkgoHelper()
	path = tempFile()
	inner := fake.New()
	inner.On("tool").Reply(fake.Stdout(text), fake.Stderr(text))
	rec, err := cassette.NewRecorder(path, inner, opts...)
	Expect(err).NotTo(HaveOccurred())
	defer rec.Close()
	res, err := runner.Run(ctx, rec, runner.Command("tool"))
	Expect(err).NotTo(HaveOccurred())
	Expect(rec.Save()).To(Succeed())
	return path, string(res.Stdout())
}

var _ = Describe("Redaction", func() {
	for name, shape := range shapes {
		It("keeps out what is known by its form: "+name, func(ctx context.Context) {
			path, live := outputsOf(ctx, shape.text)
			Expect(live).To(Equal(shape.text), "the caller sees the real output")
			Expect(contents(path)).NotTo(ContainSubstring(shape.secret))
			Expect(contents(path)).To(HavePrefix("cassette 1\nredact builtin/1\nrun\n"))
			Expect(contents(path)).To(MatchRegexp(`<redacted:[a-z-]+:1>`))

			By("and the file holds it when nothing is redacted")
			path, _ = outputsOf(ctx, shape.text, cassette.WithoutRedaction())
			tape, err := cassette.Load(path)
			Expect(err).NotTo(HaveOccurred())
			Expect(string(tape.Runs()[0].Stdout())).To(ContainSubstring(shape.secret))
			Expect(tape.Scan()).NotTo(BeEmpty())
		})
	}

	It("leaves alone what is none", func(ctx context.Context) {
		for _, text := range harmless {
			path, _ := outputsOf(ctx, text)
			tape, err := cassette.Load(path)
			Expect(err).NotTo(HaveOccurred())
			Expect(string(tape.Runs()[0].Stdout())).To(Equal(text))
			Expect(contents(path)).To(HavePrefix("cassette 1\nrun\n"))
		}
	})

	// forms are what programs make of a secret.
	forms := func(secret string) []string {
		quoted, _ := json.Marshal(secret)
		return []string{
			secret, url.QueryEscape(secret), url.PathEscape(secret), string(quoted),
			base64.StdEncoding.EncodeToString([]byte(secret)), base64.URLEncoding.EncodeToString([]byte("me:" + secret)),
			base64.RawStdEncoding.EncodeToString([]byte("m:" + secret + "!")), hex.EncodeToString([]byte(secret)),
			"eG" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 55) + secret))[2:76] + "\n" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 55) + secret))[76:],
			strings.ReplaceAll(secret, "'", `'\''`),
		}
	}

	It("keeps canaries out of every file, error and printer, wherever they come from", func(ctx context.Context) {
		GinkgoT().Setenv("BOOMBOX_CANARY_TOKEN", "env"+canary)
		secrets := []string{canary, "env" + canary, "own" + canary, "flagged-value", "hunter22"}
		path := tempFile()
		inner := fake.New()
		var chunks []fake.Chunk
		for i, secret := range secrets[:3] {
			for _, form := range forms(secret) {
				text := "<" + form + ">\n"
				half := len(text) / 2
				id := runner.StreamID(i % 2)
				chunks = append(chunks, fake.Chunk{Stream: id, Data: []byte(text[:half])},
					fake.Chunk{After: time.Millisecond, Stream: id, Data: []byte(text[half:])})
			}
		}
		inner.On("tool").Reply(fake.Scripted(fake.Script{Chunks: chunks}))
		inner.On("gone").Reply(fake.Refuse(&runner.StartError{Kind: runner.StartOther, Err: errors.New("refused " + canary)}))
		rec, err := cassette.NewRecorder(path, inner, cassette.WithSecret("api", canary))
		Expect(err).NotTo(HaveOccurred())
		defer rec.Close()
		call := func() *runner.Cmd {
			cmd := runner.Command("tool", canary, "x="+url.QueryEscape(canary), "--token", "flagged-value", "--password=hunter22", "own"+canary)
			cmd.Dir = "/srv/" + canary
			cmd.Env = cmd.Env.Set("OWN_SECRET_KEY", "own"+canary)
			cmd.Stdin = runner.StdinString(strings.Join(append(forms(canary), forms("env"+canary)...), "\n"))
			return cmd
		}
		res, err := runner.Run(ctx, rec, call())
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveStdout(ContainSubstring(canary)), "the witness: the caller sees it")
		_, err = runner.Run(ctx, rec, runner.Command("gone"))
		Expect(err).To(HaveOccurred())
		Expect(rec.Save()).To(Succeed())

		tape, err := cassette.Load(path)
		Expect(err).NotTo(HaveOccurred())
		written := []string{tape.String()}
		Expect(filepath.WalkDir(filepath.Dir(path), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				written = append(written, contents(path))
			}
			return err
		})).To(Succeed())
		for _, run := range tape.Runs() {
			stdin, _ := run.Stdin()
			written = append(written, strings.Join(run.Argv(), "\n"), run.Dir(), string(stdin), string(run.Stdout()), string(run.Stderr()))
		}
		Expect(len(written)).To(BeNumerically(">=", 12))
		for _, text := range written {
			for _, secret := range secrets {
				for _, form := range forms(secret) {
					Expect(strings.Contains(text, form)).To(BeFalse(), "%q in %q", form, text)
				}
			}
			Expect(text).NotTo(MatchRegexp("cAn4ry|Y0FuNHJ5"))
		}

		By("and the same call is answered, and is not where a secret is not known any more")
		GinkgoT().Setenv("BOOMBOX_CANARY_TOKEN", "")
		player := play(path, cassette.WithSecret("api", canary))
		_, err = runner.Run(ctx, player, call())
		Expect(missOf(err).Explain()).NotTo(ContainSubstring("flagged-value"), "the input has a value that nobody registered any more")
		GinkgoT().Setenv("BOOMBOX_CANARY_TOKEN", "env"+canary)
		player = play(path, cassette.WithSecret("api", canary))
		_, err = runner.Run(ctx, player, call())
		Expect(err).NotTo(HaveOccurred())
		_, err = runner.Run(ctx, player, runner.Command("gone"))
		var start *runner.StartError
		Expect(errors.As(err, &start)).To(BeTrue())
		Expect(player.Check()).To(Succeed())
	})

	It("matches a call that holds another secret of the same kind, known by another rule", func(ctx context.Context) {
		path := tempFile()
		inner := fake.New()
		inner.On("tool").Reply(fake.Stdout("fine\n"))
		recordTo(ctx, path, inner, []cassette.Option{cassette.WithSecret("deploy", "longlonglong")},
			runner.Command("tool", "--token", "longlonglong"), runner.Command("tool", "--token=0123456789"))
		Expect(runsOf(path)).To(And(ContainSubstring(`argv "<redacted:flag:1>"`), ContainSubstring(`argv "--token=<redacted:flag:2>"`)))
		player := play(path)
		for _, cmd := range []*runner.Cmd{runner.Command("tool", "--token", "x"), runner.Command("tool", "--token=y")} {
			Expect(runner.Output(ctx, player, cmd)).To(Equal("fine"))
		}
		Expect(player.Check()).To(Succeed())
	})

	It("numbers different values, and keeps equal ones equal", func(ctx context.Context) {
		path, _ := outputsOf(ctx, "one=aaaaa1 two=bbbbb2 one=aaaaa1\n", cassette.WithSecret("x", "aaaaa1"), cassette.WithSecret("x", "bbbbb2"))
		Expect(contents(path)).To(ContainSubstring(`out "one=<redacted:x:1> two=<redacted:x:2> one=<redacted:x:1>\n"`))
	})

	It("keeps lengths on request, and then every count of the tape", func(ctx context.Context) {
		text := "Content-Length: 40\r\n\r\n" + `{"secret":"` + strings.Repeat("s", 40) + `","k":"tiny5"}`
		path, _ := outputsOf(ctx, text, cassette.WithSecret("x", strings.Repeat("s", 40)), cassette.WithSecret("y", "tiny5"), cassette.WithLengthsKept())
		out := play(path, cassette.WithLengthsKept())
		res, err := runner.Run(ctx, out, runner.Command("tool"))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(res.Stdout())).To(And(HaveLen(len(text)), ContainSubstring("<redacted:x:1~~~~"), ContainSubstring(`"*****"`)))
	})

	It("masks what a cut stream holds of a secret at its edge", func(ctx context.Context) {
		path := tempFile()
		inner := fake.New()
		flood := strings.Repeat("x", 1<<20-8) + "sup3r-long-secret" + strings.Repeat("y", 100)
		inner.On("tool").Reply(fake.Stdout(flood))
		cmd := runner.Command("tool")
		cmd.Output.Stdout = runner.Stream{Policy: runner.Head, MaxBytes: 1 << 20}
		recordTo(ctx, path, inner, []cassette.Option{cassette.WithSecret("x", "sup3r-long-secret")}, cmd)
		Expect(contents(path)).NotTo(ContainSubstring("sup3r"))
		_, err := runner.Run(ctx, play(path), cmd)
		Expect(err).NotTo(HaveOccurred())
	})

	It("leaves no difference when the same is recorded with fresh secrets", func(ctx context.Context) {
		path := tempFile()
		record := func(token string) {
			inner := fake.New()
			inner.On("tool").Reply(fake.Stdout("logged in with " + token + "\n"))
			recordTo(ctx, path, inner, nil, runner.Command("tool", "--token", token))
		}
		record("ghp_" + strings.Repeat("a1B2", 9))
		before := contents(path)
		record("ghp_" + strings.Repeat("c3D4", 9))
		Expect(contents(path)).To(Equal(before))
	})

	Describe("hooks", func() {
		It("change what is recorded and matched, and nothing that the caller sees", func(ctx context.Context) {
			path := tempFile()
			hooks := cassette.WithHooks(cassette.Hooks{
				Arg:    func(_ int, s string) string { return strings.ReplaceAll(s, "alice", "USER") },
				Dir:    func(s string) string { return strings.ReplaceAll(s, "alice", "USER") },
				Stdin:  func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("alice"), []byte("USER")) },
				Output: func(_ runner.StreamID, b []byte) []byte { return bytes.ReplaceAll(b, []byte("alice"), []byte("USER")) },
			})
			inner := fake.New()
			inner.On("tool").Reply(fake.Stdout("hello ali"), fake.After(2*time.Millisecond), fake.Stdout("ce!\n"))
			cmd := runner.Command("tool", "alice")
			cmd.Dir, cmd.Stdin = "/home/alice", runner.StdinString("alice")
			rec, err := cassette.NewRecorder(path, inner, hooks)
			Expect(err).NotTo(HaveOccurred())
			defer rec.Close()
			Expect(runner.Output(ctx, rec, cmd)).To(Equal("hello alice!"))
			Expect(rec.Save()).To(Succeed())
			Expect(contents(path)).NotTo(ContainSubstring("alice"))
			Expect(runner.Output(ctx, play(path, hooks), cmd)).To(Equal("hello USER!"))
		})

		It("that panic refuse the save, without a word of what they were given", func(ctx context.Context) {
			path := tempFile()
			inner := fake.New()
			inner.On("tool").Reply(fake.Stdout(canary))
			rec, err := cassette.NewRecorder(path, inner, cassette.WithHooks(cassette.Hooks{Output: func(_ runner.StreamID, b []byte) []byte { panic(string(b)) }}))
			Expect(err).NotTo(HaveOccurred())
			defer rec.Close()
			_, err = runner.Run(ctx, rec, runner.Command("tool"))
			Expect(err).NotTo(HaveOccurred())
			err = rec.Save()
			Expect(err).To(MatchError(ContainSubstring("hook panicked")))
			Expect(err.Error()).NotTo(ContainSubstring(canary))
			Expect(path).NotTo(BeAnExistingFile())
		})
	})

	Describe("the final scan", func() {
		It("refuses the whole file for what an edit, or another version, left in it", func(ctx context.Context) {
			path := tempFile()
			secret := "AKIA" + "IOSFODNN7EXAMPLE"
			old := sealed("cassette 1\nx-note " + secret + "\nrun\n  argv \"tool\"\n  exit 0\n")
			Expect(os.WriteFile(path, old, 0o600)).To(Succeed())
			inner := fake.New()
			inner.On("tool").Reply()
			rec, err := cassette.NewRecorder(path, inner)
			Expect(err).NotTo(HaveOccurred())
			defer rec.Close()
			_, err = runner.Run(ctx, rec, runner.Command("tool"))
			Expect(err).NotTo(HaveOccurred())
			err = rec.Save()
			Expect(err).To(MatchError(cassette.ErrSecretFound))
			Expect(err).To(MatchError(ContainSubstring("line 2 of the file (rule aws-key-id)")))
			Expect(err.Error()).NotTo(ContainSubstring("IOSFO"))
			Expect(contents(path)).To(Equal(string(old)))
		})

		It("names rule, run and place, and never the value", func(ctx context.Context) {
			text := "cassette 1\nrun\n  argv \"a\"\n  exit 0\nrun\n  argv \"git\"\n  argv \"--token\"\n  argv \"t0psecret\"\n  dir \"/x\"\n  in64 \"\"\n"
			text = strings.ReplaceAll(text, "  in64 \"\"\n", "  out \"one\\n\"\n  out \"https://me:t0psecret@host\\n\"\n  exit 0\n")
			tape, err := cassette.Parse(sealed(text))
			Expect(err).NotTo(HaveOccurred())
			found, err := tape.Scan()
			Expect(err).NotTo(HaveOccurred())
			Expect(found).To(ConsistOf(
				cassette.Finding{Rule: "flag", Run: 2, Line: 5, Program: "git", Place: "argument", Number: 2},
				cassette.Finding{Rule: "url-password", Run: 2, Line: 5, Program: "git", Place: "stdout", Number: 2},
			))
			message := (&cassette.SecretError{Findings: found}).Error()
			Expect(message).To(ContainSubstring(`run 2 of "git", stdout line 2 (rule url-password)`))
			Expect(message).NotTo(ContainSubstring("t0psecret"))
		})

		It("lets pass what a line of the run allows, also when it is recorded again", func(ctx context.Context) {
			path := tempFile()
			text := "-----BEGIN PRIVATE KEY-----\nnot a key\n-----END PRIVATE KEY-----\n"
			record := func(text string) error {
				inner := fake.New()
				inner.On("tool").Reply(fake.Stdout(text))
				rec, err := cassette.NewRecorder(path, inner)
				Expect(err).NotTo(HaveOccurred())
				defer rec.Close()
				_, err = runner.Run(ctx, rec, runner.Command("tool"))
				Expect(err).NotTo(HaveOccurred())
				return rec.Save()
			}
			Expect(record(text)).To(Succeed())
			Expect(contents(path)).NotTo(ContainSubstring("not a key"))

			edited := strings.Replace(contents(path), "  exit 0\n", "  exit 0\n  x-allow private-key stdout\n", 1)
			resealed, err := cassette.Reseal([]byte(edited))
			Expect(err).NotTo(HaveOccurred())
			Expect(os.WriteFile(path, resealed, 0o600)).To(Succeed())
			for _, again := range []string{text, strings.ReplaceAll(text, "not a", "still no")} {
				Expect(record(again)).To(Succeed())
				tape, err := cassette.Load(path)
				Expect(err).NotTo(HaveOccurred())
				Expect(string(tape.Runs()[0].Stdout())).To(Equal(again))
				Expect(contents(path)).To(ContainSubstring("x-allow private-key stdout"))
			}
		})
	})

	It("scrubs old cassettes, once", func() {
		text := "cassette 1\nx-note mine\nrun\n  argv \"a\"\n  x-note kept\n  exit 0\n  tape 5x\nrun\n  argv \"git\"\n  argv \"https://me:t0psecret@host\"\n  x-note too\n  out \"https://me:t0psecret@host\\n\"\n  exit 0\n  tape 1o4 2o22 3x\n"
		tape, err := cassette.Parse(sealed(text))
		Expect(err).NotTo(HaveOccurred())
		clean, err := tape.Scrub()
		Expect(err).NotTo(HaveOccurred())
		Expect(clean.Scan()).To(BeEmpty())
		Expect(string(clean.Marshal())).To(And(HavePrefix("cassette 1\nredact builtin/1\nx-note mine\nrun\n  argv \"a\"\n  x-note kept\n  exit 0\n"),
			ContainSubstring(`argv "https://me:<redacted:url-password:1>@host"`), ContainSubstring("x-note too"), ContainSubstring("  tape 1o4 2o")))
		again, err := clean.Scrub()
		Expect(err).NotTo(HaveOccurred())
		Expect(again.Marshal()).To(Equal(clean.Marshal()))
		reread, err := cassette.Parse(clean.Marshal())
		Expect(err).NotTo(HaveOccurred())
		Expect(reread.Len()).To(Equal(2))
	})

	DescribeTable("takes the value of a variable by its name",
		func(ctx context.Context, name, value string, secret bool) {
			GinkgoT().Setenv(name, value)
			path, _ := outputsOf(ctx, "<"+value+">")
			Expect(strings.Contains(contents(path), value)).To(Equal(!secret))
		},
		Entry("a password", "DB_PASSWORD", "correct horse", true),
		Entry("camel case", "npm_config__authToken", "correct horse", true),
		Entry("a key", "OPENAI_KEY", "correct horse", true),
		Entry("a file with a token", "AWS_TOKEN_FILE", "correct horse", false),
		Entry("a path", "SOME_SECRET", "/run/secrets/db", false),
		Entry("an author", "GIT_AUTHOR_NAME", "correct horse", false),
		Entry("a short one", "APP_TOKEN", "on", false),
	)

	It("refuses a secret that would be found everywhere", func() {
		_, err := cassette.NewRecorder(tempFile(), fake.New(), cassette.WithSecret("x", "abc"))
		Expect(err).To(MatchError(cassette.ErrSecret))
		_, err = cassette.NewRecorder(tempFile(), fake.New(), cassette.WithoutRule("nosuch"))
		Expect(err).To(MatchError(ContainSubstring("no rule")))
	})

	It("takes a time that grows with the text, whatever it is", func() {
		for _, piece := range []string{
			"token", "eyJaaaaaaaa", "eyJaaaaaaaa.", "-----BEGIN PRIVATE KEY-----\n", "<redacted:x:1", "<redacted:x:1>", "https://", "a:b@", "password=", "password: ",
			"Authorization: Bearer ", "cookie: a=b", "machine login password ", "\"auth\": \"", "bearer ", "QUtJQQ", "sk-", "s3cr3t-value", "s3cr3t", "'", "\\",
		} {
			took := func(size int) time.Duration {
				text := bytes.Repeat([]byte(piece), size/len(piece))
				began := cpuTime()
				cassette.Redact(text, nil, cassette.WithSecret("x", "s3cr3t-value"))
				return cpuTime() - began
			}
			small, large := took(16<<10), took(128<<10)
			Expect(large).To(BeNumerically("<", max(24*small, 500*time.Millisecond)), "%q: eight times the text, 64 times the time is quadratic", piece)
		}
	})
})
