package contain

// lacks says why the field cannot be honoured, "" when it can.
func lacks(name string) string {
	switch name {
	case fieldFiles:
		return "Windows hands on the standard streams alone"
	default:
		return "Windows does not have it"
	}
}
