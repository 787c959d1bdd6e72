# For Homebrew on Linux: replace RELEASE_PAGE by the address of the release, and put this file into a tap.
class Attn < Formula
  desc "Opens Keras attention models without Python"
  version "@VERSION@"
  license "Apache-2.0"
  depends_on :linux

  on_intel do
    url "RELEASE_PAGE/attn-@VERSION@-linux-x86_64.tar.gz"
    sha256 "@SHA256_x86_64@"
  end
  on_arm do
    url "RELEASE_PAGE/attn-@VERSION@-linux-aarch64.tar.gz"
    sha256 "@SHA256_aarch64@"
  end

  def install
    libexec.install Dir["*"]
    bin.install_symlink libexec/"bin/attn"
  end

  test do
    system bin/"attn", "summary"
  end
end
