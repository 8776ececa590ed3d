package matchers

import (
	"errors"
	"fmt"
	"io/fs"
	"unsafe"

	"golang.org/x/sys/windows"
)

// access is who may use a file, and why it is not private, "" when it is.
func access(_ fs.FileInfo, path string) (evidence []fact, open string, err error) {
	if path == "" {
		return nil, "", errors.New("matchers: BePrivateFile cannot tell the access control list from an fs.FileInfo; give it the path")
	}
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return nil, "", fmt.Errorf("matchers: cannot tell who we are: %w", err)
	}
	us := user.User.Sid
	sd, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return nil, "", fmt.Errorf("matchers: cannot read the access control list: %w", err)
	}
	owner, _, err := sd.Owner()
	if err != nil {
		return nil, "", fmt.Errorf("matchers: cannot tell the owner: %w", err)
	}
	evidence = []fact{{"access", sd.String()}, {"owner", fmt.Sprintf("%s, we are %s", owner, us)}}
	// No list, or a null one, lets everybody in.
	list, _, err := sd.DACL()
	if err != nil && !errors.Is(err, windows.ERROR_OBJECT_NOT_FOUND) {
		return nil, "", fmt.Errorf("matchers: cannot read the access control list: %w", err)
	}
	if list == nil {
		return evidence, "it has no access control list: everybody may use it", nil
	}
	for i := range uint32(list.AceCount) {
		var ace *windows.ACCESS_ALLOWED_ACE
		if err := windows.GetAce(list, i, &ace); err != nil {
			return nil, "", fmt.Errorf("matchers: cannot read the access control list: %w", err)
		}
		if ace.Header.AceType == windows.ACCESS_DENIED_ACE_TYPE {
			continue // takes away what others give
		}
		if ace.Header.AceType != windows.ACCESS_ALLOWED_ACE_TYPE {
			return evidence, "its access control list has an entry of a kind that is not understood", nil
		}
		if sid := (*windows.SID)(unsafe.Pointer(&ace.SidStart)); !trusted(sid, us) {
			return evidence, "somebody else may use it: " + sid.String(), nil
		}
	}
	if !trusted(owner, us) {
		return evidence, "it belongs to somebody else", nil
	}
	return evidence, "", nil
}

// trusted reports whether a principal is us, or one that nothing keeps out.
func trusted(sid, us *windows.SID) bool {
	return sid.Equals(us) || sid.IsWellKnown(windows.WinLocalSystemSid) || sid.IsWellKnown(windows.WinBuiltinAdministratorsSid) ||
		sid.IsWellKnown(windows.WinCreatorOwnerRightsSid)
}
