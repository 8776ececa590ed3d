package specs

// For the specs of this package.
var (
	DrawTree   = drawTree
	ReportTree = reportTree
	Hint       = hint
)
