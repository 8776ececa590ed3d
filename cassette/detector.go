package cassette

import (
	"bytes"
	"cmp"
	"slices"
)

// rule knows one kind of secret.
type rule struct {
	// name is what placeholders and findings call it.
	name string
	// anchors are texts of which every secret of this kind has one, inside it or before it; fold ignores their case.
	anchors []string
	fold    bool
	// shaped says that the secret is known by its own form, so that the rule holds in escaped text as well.
	shaped bool
	// long says that a match can reach far: an anchor inside the last match of the rule is then none of its own.
	long bool
	// match looks at data around an anchor, which is data[at:end], and returns the secret; from < 0 means that there is
	// none.
	match func(data []byte, at, end int) (from, to int)
}

// span is one secret in a text.
type span struct {
	from, to int
	rule     *rule
}

// detector finds secrets: one pass over the text, whatever the number of rules. It is immutable.
type detector struct {
	// pairs leads from two neighbouring bytes to the list of anchors that have them; 0 means none.
	pairs [1 << 16]uint16
	lists [][]anchor
}

type anchor struct {
	text string
	off  int // where the pair stands in text
	fold bool
	rule *rule
}

func newDetector(rules []*rule) *detector {
	d := &detector{lists: make([][]anchor, 1)}
	for _, r := range rules {
		for _, text := range r.anchors {
			off := rarestPair(text)
			a := anchor{text, off, r.fold, r}
			for _, one := range cases(text[off], r.fold) {
				for _, two := range cases(text[off+1], r.fold) {
					d.add(one, two, a)
				}
			}
		}
	}
	return d
}

func (d *detector) add(one, two byte, a anchor) {
	k := &d.pairs[int(one)<<8|int(two)]
	if *k == 0 {
		*k = uint16(len(d.lists))
		d.lists = append(d.lists, nil)
	}
	d.lists[*k] = append(d.lists[*k], a)
}

func cases(c byte, fold bool) []byte {
	if fold && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
		return []byte{c | 0x20, c &^ 0x20}
	}
	return []byte{c}
}

// rarestPair is where the two neighbouring bytes of text begin that ordinary text has least: most of a text is then
// passed over after one look.
func rarestPair(text string) int {
	weight := func(c byte) int {
		switch {
		case bytes.IndexByte([]byte("etaoinshrdlu \n"), c) >= 0:
			return 10
		case c >= 'a' && c <= 'z':
			return 5
		case c >= '0' && c <= '9':
			return 4
		case c >= 'A' && c <= 'Z':
			return 3
		}
		return 2
	}
	best, least := 0, 1<<30
	for i := 0; i+1 < len(text); i++ {
		if w := weight(text[i]) * weight(text[i+1]); w < least {
			best, least = i, w
		}
	}
	return best
}

// find returns the secrets of data in their order, overlapping ones joined. With shaped set, it takes those rules alone
// that hold in escaped text, and does not look into base64.
func (d *detector) find(data []byte, shaped bool) (spans []span) {
	add := func(s span) bool { spans = append(spans, s); return true }
	d.each(data, shaped, add)
	if !shaped {
		d.eachEncoded(data, add)
	}
	return unmasked(joined(spans), data)
}

// unmasked drops what lies inside a placeholder: a secret that is spelled like the name of a rule would be found there
// for ever.
func unmasked(spans []span, data []byte) []span {
	if len(spans) == 0 || !bytes.Contains(data, []byte(placeholderStart)) {
		return spans
	}
	return slices.DeleteFunc(spans, func(s span) bool {
		for from := s.from; from >= 0 && s.from-from < 256; from-- {
			if data[from] != '<' {
				continue
			}
			if _, _, size := readPlaceholder(data[from:]); size > 0 && from+size >= s.to {
				return true
			}
		}
		return false
	})
}

// each yields what the rules find, in no particular order and overlapping, until yield returns false.
func (d *detector) each(data []byte, shaped bool, yield func(span) bool) {
	var last span
	for i := 0; i+1 < len(data); i++ {
		k := d.pairs[int(data[i])<<8|int(data[i+1])]
		if k == 0 {
			continue
		}
		for _, a := range d.lists[k] {
			at, end := i-a.off, i-a.off+len(a.text)
			if at < 0 || end > len(data) || shaped && !a.rule.shaped || a.rule.long && a.rule == last.rule && at < last.to {
				continue
			}
			if have := data[at:end]; string(have) != a.text && (!a.fold || !bytes.EqualFold(have, []byte(a.text))) {
				continue
			}
			from, to := a.rule.match(data, at, end)
			if from < 0 || from >= to {
				continue
			}
			if last = (span{from, to, a.rule}); !yield(last) {
				return
			}
		}
	}
}

// joined sorts spans and joins those that overlap. The longest of them gives its name.
func joined(spans []span) []span {
	if len(spans) < 2 {
		return spans
	}
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	kept := spans[:1]
	for _, s := range spans[1:] {
		last := &kept[len(kept)-1]
		if s.from >= last.to {
			kept = append(kept, s)
			continue
		}
		if s.to-s.from > last.to-last.from {
			last.rule = s.rule
		}
		last.to = max(last.to, s.to)
	}
	return kept
}

// leastEncoded is the length from which on a run of base64 characters is decoded and looked into.
const leastEncoded = 24

// eachEncoded looks into what may be base64: runs of its characters, also over lines of one length. A secret inside
// makes all of the run one.
func (d *detector) eachEncoded(data []byte, yield func(span) bool) {
	var decoded []byte
	for i := leastEncoded - 1; i < len(data); {
		if !base64Char[data[i]] {
			i += leastEncoded // no run of that length holds this byte
			continue
		}
		from, to := i, i+1
		for from > 0 && base64Char[data[from-1]] {
			from--
		}
		for to < len(data) && base64Char[data[to]] {
			to++
		}
		if to-from >= leastEncoded {
			to = wrapped(data, to, to-from)
			decoded = decodeLoosely(decoded[:0], data[from:to])
			goOn := true
			d.each(decoded, false, func(s span) bool {
				goOn = yield(span{from, to, s.rule})
				return false
			})
			if !goOn {
				return
			}
		}
		i = to + leastEncoded
	}
}

// wrapped continues a run of base64 over line ends, as long as its lines are full.
func wrapped(data []byte, to, width int) int {
	for width >= 32 {
		next := to
		for next < len(data) && (data[next] == '\r' || data[next] == '\n') {
			next++
		}
		end := next
		for end < len(data) && base64Char[data[end]] {
			end++
		}
		if next == to || next-to > 2 || end == next || end-next > width {
			return to
		}
		if to = end; end-next < width {
			return to
		}
	}
	return to
}

// base64Char are the characters of both base64 alphabets; base64Value is what they stand for.
var base64Char, base64Value = base64Tables()

func base64Tables() (is [256]bool, value [256]byte) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i, c := range []byte(alphabet) {
		is[c], value[c] = true, byte(i)
	}
	is['-'], value['-'], is['_'], value['_'] = true, 62, true, 63
	return is, value
}

// decodeLoosely decodes either alphabet, padded or not, over line ends, and drops what is left over.
func decodeLoosely(dst, src []byte) []byte {
	acc, bits := uint32(0), 0
	for _, c := range src {
		if !base64Char[c] {
			continue
		}
		acc = acc<<6 | uint32(base64Value[c])
		if bits += 6; bits >= 8 {
			bits -= 8
			dst = append(dst, byte(acc>>bits))
		}
	}
	return dst
}
