package runnertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"github.com/onsi/gomega"
	"github.com/onsi/gomega/format"

	"github.com/boombox-go/boombox/runner"
)

// Renderings are v as every printer that Go and gomega have shows it: on its own, in an unexported field where no
// printer can call a method of it, and in a log. It is for looking for secrets in.
func Renderings(v any) map[string]string {
	hidden := struct{ inner any }{v}
	list := []any{v}
	shown := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		shown[verb] = fmt.Sprintf(verb, v)
		shown[verb+" in a field"] = fmt.Sprintf(verb, hidden)
		shown[verb+" in a slice"] = fmt.Sprintf(verb, list)
	}
	shown["gomega"] = format.Object(v, 0)
	shown["gomega in a field"] = format.Object(hidden, 0)
	shown["gomega by pointer"] = format.Object(&hidden, 0)
	if b, err := json.Marshal(v); err == nil {
		shown["json"] = string(b)
	}
	var text, object bytes.Buffer
	slog.New(slog.NewTextHandler(&text, nil)).Info("m", "v", v, "hidden", hidden)
	slog.New(slog.NewJSONHandler(&object, nil)).Info("m", "v", v, "hidden", hidden)
	shown["slog text"], shown["slog json"] = text.String(), object.String()
	if err, ok := v.(error); ok {
		shown["Error"] = err.Error()
	}
	return shown
}

// Leaks names the renderings of v that hold one of the secrets, as text or as the numbers or hexadecimal digits of its
// bytes.
func Leaks(v any, secrets ...string) []string {
	var leaks []string
	for name, text := range Renderings(v) {
		for i, secret := range secrets {
			numbers := strings.Trim(fmt.Sprint([]byte(secret)), "[]")
			for _, form := range []string{secret, numbers, fmt.Sprintf("%x", secret)} {
				if strings.Contains(text, form) {
					leaks = append(leaks, fmt.Sprintf("secret %d in %s", i, name))
				}
			}
		}
	}
	return leaks
}

func secretCase(s subject) {
	const inArgs, inEnv, inStdin, inOut, inErr = "sentinel-args", "sentinel-env", "sentinel-stdin", "sentinel-out", "sentinel-err"
	secrets := []string{inArgs, inEnv, inStdin, inOut, inErr}
	b := Behaviour{Stdout: []byte(inOut), Stderr: []byte(inErr), Code: 9}
	r, cmd := s.prepare(b, func(c *runner.Cmd) {
		c.Env = c.Env.Set("BOOMBOX_SENTINEL", inEnv)
		c.Stdin = runner.StdinString(inStdin)
	})
	p, err := r.Start(s.ctx, cmd)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	s.Expect(Leaks(p, secrets...)).To(gomega.BeEmpty())
	res, err := p.Wait(s.ctx)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	s.Expect(Leaks(res, secrets...)).To(gomega.BeEmpty())
	s.Expect(Leaks(p, secrets...)).To(gomega.BeEmpty())
	s.Expect(Leaks(cmd, secrets...)).To(gomega.BeEmpty())
	s.Expect(Leaks(res.Check(), secrets...)).To(gomega.BeEmpty())

	// The witness: what is not sealed is found.
	s.Expect(Leaks(string(res.Stdout()), secrets...)).NotTo(gomega.BeEmpty())
}
