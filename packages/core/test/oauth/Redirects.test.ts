import { assert, describe, it } from "@effect/vitest"
import { isDocumentUrl } from "@reins/core/oauth/ClientDocuments"
import { nameOf } from "@reins/core/oauth/ClientMetadata"
import { fitsRedirect, isAppRedirect } from "@reins/core/oauth/Redirects"
import * as fc from "fast-check"

/** Texts that look like addresses, with the signs that parsers read in different ways. */
const address = fc
  .tuple(
    fc.constantFrom(
      "https://",
      "http://",
      "https:/",
      "https:",
      "javascript:",
      "data:",
      "cursor:",
      "claude://",
      "mailto:/",
      "com.app:",
      "HTTPS://"
    ),
    fc.constantFrom("a.example", "localhost", "127.0.0.1", "[::1]", "a@b.example", "a.example\\@b", "", "/a.example"),
    fc.constantFrom("", ":1", ":443", ":99999", ":x"),
    fc.string({
      unit: fc.constantFrom("/", ".", "?", "#", "@", "\\", "a", "%", "2", "f", "é", " ", "\n", '"', "'", "<")
    })
  )
  .map((parts) => parts.join(""))

const loopback = ["localhost", "127.0.0.1", "[::1]"]

describe("the address of an app", () => {
  it("opens where its text says, and runs no script", () => {
    fc.assert(
      fc.property(address, (text) => {
        if (!isAppRedirect(text)) return
        const { hash, hostname, password, protocol, username } = new URL(text)
        assert.deepStrictEqual([hash, username, password], ["", "", ""])
        assert.notInclude(["javascript:", "data:", "blob:", "file:", "mailto:"], protocol)
        if (protocol === "http:") assert.include(loopback, hostname)
        // The host stands in the text as it is opened.
        if (/^https?:$/.test(protocol)) assert.isTrue(text.startsWith(`${protocol}//${hostname}`), text)
      }),
      { numRuns: 5000 }
    )
  })

  it("is of any app, and of nothing that browsers and systems read by themselves", () => {
    const apps = [
      "claude://claude.ai/mcp-auth-callback/sdk",
      "warp://mcp/oauth2callback",
      "raycast://oauth?package_name=reins",
      "mcpjam://oauth/callback",
      "cursor://anysphere.cursor-mcp/oauth/callback",
      "vscode-insiders://saoudrizwan.claude-dev/mcp-auth/callback",
      "obsidian:/callback",
      "com.example.app:/oauth",
      "com.example.app:oauth",
      "io.github.me.app://cb"
    ]
    for (const one of apps) assert.isTrue(isAppRedirect(one), one)
    const others =
      "javascript data vbscript livescript file filesystem blob about view-source chrome chrome-extension moz-extension edge " +
      "microsoft-edge opera brave ws wss ftp http mailto tel sms facetime ms-settings ms-word search-ms shell intent " +
      "android-app x-apple.systempreferences com.apple.prefs prefs shortcuts applescript itms-apps ssh smb nfs ldap telnet " +
      "vnc urn cid jar resource web+app market"
    for (const scheme of others.split(" "))
      for (const rest of [":x", ":/x", "://a.example/x", "://%0aalert(1)"])
        assert.isFalse(isAppRedirect(scheme + rest), scheme + rest)
    for (const one of [
      "app:cb",
      "x",
      "Claude://x",
      "claude://u:p@x/",
      "claude://x#y",
      "claude:x",
      "claude://\u0430",
      "1a://x",
      "a b://x"
    ])
      assert.isFalse(isAppRedirect(one), one)
  })

  it("fits itself alone, but for the port of a program", () => {
    fc.assert(
      fc.property(address, address, (asked, known) => {
        if (!fitsRedirect(asked, [known]) || asked === known) return
        const [a, b] = [new URL(asked), new URL(known)]
        a.port = ""
        b.port = ""
        assert.strictEqual(a.href, b.href)
        assert.include(loopback, a.hostname)
      }),
      { numRuns: 5000 }
    )
    assert.isTrue(fitsRedirect("http://localhost:1/cb", ["http://localhost/cb"]))
    assert.isFalse(fitsRedirect("https://a.example:1/cb", ["https://a.example/cb"]))
    assert.isFalse(fitsRedirect("https://localhost:1/cb", ["https://localhost/cb"]))
  })

  it("is no document where its text is another URL than it opens", () => {
    for (const bad of [
      "https://a.example",
      "https://a.example/",
      "https://a.example/x#y",
      "https://u@a.example/x",
      "https://a.example/b/../x",
      "https://A.example/x",
      "https://a.example:443/x",
      "http://a.example/x",
      `https://a.example/${"x".repeat(500)}`
    ])
      assert.isFalse(isDocumentUrl(bad), bad)
    assert.isTrue(isDocumentUrl("https://a.example/client.json"))
  })

  it("has a name that hides nothing, of any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (given) => {
        const name = nameOf(given)
        assert.isAtMost(name.length, 80)
        assert.isAbove(name.length, 0)
        assert.notMatch(name, /[\p{Cc}\p{Cf}\u2028\u2029]/u)
      })
    )
    assert.strictEqual(nameOf("a\u202eb\u0000\n c"), "a b c")
    assert.strictEqual(nameOf(7), "An app without a name")
  })
})
