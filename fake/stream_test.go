package fake_test

import (
	"io"
	"io/fs"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/fake"
)

var _ = Describe("a stream", func() {
	It("gives what was written, in pieces as small as the reader wants, and then its end", func() {
		s, write, end := fake.NewStream()
		write([]byte("abc"))
		write(nil)
		write([]byte("de"))
		end()
		b := make([]byte, 2)
		var got []string
		for {
			n, err := s.Read(b)
			if err == io.EOF {
				break
			}
			Expect(err).NotTo(HaveOccurred())
			got = append(got, string(b[:n]))
		}
		Expect(got).To(Equal([]string{"ab", "c", "de"}))
	})

	It("blocks until there is something", func(ctx SpecContext) {
		s, write, _ := fake.NewStream()
		read := make(chan string)
		go func() {
			b := make([]byte, 8)
			n, _ := s.Read(b)
			read <- string(b[:n])
		}()
		Consistently(read).ShouldNot(Receive())
		write([]byte("late"))
		Eventually(ctx, read).Should(Receive(Equal("late")))
	}, NodeTimeout(time.Minute))

	It("is given up by a deadline that is set while it is read, but not what is there already", func(ctx SpecContext) {
		s, write, _ := fake.NewStream()
		failed := make(chan error)
		read := func() { _, err := s.Read(make([]byte, 8)); failed <- err }
		go read()
		Consistently(failed).ShouldNot(Receive())
		Expect(s.SetReadDeadline(time.Now())).To(Succeed())
		Eventually(ctx, failed).Should(Receive(MatchError(os.ErrDeadlineExceeded)))

		write([]byte("x"))
		go read()
		Eventually(ctx, failed).Should(Receive(BeNil()))

		Expect(s.SetReadDeadline(time.Now().Add(20 * time.Millisecond))).To(Succeed())
		go read()
		Eventually(ctx, failed).Should(Receive(MatchError(os.ErrDeadlineExceeded)))

		Expect(s.SetReadDeadline(time.Time{})).To(Succeed())
		go read()
		Consistently(failed).ShouldNot(Receive())
		Expect(s.Close()).To(Succeed())
		Eventually(ctx, failed).Should(Receive(MatchError(fs.ErrClosed)))
	}, NodeTimeout(time.Minute))
})
