package cassette

import (
	"errors"

	"golang.org/x/sys/windows"
)

// fileLock is a file that nobody else can open while we have it, and that the system removes when we close it, or die.
type fileLock struct{ h windows.Handle }

func lockFile(path string) (*fileLock, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE|windows.DELETE, 0, nil,
		windows.OPEN_ALWAYS, windows.FILE_ATTRIBUTE_HIDDEN|windows.FILE_FLAG_DELETE_ON_CLOSE, 0)
	if errors.Is(err, windows.ERROR_SHARING_VIOLATION) {
		return nil, &LockedError{}
	}
	if err != nil {
		return nil, err
	}
	return &fileLock{h}, nil
}

func (l *fileLock) release() error { return windows.CloseHandle(l.h) }
