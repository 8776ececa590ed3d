package cassette

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// createPrivate makes a file that was not there, for its owner alone: with an access control list that names nobody else, and inherits nothing
// from its folder. It has that list from its first instant, and keeps it when it is renamed.
func createPrivate(path string) (*os.File, error) {
	wrap := func(err error) error { return &os.PathError{Op: "create", Path: path, Err: err} }
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return nil, wrap(err)
	}
	us := user.User.Sid.String()
	descriptor, err := windows.SecurityDescriptorFromString("O:" + us + "D:P(A;;FA;;;" + us + ")")
	if err != nil {
		return nil, wrap(err)
	}
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, wrap(err)
	}
	attributes := windows.SecurityAttributes{SecurityDescriptor: descriptor}
	attributes.Length = uint32(unsafe.Sizeof(attributes))
	h, err := windows.CreateFile(name, windows.GENERIC_WRITE, 0, &attributes, windows.CREATE_NEW, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, wrap(err)
	}
	return os.NewFile(uintptr(h), path), nil
}
