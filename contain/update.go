package contain

// An updater is a place whose caps can be changed.
type updater interface {
	update(l Limits) error
}

// UpdateLimits changes the values of the group's caps while its trees live. l is the whole set, the caps that stay as they
// are among them: which caps a group has was decided when it was made, and more or fewer of them are refused
// ([LimitFixed]). All values are changed or, after an error, none: what was written by then is written back. Each is read
// back, and [Group.Evidence] has what it comes to. Refused values are a [*LimitError], those that make no sense before
// anything is written ([LimitInvalid]); a closed group is [ErrClosed].
//
// What a lower cap means for those who are above it already is up to the kernel. Nobody dies of a cap on processes; the
// next fork is refused. Processor time is dealt out anew from the next period on. Memory is taken back as far as it can
// be; who holds the rest is killed on cgroup v2, all of the group at once, and on v1 the new value is refused
// ([LimitInUse]).
//
// Evidence counts from the group's beginning: a cap that was hit has been hit, whatever it is now.
func (g *Group) UpdateLimits(l Limits) error {
	if err := l.check(); err != nil {
		return err
	}
	if err := g.enter(); err != nil {
		return err
	}
	defer g.leave()
	if u, ok := g.place.(updater); ok {
		return u.update(l)
	}
	return l.fixed(Limits{})
}
