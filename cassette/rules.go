package cassette

import "bytes"

// RuleSet is the set of built-in rules that this version looks for secrets with. A cassette in which something was
// redacted names the set.
const RuleSet = "builtin/1"

// The character sets of tokens.
var (
	alnum  = charset("A-Za-z0-9")
	wordy  = charset("A-Za-z0-9_")
	dashed = charset("A-Za-z0-9_-")
	dotted = charset("A-Za-z0-9_.~+/=-")
	upper  = charset("A-Z0-9")
	hexed  = charset("0-9a-f")
)

func charset(spec string) (set [256]bool) {
	for i := 0; i < len(spec); i++ {
		if i+2 < len(spec) && spec[i+1] == '-' {
			for c := int(spec[i]); c <= int(spec[i+2]); c++ {
				set[c] = true
			}
			i += 2
			continue
		}
		set[spec[i]] = true
	}
	return set
}

// builtin are the rules of RuleSet. A rule that changes gets a new set.
var builtin = []*rule{
	prefixed("github-token", &alnum, 36, 255, "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
	prefixed("github-token", &wordy, 40, 255, "github_pat_"),
	prefixed("gitlab-token", &dashed, 20, 255, "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-", "glimt-"),
	prefixed("bitbucket-token", &alnum, 24, 255, "ATBB"),
	prefixed("atlassian-token", &dotted, 60, 512, "ATATT3", "ATCTT3"),
	prefixed("npm-token", &alnum, 36, 64, "npm_"),
	prefixed("pypi-token", &dashed, 50, 1024, "pypi-AgE"),
	prefixed("rubygems-token", &hexed, 48, 48, "rubygems_"),
	prefixed("docker-token", &dashed, 20, 64, "dckr_pat_", "dckr_oat_"),
	prefixed("slack-token", &dashed, 10, 255, "xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-", "xapp-"),
	prefixed("slack-hook", &dotted, 20, 128, "hooks.slack.com/services/"),
	prefixed("stripe-key", &alnum, 16, 255, "sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"),
	prefixed("api-key", &dashed, 20, 255, "sk-ant-", "sk-proj-", "sk-or-", "sk-svcacct-"),
	{name: "api-key", anchors: []string{"sk-"}, shaped: true, match: apart(&alnum, 32, 255)},
	{name: "huggingface-token", anchors: []string{"hf_"}, shaped: true, match: apart(&alnum, 30, 64)},
	prefixed("google-key", &dashed, 35, 35, "AIza"),
	prefixed("google-token", &dotted, 20, 2048, "ya29."),
	prefixed("google-secret", &dashed, 20, 64, "GOCSPX-"),
	{name: "aws-key-id", anchors: []string{"AKIA", "ASIA", "ABIA", "ACCA"}, shaped: true, match: apart(&upper, 16, 16)},
	prefixed("digitalocean-token", &hexed, 64, 64, "dop_v1_", "doo_v1_", "dor_v1_"),
	prefixed("heroku-key", &dashed, 36, 128, "HRKU-"),
	prefixed("vault-token", &dashed, 20, 255, "hvs.", "hvb.", "hvr."),
	prefixed("databricks-token", &hexed, 32, 32, "dapi"),
	prefixed("shopify-token", &hexed, 32, 32, "shpat_", "shpca_", "shppa_", "shpss_"),
	prefixed("linear-key", &alnum, 32, 64, "lin_api_"),
	prefixed("age-key", &upper, 50, 64, "AGE-SECRET-KEY-1"),
	prefixed("sendgrid-key", &dotted, 60, 80, "SG."),
	{name: "jwt", anchors: []string{"eyJ"}, shaped: true, long: true, match: matchJWT},
	{name: "private-key", anchors: []string{"-----BEGIN "}, shaped: true, long: true, match: matchPEM},
	{name: "azure-key", anchors: []string{"AccountKey=", "SharedAccessKey="}, shaped: true, match: matchAfter(&dotted, 20)},
	{name: "url-password", anchors: []string{"://"}, match: matchURL},
	{name: "authorization", anchors: []string{"authorization"}, fold: true, long: true, match: matchAuthorization},
	{name: "authorization", anchors: []string{"bearer "}, fold: true, long: true, match: matchBearer},
	{name: "cookie", anchors: []string{"cookie:"}, fold: true, long: true, match: matchCookie},
	{
		name: "named", fold: true, long: true, match: matchNamed, anchors: []string{
			"password", "passwd", "passphrase", "secret", "token", "apikey", "api_key", "api-key", "access_key", "access-key",
			"private_key", "secret_key", "accesskey",
		},
	},
	{name: "netrc", anchors: []string{"machine "}, match: matchNetrc},
	{name: "docker-auth", long: true, anchors: []string{`"auth"`}, match: matchDockerAuth},
}

// prefixed is a token with a telling beginning and a body of least to most characters.
func prefixed(name string, body *[256]bool, least, most int, prefixes ...string) *rule {
	return &rule{name: name, anchors: prefixes, shaped: true, match: func(data []byte, at, end int) (int, int) {
		to := runOf(data, end, most, body)
		if to-end < least {
			return -1, 0
		}
		return at, to
	}}
}

// apart is prefixed for a beginning so short that it must not stand inside a word.
func apart(body *[256]bool, least, most int) func([]byte, int, int) (int, int) {
	return func(data []byte, at, end int) (int, int) {
		to := runOf(data, end, most, body)
		if to-end < least || at > 0 && alnum[data[at-1]] || to < len(data) && body[data[to]] {
			return -1, 0
		}
		return at, to
	}
}

// matchAfter is a value of at least so many characters directly behind its name.
func matchAfter(body *[256]bool, least int) func([]byte, int, int) (int, int) {
	return func(data []byte, _, end int) (int, int) {
		to := runOf(data, end, len(data), body)
		if to-end < least {
			return -1, 0
		}
		return end, to
	}
}

// runOf is the end of the run of set that begins at from, at most so many bytes on.
func runOf(data []byte, from, most int, set *[256]bool) int {
	to := from
	for to < len(data) && to-from < most && set[data[to]] {
		to++
	}
	return to
}

// matchJWT takes three parts of base64url, the last of which may be empty.
func matchJWT(data []byte, at, end int) (int, int) {
	to := runOf(data, end, mostDecided, &dashed)
	if to-end < 8 || to >= len(data) || data[to] != '.' {
		return -1, 0
	}
	body := to + 1
	if to = runOf(data, body, 4*mostDecided, &dashed); to-body < 8 || to >= len(data) || data[to] != '.' {
		return -1, 0
	}
	return at, runOf(data, to+1, len(data), &dashed)
}

// matchPEM takes a private key from its first line to its last, and to the end of the text when that is missing.
func matchPEM(data []byte, at, end int) (int, int) {
	label := data[end:min(len(data), end+64)]
	i := bytes.Index(label, []byte("-----"))
	if i < 0 || !bytes.Contains(label[:i], []byte("PRIVATE KEY")) {
		return -1, 0
	}
	last := append(append([]byte("-----END "), label[:i]...), "-----"...)
	if n := bytes.Index(data[end:], last); n >= 0 {
		return at, end + n + len(last)
	}
	return at, len(data)
}
